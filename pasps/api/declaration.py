"""A component as it was declared, before anything is checked: what both DSLs hand to `validate`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pasps.api.groupings import GroupingSpec
from pasps.api.tuples import DEFAULT_STREAM


@dataclass(frozen=True)
class Input:
    """A subscription as written; without a grouping it is DIRECT on a direct stream and LOAD_AWARE on others."""

    source: str
    stream: str = DEFAULT_STREAM
    grouping: GroupingSpec | None = None


@dataclass(frozen=True)
class Declaration:
    """One component; `par` and `pool` None mean the component's own."""

    id: str
    subject: Any
    inputs: tuple[Input, ...] = ()
    par: int | None = None
    pool: int | None = None
    config: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ClassMaker:
    """Makes instances of a class."""

    component: type

    def __call__(self) -> Any:
        """A new instance."""
        return self.component()


@dataclass(frozen=True)
class CopyMaker:
    """Makes copies of an instance that its user configured."""

    component: Any

    def __call__(self) -> Any:
        """A new copy."""
        return copy.deepcopy(self.component)


@dataclass(frozen=True)
class SharedMaker:
    """Gives the one object there is, because it holds no state: a function bolt."""

    component: Any

    def __call__(self) -> Any:
        """The object itself."""
        return self.component
