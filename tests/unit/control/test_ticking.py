"""Ticks: what is asked when, one sample a second, and a tick that fails does not end them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pasps.control.monitor import Machine
from pasps.control.policies import BUILT_IN
from pasps.control.run_log import Sample
from pasps.control.ticking import Ticking
from pasps.errors import BrokenError
from pasps.metrics import Stats
from pasps.simulation.virtual_time import VirtualClock, run_virtually
from tests.unit.control.situations import Bench, planning

PA_SPS = BUILT_IN["pa-sps"]
CORRECTING = planning(PA_SPS, corrects=True, warm_up=1.0)


class Source:
    """A bench's course as of now; `takes` seconds for an answer, and those to the questions in `fails` are errors."""

    def __init__(self, bench: Bench, clock: VirtualClock, takes: float = 0.0, fails: tuple[int, ...] = ()) -> None:
        self.asked: list[float] = []
        self._bench, self._clock, self._takes, self._fails = bench, clock, takes, fails

    async def stats(self) -> Stats:
        self.asked.append(self._clock.now())
        await asyncio.sleep(self._takes)
        if len(self.asked) in self._fails:
            raise BrokenError("nobody answers")
        course = self._bench.course
        return course.advance(self._clock.now() - course.uptime)

    def machine(self) -> Machine:
        return self._bench.course.machine()


def ticked(bench: Bench, seconds: float, correction: float | None, **about: Any) -> tuple[Source, list[Sample]]:
    clock = VirtualClock()
    source, samples = Source(bench, clock, **about), list[Sample]()

    async def main() -> None:
        ticking = Ticking(bench.loop, source, clock, samples.append, correction)
        task = asyncio.get_running_loop().create_task(ticking.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await ticking.close()
        ticking.sample(await source.stats())

    run_virtually(clock, main())
    return source, samples


def test_there_is_a_tick_a_second_and_a_sample_with_each() -> None:
    source, samples = ticked(Bench(PA_SPS, interval_seconds=2.0), 5.5, None)
    assert source.asked == [0, 1, 2, 3, 4, 5, 5.5]
    assert [round(sample.uptime, 6) for sample in samples] == [1, 2, 3, 4, 5, 5.5], "the last one is asked for"


@pytest.mark.parametrize(("correction", "ticks"), [(1.0, 11), (0.25, 41), (5.0, 11)])
def test_who_corrects_is_asked_as_often_as_that_but_samples_stay_one_a_second(correction: float, ticks: int) -> None:
    source, samples = ticked(Bench(CORRECTING, interval_seconds=5.0, correction_seconds=correction), 10.1, correction)
    assert len(source.asked) == ticks + 1
    assert [round(sample.uptime) for sample in samples][:-1] == list(range(1, 11))


def test_what_is_missed_is_not_made_up_for() -> None:
    source, _ = ticked(Bench(PA_SPS), 9.9, None, takes=3.5)
    assert source.asked[:-1] == [0, 3.5, 7.0]


def test_a_tick_that_fails_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    source, samples = ticked(Bench(PA_SPS), 4.5, None, fails=(2, 3))
    assert len(source.asked) == 6
    assert [round(sample.uptime, 6) for sample in samples] == [3, 4, 4.5]
    assert "a control cycle was left out: nobody answers" in caplog.text


def test_decisions_are_made_and_end_with_it() -> None:
    bench = Bench(PA_SPS, interval_seconds=2.0)
    ticked(bench, 7.5, None)
    assert [record.moment for record in bench.records] == ["cycle"] * 3
    blocked = Bench(PA_SPS, interval_seconds=2.0)
    blocked.forecasts.block()
    ticked(blocked, 7.5, None)
    assert blocked.forecasts.at_once == 0, "what was under way is given up"
