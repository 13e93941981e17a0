"""A pass of the pump gives turns until its time is up, and ends on a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from pasps.runtime.executor import Executor, Pump
from pasps.runtime.meters import Blocking
from pasps.testing import FakeClock


class Insatiable:
    """Asks for the next turn in each of its turns."""

    rank = 0
    queued = False

    def __init__(self, clock: FakeClock, seconds: float, again: Callable[[Insatiable], None]) -> None:
        self.blocking = Blocking()
        self.turns = 0
        self._clock, self._seconds, self._again = clock, seconds, again

    def step(self) -> None:
        self.turns += 1
        self._clock.advance(self._seconds)
        self._again(self)

    def used(self, cpu: float, wall: float, awake: float | None) -> None:
        pass


def one_pass(*seconds: float) -> list[int]:
    """The turns that executors of these step times have in a pass of a millisecond."""
    clock = FakeClock()
    pump = Pump(1, clock, 0.001)
    executors = [Insatiable(clock, each, lambda one: pump.schedule(cast("Executor", one))) for each in seconds]
    for executor in executors:
        pump.schedule(cast("Executor", executor))
    pump.run_pass()
    assert pump.has_work()
    return [executor.turns for executor in executors]


def test_who_asks_again_has_turns_until_the_time_is_up() -> None:
    assert one_pass(0.0004) == [3]
    assert one_pass(0.0003, 0.0003) == [2, 2]


def test_a_step_that_takes_the_whole_pass_is_its_last() -> None:
    assert one_pass(0.002) == [1]
    assert one_pass(0.0005, 0.002) == [1, 1]


@pytest.mark.parametrize("count", [1, 3])
def test_a_clock_that_stands_still_does_not_keep_it_for_ever(count: int) -> None:
    turns = one_pass(*[0.0] * count)
    assert len(set(turns)) == 1
    assert 1 < turns[0] < 100
