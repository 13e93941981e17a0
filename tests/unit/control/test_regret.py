"""When a replica is given back: by how likely it is to be needed again soon, and what that would cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from pasps.control.policies.regret import WINDOW_SECONDS, Rises

PACE = 0.25
BOLT = "a"


def lived(need: Callable[[float], float], seconds: float, known: Rises | None = None, began: float = 100.0) -> Rises:
    """What is known after so many seconds in which that was needed."""
    known = known or Rises()
    for step in range(int(seconds / PACE) + 1):
        known.learn(began + step * PACE, {BOLT: need(step * PACE)})
    return known


def steady(at: float) -> float:
    return 1.5


def bursts(at: float) -> float:
    """Two replicas more, for a second in four."""
    return 3.5 if at % 4.0 < 1.0 else 1.5


def test_until_enough_is_known_nothing_is_given_back() -> None:
    assert Rises().kept(BOLT, 2, 5, 1.0) == 5
    assert lived(steady, WINDOW_SECONDS).kept(BOLT, 2, 5, 1.0) == 5


def test_who_decides_each_half_minute_has_seen_enough_after_one_in_which_nothing_rose() -> None:
    known = Rises(None, 30.0, 30.0)
    for decision in range(2):
        assert known.kept(BOLT, 2, 5, 1.0) == 5
        known.learn(30.0 * decision, {BOLT: 1.5})
    assert known.kept(BOLT, 2, 5, 1.0) == 2


def test_a_need_that_does_not_rise_frees_all_others() -> None:
    known = lived(steady, 20.0)
    assert (known.chance(BOLT, 0.5), known.kept(BOLT, 2, 5, 1000.0)) == (0.0, 2)


def test_replicas_that_the_next_burst_would_need_are_kept_and_those_above_it_are_not() -> None:
    known = lived(bursts, 59.0)
    assert bursts(59.0) == 1.5
    assert known.chance(BOLT, 0.5) == pytest.approx(0.5, abs=0.1), "a rise within two seconds in half of the time"
    assert known.kept(BOLT, 2, 6, 10.0) == 4


def test_a_change_that_costs_little_is_made() -> None:
    known = lived(bursts, 59.0)
    assert known.kept(BOLT, 2, 6, 0.0) == 2
    assert known.kept(BOLT, 2, 6, 0.5) == 2


def test_never_fewer_than_are_needed_and_never_more_than_there_are() -> None:
    known = lived(bursts, 59.0)
    assert known.kept(BOLT, 3, 3, 10.0) == 3
    assert known.kept(BOLT, 5, 3, 10.0) == 5


@pytest.mark.parametrize("later", [160.0, 3000.0])
def test_what_was_long_ago_is_forgotten(later: float) -> None:
    known = lived(steady, 600.0, lived(bursts, 60.0), later)
    assert known.kept(BOLT, 2, 6, 10.0) == 2


def test_a_rise_of_any_size_is_counted() -> None:
    assert lived(lambda at: 1.0 + 10_000.0 * (at >= 10.0), 20.0).chance(BOLT, 50.0) > 0.0


def test_rises_of_many_replicas_are_told_apart() -> None:
    known = lived(lambda at: 61.0 if at % 4.0 < 1.0 else 1.0, 59.0)
    assert known.chance(BOLT, 40.0) > 0.3
    assert known.chance(BOLT, 90.0) == 0.0
    assert 55 <= known.kept(BOLT, 1, 200, 10.0) <= 66


def test_each_bolt_is_known_by_its_own_rises_and_one_that_comes_later_from_then_on() -> None:
    known = lived(bursts, 59.0)
    for step in range(106):
        known.learn(160.0 + step * PACE, {BOLT: bursts(step * PACE), "late": 1.5})
    assert (known.kept(BOLT, 2, 6, 10.0), known.kept("late", 2, 6, 10.0)) == (4, 2)


def test_in_json_it_is_small_and_what_comes_of_it_is_the_same_to_the_last_digit() -> None:
    known = lived(lambda at: 2.0 + math.sin(at), 60.0)
    text = json.dumps(known.written())
    assert len(text) < 600
    back = Rises(json.loads(text))
    for each in (known, back):
        each.learn(200.0, {BOLT: 2.5})
    assert back.written() == known.written()


def test_what_was_written_down_is_not_changed_by_what_is_learned_later() -> None:
    memory = lived(bursts, 20.0).written()
    before = json.dumps(memory)
    Rises(memory).learn(130.0, {BOLT: 9.0})
    assert json.dumps(memory) == before
