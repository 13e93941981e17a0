"""When events become due."""

from __future__ import annotations

import pytest

from pasps.simulation.arrivals import Arrivals


def test_events_are_spread_evenly_over_their_row_the_last_at_its_end() -> None:
    assert list(Arrivals((2, 0, 4), 0.5).parcels(100)) == [(0.25, 1), (0.5, 1), (1.125, 1), (1.25, 1), (1.375, 1), (1.5, 1)]


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("a_second", [1, 7, 50, 1e9])
def test_however_they_are_cut_none_is_lost_and_time_goes_on(seed: int | None, a_second: float) -> None:
    counts = (13, 0, 1000, 1, 77)
    found = list(Arrivals(counts, 1.0, seed).parcels(a_second))
    assert sum(count for _, count in found) == sum(counts)
    assert [time for time, _ in found] == sorted(time for time, _ in found)
    by_row = [sum(count for time, count in found if row < time <= row + 1) for row in range(5)]
    assert tuple(by_row) == counts
    assert len(found) <= 5 * max(1, a_second)


def test_parts_of_events_add_up() -> None:
    assert Arrivals.of([0.4, 0.4, 0.4, 2.5]).counts == (0, 1, 0, 3)


def test_what_is_expected_between_two_moments_is_what_the_rows_have() -> None:
    arrivals = Arrivals((10, 20), 2.0)
    assert arrivals.expected(0, 4) == 30
    assert arrivals.expected(1, 3) == 15
    assert arrivals.expected(3, 100) == 10
    assert arrivals.expected(50, 60) == 0
    assert (arrivals.seconds, arrivals.events, arrivals.peak_rate) == (4.0, 30, 10.0)
