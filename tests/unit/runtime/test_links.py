"""A link between two live workers breaks: what was on it fails at once, and the two go on when they are connected again."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple
from pasps.testing import PAUSE, StepOptions, StepRun
from tests.unit.runtime.pipeline import pipeline


def broken_run(seed: int) -> StepRun:
    items = [[i] for i in range(400)]
    options = StepOptions(seed=seed, delays=True, creep=2e-5, replays=5)
    return StepRun(pipeline(), 2, inputs={"numbers": [*items[:300], PAUSE(1), *items[300:]]}, options=options)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("moving", [False, True])
def test_a_broken_link_is_mended(seed: int, moving: bool) -> None:
    with broken_run(seed) as run:
        for _ in range(20 + seed):
            run.step()
        if moving:
            run.set_active("count", 6, wait=False)
            for _ in range(2 + 2 * seed):
                run.step()
        run.break_link("w0", "w1")
        assert {(report.worker, report.text) for report in run.journal.of("link_lost")} == {("w0", "w1"), ("w1", "w0")}
        for _ in range(10):
            run.step()
        run.mend_link("w0", "w1")
        run.run_to_end()
        assert set(run.verdicts.acked["numbers"]) == set(range(400))
        assert {row[1] for row in run.emitted["sink"]["default"]} == set(range(400))
        assert run.clock.peek() - 1000 < 20, "something waited for the message time-out"
        run.set_active("count", 2)
        assert run.controller.settled()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("first", ["w0", "w1"])
def test_a_link_is_made_anew_before_the_other_end_heard_of_its_loss(seed: int, first: str) -> None:
    """While tasks move: nobody may wait for an echo, a mark or an answer that was on the earlier one."""
    other = {"w0": "w1", "w1": "w0"}[first]
    with broken_run(seed) as run:
        for _ in range(20 + seed):
            run.step()
        run.set_active("count", 6 if seed % 2 else 1, wait=False)
        for _ in range(2 + seed):
            run.step()
        run.break_link(first, other, both_hear=False)
        for _ in range(seed):
            run.step()
        run.mend_link("w0", "w1")
        run.run_to_end()
        assert set(run.verdicts.acked["numbers"]) == set(range(400))
        assert {row[1] for row in run.emitted["sink"]["default"]} == set(range(400))
        assert run.clock.peek() - 1000 < 20, "something waited for the message time-out"
        run.set_active("count", 2)
        assert run.controller.settled()


class Handled(Bolt):
    """Has something open that cannot travel."""

    outputs = ["number", "count"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[int] = Counter()
        self.handle: Any = threading.Lock()

    def process(self, tup: Tuple) -> None:
        assert self.handle is not None
        self.counts[tup["number"]] += 1
        self.emit([tup["number"], self.counts[tup["number"]]])

    def on_move_out(self) -> None:
        assert self.handle is not None
        self.handle = None

    def on_move_in(self, ctx: TopologyContext) -> None:
        self.handle = threading.Lock()


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> None:
        raise EndOfInput


class Counting(Topology):
    numbers = Numbers.spec()
    count = Handled.spec(inputs={numbers: Grouping.fields("number")}, par=2, pool=4)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_task_is_told_once_that_it_leaves_however_often_it_is_handed_over(seed: int, back: bool) -> None:
    """The link breaks when the new host has the task, and its former one has not heard of that; or before, or after."""
    for steps in range(1, 30):
        rows = [[n] for n in range(20)]
        options = StepOptions(seed=seed, delays=True)
        with StepRun(Counting, 2, inputs={"numbers": [*rows, PAUSE(5), *rows]}, options=options) as run:
            run.run_until_idle()
            run.set_active("count", 1, wait=False)
            for _ in range(steps):
                run.step()
            run.break_link("w0", "w1")
            if back:
                run.set_active("count", 2, wait=False)
            for _ in range(3):
                run.step()
            run.mend_link("w0", "w1")
            run.run_to_end()
            assert run.journal.of("move_failed") == []
            counted = [tuple(row) for row in run.emitted["count"]["default"]]
            assert sorted({*counted}) == [(number, count) for number in range(20) for count in (1, 2)]
            run.set_active("count", 1)
            assert run.controller.settled()
