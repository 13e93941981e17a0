"""A grouping whose observers write down what they see, and topologies with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pasps import Blueprint, EndOfInput, Grouping, Spout, TopologyBuilder
from pasps.groupings import Carrying, GroupingType, Pick, Receiver, Row, Sender, TargetView, option


class Numbers(Spout):
    """Stands for the list spouts that take its place."""

    outputs = ["number"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


@dataclass
class Seen:
    """What observers and splitters of one run wrote down, in order."""

    events: list[tuple[Any, ...]] = field(default_factory=list)
    """("executed", index, row, seconds) and ("heard", index, sender, payload), as observers saw it."""
    told: list[tuple[int, int, bytes]] = field(default_factory=list)
    """What splitters heard: sender, index, payload."""
    views: list[TargetView] = field(default_factory=list)
    answers: bool = False
    """Whether observers answer every payload to whoever sent it, and every fifth tuple to all."""
    raises: str = ""
    """Of whom every call raises: `executed`, `heard`, `told`."""

    def executed(self) -> list[tuple[int, Row, float]]:
        return [event[1:] for event in self.events if event[0] == "executed"]  # type: ignore[return-value]

    def heard(self) -> list[tuple[int, int, bytes]]:
        return [event[1:] for event in self.events if event[0] == "heard"]  # type: ignore[return-value]


_runs = [Seen()]


@contextmanager
def watching(**changes: Any) -> Iterator[Seen]:
    """Whatever runs meanwhile writes there."""
    _runs.append(Seen(**changes))
    yield _runs[-1]


@dataclass(frozen=True)
class Options:
    every: int = option(1, "one row in so many carries a payload", least=1)
    size: int = option(0, "bytes more of a payload", least=0)


class InTurn:
    """Rows to the active replicas, or the tasks, one after the other; the payload of a row is its number."""

    fan: int | None = 1

    def __init__(self, at: Sender) -> None:
        self.at = at
        self.count = 0
        self.targets: tuple[int, ...] = ()
        self.seen = _runs[-1]

    def refresh(self, view: TargetView) -> None:
        self.targets = view.active
        self.seen.views.append(view)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        assert rows
        picked: dict[int, list[int]] = {}
        payloads: dict[int, dict[int, bytes]] = {}
        for position, row in enumerate(rows):
            index = self.targets[self.count % len(self.targets)]
            self.count += 1
            picked.setdefault(index, []).append(position)
            if self.count % self.at.options.every == 0:
                payloads.setdefault(index, {})[position] = f"{row[0]}".encode() + b" " * self.at.options.size
        return [(index, Carrying(some, payloads.get(index, {}))) for index, some in picked.items()]

    def heard(self, index: int, payload: bytes) -> None:
        self.seen.told.append((self.at.task, index, payload))
        if self.seen.raises == "told":
            raise ValueError("told")


class Writer:
    """An observer."""

    def __init__(self, at: Receiver) -> None:
        self.at = at
        self.seen = _runs[-1]
        self.count = 0

    def executed(self, row: Row, seconds: float) -> None:
        self.seen.events.append(("executed", self.at.index, row, seconds))
        self.count += 1
        if self.seen.answers and self.count % 5 == 0:
            self.at.tell(b"all")
        if self.seen.raises == "executed":
            raise ValueError("executed")

    def heard(self, sender: int, payload: bytes) -> None:
        self.seen.events.append(("heard", self.at.index, sender, payload))
        if self.seen.answers:
            self.at.tell(b"re " + payload, sender)
        if self.seen.raises == "heard":
            raise ValueError("heard")


IN_TURN = GroupingType("in-turn", "a test's own", InTurn, observer=Writer, options=Options)
TASKS_IN_TURN = GroupingType("tasks-in-turn", "a test's own", InTurn, "task", Writer, Options)


def watched(kind: Any, par: int = 3, pool: int = 4, spouts: int = 2, of: GroupingType = IN_TURN, **options: Any) -> Blueprint:
    """Numbers through one watched bolt, called `bolt`."""
    config = options.pop("config", {})
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers, spouts)
    builder.set_bolt("bolt", kind, par, pool).grouping("numbers", Grouping.of(of, **options))
    return builder.create_topology("watched", config)


def rows(count: int) -> list[list[Any]]:
    return [[number] for number in range(count)]
