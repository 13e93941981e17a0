"""The benchmark of restarts: what is counted of what the sink saw, and the table of several rounds."""

from __future__ import annotations

import pytest

from benchmarks.restart import table, ways
from benchmarks.scenarios.restarting import Measured, Way, seen
from pasps.control.decision_log import Restarted

POOL = Way("pool")


def test_silence_and_latency_are_those_around_the_change_and_the_rest_is_counted() -> None:
    arrivals = [(0, 1.0, 1.0), (1, 2.0, 9.9), (2, 9.0, 9.95), (3, 10.0, 12.5), (4, 12.5, 12.51), (6, 12.6, 12.61), (3, 10.0, 13.0)]
    found = seen(POOL, 10.0, 2.0, None, arrivals)
    assert found.longest_silence == pytest.approx(12.5 - 9.95), "that from 1 to 9.9 was before"
    assert found.worst_latency == pytest.approx(2.5), "counted once, when it came first"
    assert (found.late, found.lost, found.twice) == (1, 1, 1)


def test_nothing_that_came_is_no_reason_to_fail() -> None:
    found = seen(POOL, 10.0, 2.0, None, [])
    assert (found.longest_silence, found.worst_latency, found.late, found.lost, found.twice) == (0.0, 0.0, 0, 0, 0)


def test_rounds_of_a_way_are_one_line_from_the_least_to_the_most() -> None:
    restart = Way("restart, wait 0", 0.0)
    measured = [
        Measured(POOL, 0.004, None, 0.02, 0.03, 0, 0, 0),
        Measured(restart, 1.0, Restarted(0.0, 0.9, 7, 7), 0.95, 1.1, 900, 0, 7),
        Measured(POOL, 0.006, None, 0.02, 0.05, 3, 0, 0),
        Measured(restart, 1.5, Restarted(0.0, 1.4), 1.45, 1.6, 1400, 0, 0),
    ]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(measured).splitlines()[2:4]]
    assert lines == [
        ["pool", "0.004 to 0.006", "0.000", "0.000", "0.020", "0.030 to 0.050", "0 to 3", "0", "0"],
        ["restart, wait 0", "1.000 to 1.500", "0.000", "0.900 to 1.400", "0.950 to 1.450", "1.100 to 1.600", "900 to 1,400", "0", "0 to 7"],
    ]


def test_the_pool_is_compared_with_restarts_as_storm_makes_them_tracked_and_not() -> None:
    assert [(way.name, way.wait, way.silence, way.tracked) for way in ways(30.0, 9.0)] == [
        ("pool", None, 0.0, True),
        ("restart, wait 0", 0.0, 9.0, True),
        ("restart, wait 30", 30.0, 9.0, True),
        ("pool, untracked", None, 0.0, False),
        ("restart, wait 0, untracked", 0.0, 9.0, False),
    ]
