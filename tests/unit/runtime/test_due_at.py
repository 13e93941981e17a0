"""Complete latencies that count from the moment an event was due."""

from __future__ import annotations

from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Spout, Topology, TopologyContext, Tuple
from pasps.metrics import Histogram
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.testing import StepRun
from tests.unit.runtime.parts import add_one

EPOCH = 1_700_000_000.0
"""What a fake clock's wall shows when a run begins."""


class Due(Spout):
    """Emits 0, 1, 2 at once, and what failed after a second; `DUE` says when each was due."""

    outputs = ["number"]
    DUE: dict[int, Any] = {}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.numbers = list(range(3))
        self.open: set[int] = set()

    def next_tuple(self) -> float | None:
        if not self.numbers:
            raise EndOfInput
        self.open.update(self.numbers)
        self.emit_batch([(number,) for number in self.numbers], self.numbers)
        self.numbers = []
        return 1.0

    def due_at(self, number: int) -> float | None:
        assert number in self.open, "asked after its ack"
        due = self.DUE[number]
        if isinstance(due, Exception):
            raise due
        return due  # type: ignore[no-any-return]

    def ack(self, number: int) -> None:
        self.open.discard(number)

    def fail(self, number: int) -> None:
        self.numbers.append(number)


class FailFirst(Bolt):
    """Fails number 1 once, two seconds after the start."""

    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.failed = False

    def process(self, tup: Tuple) -> None:
        if tup[0] == 1 and not self.failed:
            self.failed = True
            raise ValueError("once")


def spout_of(run: StepRun) -> SpoutExecutor:
    return next(iter(run.workers["w0"].residents.spouts.values()))


def latencies(bolt: Any, due: dict[int, Any]) -> tuple[Histogram, list[str]]:
    class Dues(Due):
        DUE = due

    class Line(Topology):
        numbers = Dues.spec()
        last = bolt.spec(inputs=[numbers])

    with StepRun(Line, 1) as run:
        run.run_to_end()
        return spout_of(run).fates.histogram, [error.text for error in run.journal.of("error")]


def test_a_latency_counts_from_when_the_event_was_due() -> None:
    histogram, errors = latencies(add_one, {0: EPOCH - 4.0, 1: EPOCH - 2.0, 2: EPOCH})
    assert errors == []
    assert (histogram.count, histogram.total) == pytest.approx((3, 6.0))


def test_it_counts_over_replays() -> None:
    histogram, _ = latencies(FailFirst, {0: EPOCH, 1: EPOCH - 7.0, 2: EPOCH})
    assert histogram.count == 3
    assert histogram.total >= 7.0


def test_what_is_due_in_the_future_took_no_time() -> None:
    histogram, errors = latencies(add_one, dict.fromkeys(range(3), EPOCH + 60.0))
    assert (histogram.count, histogram.total, errors) == (3, 0.0, [])


def test_without_a_time_it_counts_from_the_emission() -> None:
    histogram, errors = latencies(add_one, {0: None, 1: EPOCH - 2.0, 2: None})
    assert (histogram.count, histogram.total) == pytest.approx((3, 2.0))
    assert errors == []


@pytest.mark.parametrize("wrong", [KeyError("gone"), float("nan"), float("-inf"), "noon"])
def test_an_error_is_reported_and_the_tuple_counts_from_its_emission(wrong: object) -> None:
    histogram, errors = latencies(add_one, {0: wrong, 1: EPOCH - 2.0, 2: EPOCH})
    assert (histogram.count, histogram.total) == pytest.approx((3, 2.0))
    assert len(errors) == 1


def test_nobody_is_asked_where_it_is_not_overridden() -> None:
    class Plain(Spout):
        outputs = ["number"]

        def next_tuple(self) -> float | None:
            raise EndOfInput

    class Line(Topology):
        numbers = Plain.spec()
        last = add_one.spec(inputs=[numbers])

    with StepRun(Line, 1) as run:
        assert spout_of(run).fates.due_at is None
        assert spout_of(run).instance.due_at(1) is None
