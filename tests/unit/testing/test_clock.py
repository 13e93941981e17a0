"""The fake clock moves when it is told, or by its creep, and never back."""

from __future__ import annotations

import pytest

from pasps.clock import Clock, Deadline
from pasps.testing import FakeClock


def test_it_stands_still_until_it_is_moved() -> None:
    clock: Clock = FakeClock(5.0)
    assert (clock.now(), clock.now(), clock.cpu()) == (5.0, 5.0, 5.0)


def test_all_its_times_move_together() -> None:
    clock = FakeClock(5.0, epoch=100.0)
    clock.advance(2.5)
    assert (clock.now(), clock.cpu(), clock.wall()) == (7.5, 7.5, 102.5)
    clock.advance_to(6.0)
    assert clock.now() == 7.5
    clock.advance_to(9.0)
    assert clock.peek() == 9.0


def test_somebody_may_set_the_wall_clock() -> None:
    clock = FakeClock(5.0, epoch=100.0)
    clock.set_wall(-60.0)
    clock.advance(2.5)
    assert (clock.now(), clock.cpu(), clock.wall()) == (7.5, 7.5, 42.5)
    clock.set_wall(60.0)
    assert clock.wall() == 102.5


def test_it_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        FakeClock().advance(-1)


def test_creep_passes_at_every_look() -> None:
    clock = FakeClock(0.0, creep=0.5)
    assert [clock.now(), clock.now()] == [0.5, 1.0]
    assert clock.peek() == 1.0


def test_deadlines_follow_it() -> None:
    clock = FakeClock()
    deadline = Deadline(clock, 3.0)
    clock.advance(2.0)
    assert deadline.remaining() == pytest.approx(1.0)
    clock.advance(2.0)
    assert deadline.expired()
