"""How an edge chooses receivers, as a user writes it: immutable descriptions, no behaviour.

`pasps.groupings` turns each into the object that splits batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from pasps.errors import GroupingError


class Kind(Enum):
    """The groupings there are. KEYED ones address tasks; the others address active replicas, FREE ones any of them."""

    LOAD_AWARE = "load_aware"
    LOAD_AWARE_PAPER = "load_aware_paper"
    SHUFFLE = "shuffle"
    LOCAL_OR_SHUFFLE = "local_or_shuffle"
    NONE = "none"
    GLOBAL = "global"
    ALL = "all"
    DIRECT = "direct"
    FIELDS = "fields"
    PARTIAL_KEY = "partial_key"
    CUSTOM = "custom"


KEYED = frozenset({Kind.ALL, Kind.DIRECT, Kind.FIELDS, Kind.PARTIAL_KEY, Kind.CUSTOM})
FREE = frozenset({Kind.LOAD_AWARE, Kind.SHUFFLE, Kind.LOCAL_OR_SHUFFLE, Kind.NONE})
"""Any active replica will do; the other kinds that are not keyed name one, which then gets what was sent to it."""


@dataclass(frozen=True)
class GroupingSpec:
    """One grouping with its arguments: the key fields, or the user's own object."""

    kind: Kind
    fields: tuple[str, ...] = ()
    custom: Any = None

    def __str__(self) -> str:
        if self.fields:
            return f"{self.kind.value}({', '.join(self.fields)})"
        return self.kind.value


class Grouping:
    """The groupings, under streamparse's names; `fields()`, `partial_key()` and `custom()` take arguments."""

    LOAD_AWARE: ClassVar[GroupingSpec] = GroupingSpec(Kind.LOAD_AWARE)
    LOAD_AWARE_PAPER: ClassVar[GroupingSpec] = GroupingSpec(Kind.LOAD_AWARE_PAPER)
    SHUFFLE: ClassVar[GroupingSpec] = GroupingSpec(Kind.SHUFFLE)
    LOCAL_OR_SHUFFLE: ClassVar[GroupingSpec] = GroupingSpec(Kind.LOCAL_OR_SHUFFLE)
    NONE: ClassVar[GroupingSpec] = GroupingSpec(Kind.NONE)
    GLOBAL: ClassVar[GroupingSpec] = GroupingSpec(Kind.GLOBAL)
    ALL: ClassVar[GroupingSpec] = GroupingSpec(Kind.ALL)
    DIRECT: ClassVar[GroupingSpec] = GroupingSpec(Kind.DIRECT)

    @staticmethod
    def fields(*names: str | list[str]) -> GroupingSpec:
        """Equal values of these fields reach the same task, whatever replica hosts it. No names: GLOBAL, as in Storm."""
        flat = _flatten(names)
        return GroupingSpec(Kind.FIELDS, flat) if flat else Grouping.GLOBAL

    @staticmethod
    def partial_key(*names: str | list[str]) -> GroupingSpec:
        """As `fields`, but each key has two tasks, and each sender uses the one that it has given less."""
        flat = _flatten(names)
        if not flat:
            raise GroupingError("partial_key() needs at least one field name")
        return GroupingSpec(Kind.PARTIAL_KEY, flat)

    @staticmethod
    def custom(grouping: Any) -> GroupingSpec:
        """Your own choice: an object with `prepare(ctx, stream, target_tasks)` and `choose_tasks(source_task, values)`.

        `choose_tasks` returns a list of task ids out of `target_tasks`. One copy of the object is made for each sender.
        """
        if not callable(getattr(grouping, "choose_tasks", None)):
            raise GroupingError(f"custom() needs an object with choose_tasks(source_task, values), got {grouping!r}")
        return GroupingSpec(Kind.CUSTOM, custom=grouping)


def _flatten(names: tuple[str | list[str], ...]) -> tuple[str, ...]:
    flat: list[str] = []
    for name in names:
        flat += [name] if isinstance(name, str) else name
    wrong = [name for name in flat if not isinstance(name, str) or not name]
    if wrong:
        raise GroupingError(f"field names must be non-empty strings, got {wrong[0]!r}")
    return tuple(flat)
