"""Pauses after failures, and which of them is told."""

from __future__ import annotations

from itertools import pairwise

from pasps.connectors.setbacks import Setback


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
