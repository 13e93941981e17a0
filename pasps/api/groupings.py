"""How an edge chooses receivers, as a user writes it: immutable descriptions, no behaviour.

`pasps.groupings` turns each into the object that splits batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import ceil, e, log2
from typing import Any, ClassVar

from pasps.api.splitting import GroupingType, Receivers, grouping_type_named
from pasps.errors import GroupingError
from pasps.options import as_typed, keys_of, nearest_option, option


class Kind(Enum):
    """The groupings there are. KEYED ones address tasks; the others address active replicas, FREE ones any of them.

    Of a REGISTERED one its `GroupingType` says whom it addresses.
    """

    LOAD_AWARE = "load_aware"
    LOAD_AWARE_PAPER = "load_aware_paper"
    LOAD_AWARE_STORM = "load_aware_storm"
    SHUFFLE = "shuffle"
    LOCAL_OR_SHUFFLE = "local_or_shuffle"
    NONE = "none"
    GLOBAL = "global"
    ALL = "all"
    DIRECT = "direct"
    FIELDS = "fields"
    PARTIAL_KEY = "partial_key"
    OSG = "osg"
    CUSTOM = "custom"
    REGISTERED = "registered"


KEYED = frozenset({Kind.ALL, Kind.DIRECT, Kind.FIELDS, Kind.PARTIAL_KEY, Kind.CUSTOM})
FREE = frozenset({Kind.LOAD_AWARE, Kind.SHUFFLE, Kind.LOCAL_OR_SHUFFLE, Kind.NONE})
"""Any active replica will do; the other kinds that are not keyed name one, which then gets what was sent to it."""
_CALLED = frozenset({Kind.FIELDS, Kind.PARTIAL_KEY, Kind.OSG, Kind.CUSTOM})
"""Written with arguments."""


@dataclass(frozen=True, slots=True)
class OsgOptions:
    """What OSG is set by; see `Grouping.osg`."""

    epsilon: float = option(0.05, "precision of the sketches: they have e / epsilon columns", least=0.01, most=1)
    delta: float = option(0.05, "how likely a sketch is worse than that: they have log2(1 / delta) rows", least=0.001, most=0.5)
    mu: float = option(0.05, "most change between two looks at a sketch that is stable", above=0)
    window: int = option(1024, "tuples that a task executes between two looks at its sketch", unit="tuples", least=1)
    resync: bool = option(True, "senders compare notes with the tasks every so many tuples, not only when sketches change")

    @property
    def rows(self) -> int:
        """Of a sketch."""
        return ceil(log2(1 / self.delta))

    @property
    def columns(self) -> int:
        """Of a sketch."""
        return ceil(e / self.epsilon)


@dataclass(frozen=True)
class GroupingSpec:
    """One grouping with its arguments: the key fields, its options, the user's own object, or what somebody else has written."""

    kind: Kind
    fields: tuple[str, ...] = ()
    custom: Any = None
    options: Any = None
    type: GroupingType | None = None

    def __str__(self) -> str:
        name = self.kind.value if self.type is None else self.type.name
        return f"{name}({', '.join(self.fields)})" if self.fields else name

    @property
    def receivers(self) -> Receivers:
        """Whom it addresses."""
        if self.type is not None:
            return self.type.receivers
        return "task" if self.kind in KEYED else "any" if self.kind in FREE else "replica"

    @property
    def keyed(self) -> bool:
        """Whether it addresses tasks, whatever replica hosts them."""
        return self.receivers == "task"

    @property
    def free(self) -> bool:
        """Whether any active replica will do."""
        return self.receivers == "any"

    @property
    def observed(self) -> bool:
        """Whether it has observers at the receiving tasks."""
        return self.kind is Kind.OSG or (self.type is not None and self.type.observer is not None)


class Grouping:
    """The groupings, under streamparse's names; `fields()`, `partial_key()`, `osg()`, `custom()` and `of()` take arguments."""

    LOAD_AWARE: ClassVar[GroupingSpec] = GroupingSpec(Kind.LOAD_AWARE)
    LOAD_AWARE_PAPER: ClassVar[GroupingSpec] = GroupingSpec(Kind.LOAD_AWARE_PAPER)
    LOAD_AWARE_STORM: ClassVar[GroupingSpec] = GroupingSpec(Kind.LOAD_AWARE_STORM)
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
        return GroupingSpec(Kind.PARTIAL_KEY, _at_least_one("partial_key()", names))

    @staticmethod
    def osg(*names: str | list[str], **options: Any) -> GroupingSpec:
        """Online shuffle grouping: to the active replica with the least estimated work, where the cost of a tuple goes by these fields.

        Options: `epsilon`, `delta`, `mu`, `window`, `resync`, see `OsgOptions`.
        """
        return GroupingSpec(Kind.OSG, _at_least_one("osg()", names), options=_options("osg()", OsgOptions, options))

    @staticmethod
    def of(which: str | GroupingType, /, *names: str | list[str], **options: Any) -> GroupingSpec:
        """A grouping that somebody else has written, with its key fields if it takes some, and its options.

        Args:
            which: the name under which an installed package brings it, or the `GroupingType` itself.

        Raises:
            GroupingError: there is none of that name, or it does not take these fields or options.
        """
        found = grouping_type_named(which, _written()) if isinstance(which, str) else which
        if not isinstance(found, GroupingType):
            raise GroupingError(f"of() takes a grouping's name, or a pasps.groupings.GroupingType, got {found!r}")
        whose = f"grouping {found.name!r}"
        flat = _at_least_one(whose, names) if found.takes_fields else _flatten(names)
        if flat and not found.takes_fields:
            raise GroupingError(f"{whose} goes by no fields, got {', '.join(map(repr, flat))}; leave them out")
        return GroupingSpec(Kind.REGISTERED, flat, options=_options(whose, found.options, options), type=found)

    @staticmethod
    def custom(grouping: Any) -> GroupingSpec:
        """Your own choice: an object with `prepare(ctx, stream, target_tasks)` and `choose_tasks(source_task, values)`.

        `choose_tasks` returns a list of task ids out of `target_tasks`. One copy of the object is made for each sender.
        """
        if not callable(getattr(grouping, "choose_tasks", None)):
            raise GroupingError(f"custom() needs an object with choose_tasks(source_task, values), got {grouping!r}")
        return GroupingSpec(Kind.CUSTOM, custom=grouping)


def _written() -> dict[str, str]:
    """How each of ours is written, by its name."""
    ours = [kind for kind in Kind if kind is not Kind.REGISTERED]
    return {kind.value: f"Grouping.{kind.value}(...)" if kind in _CALLED else f"Grouping.{kind.name}" for kind in ours}


def _flatten(names: tuple[str | list[str], ...]) -> tuple[str, ...]:
    flat: list[str] = []
    for name in names:
        flat += [name] if isinstance(name, str) else name
    wrong = [name for name in flat if not isinstance(name, str) or not name]
    if wrong:
        raise GroupingError(f"field names must be non-empty strings, got {wrong[0]!r}")
    return tuple(flat)


def _at_least_one(whose: str, names: tuple[str | list[str], ...]) -> tuple[str, ...]:
    flat = _flatten(names)
    if not flat:
        raise GroupingError(f"{whose} needs at least one field name")
    return flat


def _options(whose: str, kind: type, given: Mapping[str, Any]) -> Any:
    """An instance of an options class with what was given."""
    keys = keys_of(kind)
    for name, value in given.items():
        key = keys.get(name)
        if key is None:
            near = nearest_option(name, keys)
            cure = f"did you mean {near!r}?" if near else f"it has {', '.join(keys) or 'none'}"
            raise GroupingError(f"{whose} has no option {name!r}; {cure}")
        if not key.accepts(value):
            raise GroupingError(f"{whose}: option {name!r} must be {key.expected()}, got {value!r} ({type(value).__name__})")
    return kind(**{name: as_typed(keys[name], value) for name, value in given.items()})
