"""How near et is to what is measured live: the ratio of means, what it is worth, and the table."""

from __future__ import annotations

import pytest

from benchmarks.execution_times import Seen, lines, topology

NEAR = Seen("cheap", (1.0e-3, 1.2e-3), (1.0e-3, 1.2e-3, 1.1e-3), 0.0)


def test_the_ratio_is_that_of_the_means_of_all_processes() -> None:
    assert Seen("cheap", (1.0, 3.0), (1.0, 1.0, 4.0), None).ratio == pytest.approx(1.0)


def test_the_error_of_the_ratio_comes_from_how_far_processes_lie_apart() -> None:
    assert Seen("cheap", (1.0, 1.0), (2.0, 2.0), None).error == 0.0
    # a standard error of 0.2 / sqrt(2) of the mean on each side
    spread = (0.9, 1.1)
    assert Seen("cheap", spread, spread, None).error == pytest.approx((0.02 / 2 * 2) ** 0.5)


def test_one_process_says_nothing_of_the_error() -> None:
    alone = Seen("cheap", (1.0,), (1.0, 1.1), None)
    assert alone.error is None
    assert "±" not in lines([alone])[1]


def test_the_table_has_the_spread_and_the_verdict_where_there_is_an_aim() -> None:
    far = Seen("heavy", (2.0e-3, 2.0e-3), (1.0e-3, 1.0e-3), 0.5)
    shown = lines([NEAR, far, Seen("skewed", far.et, far.live, 2.0)])
    assert "1.1 ms [1.0 ms to 1.2 ms]" in shown[1]
    assert shown[1].endswith("yes")
    assert "2.00 ± 0.00" in shown[2]
    assert shown[2].endswith("NO")
    assert shown[3].rstrip().endswith("200%")
    assert shown[-1].startswith("aim: et / live within 10% of 1")


def test_a_subject_runs_alone_and_with_the_same_events_both_times() -> None:
    made = topology("batch", 150, 1.5)
    assert list(made.components) == ["numbers", "batch", "sink"]
    assert (made.config["trace.rows"], made.config["trace.step.seconds"]) == ([150], 1.5)
