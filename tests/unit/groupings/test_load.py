from __future__ import annotations

import pytest

from pasps.errors import ProtocolError
from pasps.groupings.load import UNKNOWN_SECONDS, LoadTable

NAN, INF = float("nan"), float("inf")


def test_waiting_shrinks_with_time() -> None:
    table = LoadTable(2)
    table.report(0, 0.5, 0.01, 7, now=100.0)
    assert table.waiting(0, 100.2) == pytest.approx(0.3)
    assert table.waiting(0, 200.0) == 0.0


def test_an_unknown_cost_is_the_mean_of_the_known_ones() -> None:
    table = LoadTable(3)
    assert table.each == [UNKNOWN_SECONDS] * 3
    table.report(0, 0.0, 0.02, 0, now=0.0)
    table.report(1, 0.0, 0.04, 0, now=0.0)
    assert table.each[2] == pytest.approx(0.03)
    assert table.component_each() == pytest.approx(0.03)


def test_the_components_cost_is_weighted_by_what_was_done() -> None:
    table = LoadTable(3)
    table.report(0, 0.0, 0.01, 30, now=0.0)
    table.report(1, 0.0, 0.05, 10, now=0.0)
    assert table.component_each() == pytest.approx(0.02)


@pytest.mark.parametrize("waiting", [NAN, INF])
@pytest.mark.parametrize("each", [NAN, INF, 0.0, -1.0])
def test_what_is_no_number_leaves_what_was_known(waiting: float, each: float) -> None:
    table = LoadTable(1)
    table.report(0, 0.5, 0.01, 7, now=0.0)
    table.report(0, waiting, each, -3, now=0.0)
    assert (table.waiting(0, 0.0), table.each[0], table.done[0]) == (0.5, 0.01, 0)
    table.report(0, -1.0, 0.01, 7, now=5.0)
    assert table.finish[0] == 5.0


@pytest.mark.parametrize("index", [-1, 2])
def test_a_replica_that_there_is_not_is_a_peers_fault(index: int) -> None:
    with pytest.raises(ProtocolError, match="below 2"):
        LoadTable(2).report(index, 0.0, 0.01, 1, now=0.0)
