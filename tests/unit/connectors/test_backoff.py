"""When what failed is due again, pauses after failures, and which of them is told."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pasps.connectors.backoff import Setback, Tries
from pasps.testing import FakeClock


def all_due(tries: Tries[str]) -> list[str]:
    found = []
    while (key := tries.due()) is not None:
        tries.take()
        found.append(key)
    return found


def test_the_first_time_is_at_once_and_then_pauses_double_up_to_five_seconds() -> None:
    clock = FakeClock()
    tries = Tries[str](clock, None)
    waits = []
    for _ in range(12):
        began = clock.now()
        assert tries.failed("a")
        while tries.due() is None:
            clock.advance(0.05)
        tries.take()
        waits.append(round(clock.now() - began, 2))
    assert waits == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0, 5.0], abs=0.06)


def test_what_is_due_stays_so_until_it_is_taken_the_oldest_first() -> None:
    tries = Tries[str](FakeClock(), None)
    for key in "abc":
        tries.failed(key)
    assert (tries.due(), tries.due(), len(tries)) == ("a", "a", 3)
    assert all_due(tries) == ["a", "b", "c"]
    assert len(tries) == 0


def test_after_so_many_failures_it_is_given_up_and_forgotten() -> None:
    tries = Tries[str](FakeClock(), 2)
    assert tries.failed("a")
    assert not tries.failed("a")
    assert all_due(tries) == ["a"]
    assert tries.failed("a"), "counted anew"


def test_what_is_done_begins_anew() -> None:
    tries = Tries[str](FakeClock(), 2)
    assert tries.failed("a")
    tries.forget("a")
    tries.forget("never there")
    assert tries.failed("a")


# ---- a server that does not do what it is asked


def test_pauses_double_and_failures_are_told_now_and_then() -> None:
    setback, now = Setback(), 100.0
    tried, told = [], []
    while now < 170.0:
        if not setback.lasts(now):
            tried.append(now)
            if setback.failed(now):
                told.append(now)
        now += 0.05
    pauses = [round(later - earlier, 1) for earlier, later in pairwise(tried)]
    assert pauses[:6] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    assert 4.9 <= min(pauses[6:]) <= max(pauses[6:]) <= 5.1
    assert len(told) == 3


def test_failures_of_one_try_are_one() -> None:
    setback = Setback()
    assert [setback.failed(100.0) for _ in range(3)] == [True, False, False]
    assert (setback.lasts(100.09), setback.lasts(100.11)) == (True, False)


def test_after_something_went_well_it_begins_anew() -> None:
    setback = Setback()
    setback.failed(100.0)
    setback.over()
    assert not setback.lasts(100.0)
    assert setback.failed(100.0)


def test_what_may_be_tried_again_at_once_is_so_the_first_time_alone() -> None:
    setback = Setback()
    assert (setback.excuses(), setback.lasts(100.0)) == (True, False)
    assert not setback.excuses()
    assert setback.failed(100.0), "it was not told of yet"
    assert (setback.lasts(100.19), setback.lasts(100.21)) == (True, False)
    setback.over()
    assert setback.excuses()


def test_what_is_left_while_it_is_tried_stays_due() -> None:
    tries = Tries[str](FakeClock(), None)
    for key in "abc":
        tries.failed(key)
    for key in tries.each_due(10):
        if key == "b":
            break  # as what raises leaves the loop
    assert list(tries.each_due(1)) == ["b"]
    assert (list(tries.each_due(10)), len(tries)) == (["c"], 0)
