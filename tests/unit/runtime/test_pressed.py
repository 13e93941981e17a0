"""A worker says that more comes to a bolt than its replicas take: soon, not often, and only while it grows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pasps import Bolt, Spout, Topology, Tuple
from pasps.testing import PAUSE, StepRun

SECONDS = 0.01


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> float | None:
        return None


class Waits(Bolt):
    outputs = ["number"]

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(SECONDS)


class Line(Topology):
    config = {"topology.max.spout.pending": 10_000}
    numbers = Numbers.spec()
    waits = Waits.spec(inputs=[numbers], par=1, pool=4)


def paced(count: int, seconds: float) -> list[Any]:
    return [each for number in range(count) for each in ([number], PAUSE(seconds))]


def told(run: StepRun) -> int:
    reports = run.journal.of("pressed")
    assert all(report.component == "waits" for report in reports)
    return len(reports)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("workers", [1, 2])
def test_it_says_so_soon_and_at_most_four_times_a_second_while_it_grows(workers: int, shared: bool) -> None:
    config = {"pasps.shared.queues": shared}
    with StepRun(Line, workers, inputs={"numbers": paced(600, SECONDS / 3)}, config=config) as run:
        run.advance(0.4)
        assert told(run) >= 1, "60 have come, and 20 are done"
        run.advance(1.6)
        assert 3 <= told(run) <= 8


def test_what_its_replicas_take_is_no_news() -> None:
    with StepRun(Line, 1, inputs={"numbers": paced(200, SECONDS * 1.2)}) as run:
        run.run_to_end()
        assert told(run) == 0


def test_a_burst_that_is_being_worked_off_is_told_once() -> None:
    with StepRun(Line, 1, inputs={"numbers": [[number] for number in range(100)]}) as run:
        run.run_to_end()
        assert told(run) == 1


def test_once_there_are_replicas_enough_it_is_over() -> None:
    with StepRun(Line, 1, inputs={"numbers": paced(600, SECONDS / 3)}) as run:
        run.advance(0.5)
        run.set_active("waits", 4)
        run.advance(0.5)
        before = told(run)
        run.run_to_end()
        assert told(run) == before
