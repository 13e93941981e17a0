"""What a worker process does to user code beside running its tuples, a step run does too."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple
from pasps.testing import complete_topology


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.left = 3

    def next_tuple(self) -> None:
        if not self.left:
            raise EndOfInput
        self.left -= 1
        self.emit([self.left], self.left)

    def backlog(self) -> int | None:
        raise LookupError("how much is left is not known")


class Locked(Bolt):
    hooks: ClassVar[list[str]] = []

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.lock = threading.Lock()

    def process(self, tup: Tuple) -> None:
        with self.lock:
            return

    def on_move_out(self) -> None:
        self.hooks.append("out")
        del self.lock

    def on_move_in(self, ctx: TopologyContext) -> None:
        self.hooks.append("in")
        self.lock = threading.Lock()


class Counted(Topology):
    numbers = Numbers.spec()
    locked = Locked.spec(inputs={numbers: Grouping.fields("number")}, par=1)


def test_a_spout_is_asked_for_its_backlog() -> None:
    done = complete_topology(Counted)
    assert sorted(done.acked["numbers"]) == [0, 1, 2]
    assert "LookupError: how much is left is not known" in done.errors[0].text


@pytest.mark.parametrize(("workers", "hooks"), [(1, []), (2, ["out", "in"])])
def test_an_instance_that_needs_its_hooks_to_move_is_tried_at_the_start(workers: int, hooks: list[str]) -> None:
    Locked.hooks.clear()
    complete_topology(Counted, workers=workers)
    assert Locked.hooks == hooks


class Compared(type):
    """Its classes cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other: object) -> bool:
        return cls is other


class Unhashed(metaclass=Compared):
    """Of a class that cannot be hashed."""


class EmitsIt(Bolt):
    outputs = ("value",)

    def process(self, tup: Tuple) -> None:
        self.emit((Unhashed(),))


class OddValues(Topology):
    numbers = Numbers.spec()
    emits = EmitsIt.spec(inputs=[numbers])


def test_a_value_of_a_class_that_cannot_be_hashed_is_written_down() -> None:
    done = complete_topology(OddValues)
    assert sorted(done.acked["numbers"]) == [0, 1, 2]
    assert [type(row[0]) is Unhashed for row in done.rows("emits")] == [True] * 3
