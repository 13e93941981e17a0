"""What a grouping is, for whoever writes one: a splitter at each sender, an observer at each receiving task if it has one, their record.

`pasps.groupings` has ours; the runtime and the simulator call them. Packages register theirs by the entry point group `pasps.groupings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import entry_points
from random import Random
from typing import Any, Literal, Protocol

from pasps.clock import Clock
from pasps.errors import GroupingError, InvalidError, shown
from pasps.options import NoOptions, files_of, keys_of

Row = tuple[Any, ...]
Pick = list[int] | slice | None
"""Which rows of a batch: these positions, this stretch, or (None) all of them. A `Carrying` is positions, too."""

MOST_PAYLOAD_BYTES = 65_536
"""Of what a sender and an observer tell each other at a time."""


def checked_payload(payload: object) -> bytes:
    """The payload.

    Raises:
        GroupingError: it is no bytes, or too many of them.
    """
    if not isinstance(payload, bytes):
        raise GroupingError(f"a payload is bytes, got {shown(payload)}; encode it, with msgspec or struct for example")
    if len(payload) > MOST_PAYLOAD_BYTES:
        raise GroupingError(f"a payload of {len(payload)} bytes, expected at most {MOST_PAYLOAD_BYTES}; tell less of it")
    return payload


class Carrying(list[int]):
    """Positions of rows, of which some carry a payload for their receiver's observer.

    The observer hears it when it has been told of that row, and before it is told of any row that the sender gives it afterwards.
    A payload is lost with its row, or with the worker or connection that it was on.
    """

    def __init__(self, positions: Iterable[int], payloads: Mapping[int, bytes]) -> None:
        """`payloads` by position.

        Raises:
            GroupingError: a payload that cannot travel, or one of a row that is not among the positions.
        """
        super().__init__(positions)
        self.payloads = {position: checked_payload(payload) for position, payload in payloads.items()}
        if not self.payloads.keys() <= set(self):
            raise GroupingError(f"payloads of rows {sorted(self.payloads)}, expected some of {shown(list(self))}")


class Loads(Protocol):
    """What a worker knows of the load of one component's replicas, by index. Only `finish` may be written, by who charges a choice."""

    finish: list[float]
    """When each will have finished what it is known to have, by the clock."""
    each: list[float]
    """Seconds that a tuple takes it."""
    done: list[int]
    """Tuples that it did in its last whole second."""
    reports: list[int]
    """How often it has reported a whole second."""
    version: int
    """Grows with every report."""

    def waiting(self, index: int, now: float) -> float:
        """Seconds of work that the replica is believed to have before it."""

    def component_each(self) -> float:
        """Seconds that one tuple takes in the component, in the mean."""


def _empty(index: int) -> float:
    return 0.0


@dataclass(frozen=True)
class TargetView:
    """What a sender knows of the component it sends to; a new one whenever the activation table or a connection changes.

    `active` are the indices of the active replicas in order, `local` those of them in the sender's own worker,
    `tasks` is the size of the pool. `room(index)` is how many tuples that replica would take right now, and `occupancy(index)` how much
    of its queue the sender's worker has filled, from 0 to 1.

    Where several replicas take from one queue, an index stands for the queue, and `weights` says how many replicas are
    behind it; whoever is not in it has one. A queue's share of what shuffle, local-or-shuffle, none and load-aware give is
    that of its replicas. The other groupings name single tasks and look at no weight.

    `homes` is for groupings with observers: where each that may be named lives, as a value that is another one when the replica has
    come to another worker, or to one that was started or connected anew. Then its observer may be a fresh one, and what was on the way
    to it or from it may be lost.
    """

    active: tuple[int, ...]
    local: frozenset[int]
    tasks: int
    loads: Loads
    room: Callable[[int], int]
    weights: Mapping[int, int] = field(default_factory=dict)
    occupancy: Callable[[int], float] = _empty
    homes: Mapping[int, object] = field(default_factory=dict)


class Splitter(Protocol):
    """One sender's grouping on one edge. Single-threaded; never blocks; never loses or invents a row."""

    fan: int | None
    """The number of copies of each row when it is the same for all of them, else None."""

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """Choose for every row: pairs of a task index and the rows it gets, in ascending order; each index once. Hot: once a batch.

        Where the bolt is observed, a `Carrying` gives the observers payloads along with rows.
        """

    def refresh(self, view: TargetView) -> None:
        """Take a new view of the receivers. Cold; always called once before the first `split`."""


class ObservedSplitter(Splitter, Protocol):
    """The splitter of a grouping with observers."""

    def heard(self, index: int, payload: bytes) -> None:
        """What the observer at a task told; in order, between two calls of `split`. Observers that are not active may tell, too."""


class Observer(Protocol):
    """Looks at what one edge brings to one task, while that lives in a worker; on the worker's loop; must not block.

    When the task moves to another worker, or the worker is started anew, it has a fresh one. What it raises is reported.
    """

    def executed(self, row: Row, seconds: float) -> None:
        """A tuple of the edge was executed: in the order in which they are, whether its call succeeded or not.

        `seconds` are those of its call: CPU time of a bolt that runs inline, unless its calls wait (`ReplicaCounts.blocks`), else wall
        time. Of a call that takes a batch, each tuple has the same part.
        """

    def heard(self, sender: int, payload: bytes) -> None:
        """What a row that was just executed carried; `sender` is the task id of its sender's splitter."""


@dataclass(frozen=True)
class Sender:
    """Where a splitter works: it belongs to `task`, the id that observers know it by, of the edge's source.

    `names` are the key fields that were given, `fields` all that the stream has. `random` is its own.
    """

    source: str
    stream: str
    target: str
    fields: tuple[str, ...]
    names: tuple[str, ...]
    options: Any
    task: int
    clock: Clock
    random: Random


@dataclass(frozen=True)
class Receiver:
    """Where an observer works: at the task with this `index` of the edge's target; for the rest as `Sender`."""

    source: str
    stream: str
    target: str
    fields: tuple[str, ...]
    names: tuple[str, ...]
    options: Any
    index: int
    send: Callable[[bytes, int | None], None]

    def tell(self, payload: bytes, sender: int | None = None) -> None:
        """Have the splitter of one sender hear this, or, without one, those of all. It may get lost, as any payload.

        Raises:
            GroupingError: it cannot travel, or there is no such sender.
        """
        self.send(checked_payload(payload), sender)


Receivers = Literal["any", "replica", "task"]
"""Whom a grouping addresses: any active replica will do, a queue of several is named; one active replica; a task of the pool."""


@dataclass(frozen=True)
class GroupingType:
    """A grouping that somebody has written: `Grouping.of` takes it, or the name under which its package registers it.

    `splitter` and `observer` are called with where they are to work, in the worker; `observer` None: nobody looks at what was executed.
    `options` is a frozen dataclass whose fields have defaults (`pasps.options.option`). `takes_fields`: it is given key fields, at least
    one; else none.
    """

    name: str
    about: str
    splitter: Callable[[Sender], Splitter]
    receivers: Receivers = "replica"
    observer: Callable[[Receiver], Observer] | None = None
    options: type = NoOptions
    takes_fields: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*", self.name):
            raise InvalidError(f"a grouping's name has small letters, digits, '_' and '-', and begins with a letter, got {self.name!r}")
        where = f"grouping {self.name!r}"
        if not callable(self.splitter) or not (self.observer is None or callable(self.observer)):
            raise InvalidError(f"{where}: expected something to call that makes a splitter, and an observer or None")
        if self.receivers not in ("any", "replica", "task"):
            raise InvalidError(f"{where}: expected receivers of 'any', 'replica' or 'task', got {self.receivers!r}")
        if self.observer is not None and self.receivers == "any":
            raise InvalidError(f"{where}: who looks at what a replica executed must name it; give it receivers='replica' or 'task'")
        keys_of(self.options)
        if files := files_of(self.options):
            raise InvalidError(f"{where}: option {min(files)!r} is a file, which nobody reads for a grouping; let it be a text")


GROUP = "pasps.groupings"


def grouping_type_names() -> list[str]:
    """The groupings that installed packages bring."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def grouping_type_named(name: str, ours: Mapping[str, str]) -> GroupingType:
    """The grouping that a package has registered under that name; `ours` have names of their own, and say how they are written.

    Raises:
        GroupingError: there is none (with the nearest name), it is one of ours, or it cannot be loaded or is no GroupingType.
    """
    if name in ours:
        raise GroupingError(f"grouping {name!r} is one of pasps itself; write {ours[name]}")
    for point in entry_points(group=GROUP, name=name):
        try:
            found: object = point.load()
        except Exception as error:  # somebody else's module runs here
            whose = f" of the package {point.dist.name!r}" if point.dist is not None else ""
            cure = "mend that package, or install what it imports"
            raise GroupingError(f"grouping {name!r}: {point.value}{whose} does not load: {error!r}; {cure}") from error
        if not isinstance(found, GroupingType):
            raise GroupingError(f"grouping {name!r}: {point.value} is {shown(found)}, no pasps.groupings.GroupingType")
        return found
    known = grouping_type_names()
    near = get_close_matches(name.lower(), [*known, *ours], n=1)
    if near:
        cure = f"did you mean {ours[near[0]]}?" if near[0] in ours else f"did you mean {near[0]!r}?"
    else:
        cure = f"installed packages bring {', '.join(map(repr, known)) or 'none'}"
    raise GroupingError(f"no package brings a grouping {name!r}; {cure}")
