"""When a replica is given back: by how long the pauses were in which it was not needed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pasps.control.policies.regret import PATIENCES, Pauses

PACE = 0.25


def lived(need: Callable[[float], int], seconds: float, active: int = 1, known: Pauses | None = None, began: float = 100.0) -> Pauses:
    """What is known after so many seconds in which that was needed."""
    known = known or Pauses()
    for step in range(int(seconds / PACE) + 1):
        known = known.after(began + step * PACE, need(step * PACE), active, PACE)
    return known


def every(period: float, pause: float) -> Callable[[float], int]:
    """Two replicas are needed, but for a pause in each period."""
    return lambda at: 1 if at % period < pause else 2


def test_until_enough_is_known_a_replica_stays_as_long_as_a_change_is_worth() -> None:
    known = lived(lambda at: 1, 0.0, active=3)
    assert known.patience(2.0) == 2.0
    assert [known.kept(at, 2.0) for at in (100.0, 101.99, 102.0)] == [3, 3, 0]
    assert known.after(102.0, 1, 3, PACE).kept(102.0, 2.0) == 1


def test_pauses_that_are_shorter_than_a_change_is_worth_are_waited_out() -> None:
    assert lived(every(5.0, 1.0), 60.0).patience(3.0) >= 1.0


def test_after_pauses_that_are_long_a_replica_goes_at_once() -> None:
    assert lived(every(20.0, 12.0), 600.0).patience(3.0) == 0.0


def test_what_a_change_is_worth_decides_between_them() -> None:
    known = lived(every(8.0, 3.0), 120.0)
    assert known.patience(0.5) == 0.0
    assert known.patience(20.0) >= 3.0


def test_a_change_that_costs_nothing_is_made_at_once() -> None:
    assert lived(every(5.0, 1.0), 60.0).patience(0.0) == 0.0


def test_what_was_long_ago_is_forgotten() -> None:
    short = lived(every(5.0, 1.0), 60.0)
    later = lived(every(20.0, 12.0), 900.0, known=short, began=160.0)
    assert (short.patience(3.0) >= 1.0, later.patience(3.0)) == (True, 0.0)


def test_a_replica_that_is_needed_all_the_time_is_kept_and_has_no_pauses() -> None:
    known = lived(lambda at: 3, 30.0, active=3)
    assert (sum(known.counts), known.kept(130.0, 1.0)) == (0.0, 3)


@pytest.mark.parametrize("change", [0.5, 2.0, 3.0, 8.0])
def test_its_patience_is_one_of_those_it_may_choose_from(change: float) -> None:
    assert lived(every(5.0, 1.0), 60.0).patience(change) in PATIENCES


def test_it_is_the_same_from_json() -> None:
    known = lived(every(5.0, 1.0), 20.0)
    assert Pauses.of(json.loads(json.dumps(known.written()))) == Pauses.of(known.written())
    assert Pauses.of(None) == Pauses()
