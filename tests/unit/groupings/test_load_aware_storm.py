"""Storm's load-aware shuffle: how often each replica is drawn, and when it looks at their queues anew."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pasps import Grouping
from tests.unit.groupings.harness import HandClock, choices_of, rows_of, splitter_of, view_of

MANY = 20_000


def shares(occupied: dict[int, float], active: list[int] | None = None) -> dict[int, float]:
    splitter = splitter_of(Grouping.LOAD_AWARE_STORM)
    splitter.refresh(view_of(sorted(occupied) if active is None else active, occupancy=lambda index: occupied.get(index, 0.0)))
    chosen = choices_of(splitter, rows_of(MANY))
    return {index: chosen.count(index) / MANY for index in sorted(set(chosen))}


@pytest.mark.parametrize(
    ("occupied", "weights"),
    [
        ({0: 0.0, 1: 0.0}, {0: 101, 1: 101}),
        ({0: 0.0, 1: 0.5}, {0: 101, 1: 51}),
        ({0: 1.0, 1: 0.0}, {0: 1, 1: 101}),
        ({0: 0.0, 1: 0.001, 2: 0.9999}, {0: 101, 1: 100, 2: 1}),
    ],
)
def test_each_is_drawn_by_how_full_its_queue_is(occupied: dict[int, float], weights: dict[int, int]) -> None:
    total = sum(weights.values())
    found = shares(occupied)
    for index, weight in weights.items():
        assert found.get(index, 0.0) == pytest.approx(weight / total, abs=0.015)


def test_draws_are_independent_of_each_other() -> None:
    splitter = splitter_of(Grouping.LOAD_AWARE_STORM)
    splitter.refresh(view_of([0, 1]))
    chosen = choices_of(splitter, rows_of(MANY))
    repeats = sum(before == after for before, after in pairwise(chosen)) / MANY
    assert repeats == pytest.approx(0.5, abs=0.02), "no turn is kept"


def test_queues_are_looked_at_once_a_second() -> None:
    clock, occupied = HandClock(), {0: 0.0, 1: 0.0}
    splitter = splitter_of(Grouping.LOAD_AWARE_STORM, clock=clock)
    splitter.refresh(view_of([0, 1], occupancy=occupied.__getitem__))
    occupied[1] = 1.0
    clock.seconds += 0.9
    assert choices_of(splitter, rows_of(1000)).count(1) > 400
    clock.seconds += 0.2
    assert choices_of(splitter, rows_of(1000)).count(1) < 30


def test_a_replica_that_comes_or_goes_has_its_weight_at_once() -> None:
    """The published code waits for the next second: the new one gets nothing, and draws for the old one fall through to replica 0."""
    occupied = {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}
    splitter = splitter_of(Grouping.LOAD_AWARE_STORM)
    splitter.refresh(view_of([0, 1, 2], occupancy=occupied.__getitem__))
    splitter.split(rows_of(10))
    splitter.refresh(view_of([0, 3], occupancy=occupied.__getitem__))
    chosen = choices_of(splitter, rows_of(1000))
    assert set(chosen) <= {0, 3}
    assert chosen.count(3) > 950
