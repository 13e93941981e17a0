from __future__ import annotations

import pytest

from pasps.cli.frame import Frames, last_line
from pasps.metrics import Latency
from pasps.topology.status import shapes
from tests.unit.cli.builders import blueprint, frame, report, stats


def test_rates_are_differences_of_the_counters_over_the_time_between() -> None:
    shown = frame(emitted_first=100, acked=80, doubled={"executed": 50, "emitted": 50, "execute_seconds": 0.02})
    doubled = shown.components[1]
    assert (shown.emitted_per_second, shown.acked_per_second) == (50.0, 40.0)
    assert doubled.executed_per_second == 25.0
    # one second of work in two seconds, by two replicas
    assert doubled.busy == pytest.approx(0.25)
    assert doubled.execute_seconds == pytest.approx(0.02)


def test_the_mean_execute_time_is_that_of_the_last_moment() -> None:
    frames = Frames(shapes(blueprint()), 1)
    frames.next(stats(1, doubled={"executed": 100, "execute_seconds": 0.001}), 1, ())
    now = frames.next(stats(2, doubled={"executed": 200, "execute_seconds": 0.002}), 1, ()).components[1]
    assert now.execute_seconds == pytest.approx(0.003)


def test_replicas_that_come_or_go_meanwhile_count_by_half() -> None:
    frames = Frames(shapes(blueprint()), 1)
    frames.next(stats(1, doubled={"active": 4}), 1, ())
    shown = frames.next(stats(2, doubled={"active": 2, "executed": 100, "execute_seconds": 0.015}), 1, ())
    assert shown.components[1].busy == pytest.approx(0.5)


def test_nobody_is_busier_than_all_of_the_time() -> None:
    shown = frame(doubled={"executed": 1, "execute_seconds": 60.0})
    assert shown.components[1].busy == 1.0


def test_components_come_in_topological_order_and_a_spout_is_never_busy() -> None:
    spout, bolt = frame().components
    assert (spout.name, spout.is_spout, spout.busy) == ("numbers", True, None)
    assert (bolt.name, bolt.is_spout, bolt.busy) == ("doubled", False, 0.0)


def test_rates_look_back_about_a_second() -> None:
    frames = Frames(shapes(blueprint()), 1)
    for quarter in range(9):
        last = frames.next(stats(quarter / 4, emitted_first=100 * max(0, quarter - 4)), 1, ())
    assert last.emitted_per_second == 400.0


def test_an_incomplete_snapshot_keeps_the_rates() -> None:
    frames = Frames(shapes(blueprint()), 2)
    frames.next(stats(1), 2, ())
    before = frames.next(stats(2, emitted_first=10), 2, ())
    shown = frames.next(stats(3, emitted_first=4, complete=False), 1, ())
    assert shown.emitted_per_second == before.emitted_per_second == 10.0
    assert (shown.complete, shown.workers, shown.workers_wanted) == (False, 1, 2)


def test_counters_that_go_back_with_a_dead_worker_give_no_negative_rate() -> None:
    frames = Frames(shapes(blueprint()), 1)
    frames.next(stats(1, emitted_first=10), 1, ())
    assert frames.next(stats(2, emitted_first=4), 1, ()).emitted_per_second == 0.0


def test_time_counts_from_the_first_frame() -> None:
    assert frame().seconds == 2.0


def test_latencies_and_backlog_are_none_until_they_are_known() -> None:
    assert (frame().latency_p50, frame().backlog) == (None, None)
    known = frame(complete_latency=Latency(1, 0.1, 0.2, 0.3, 0.4), numbers={"backlog": 7})
    assert (known.latency_mean, known.latency_p50, known.latency_p95, known.latency_p99, known.backlog) == (0.1, 0.2, 0.3, 0.4, 7)


def test_recent_latencies_stand_beside_those_of_the_whole_run() -> None:
    shown = frame(complete_latency=Latency(9, 1, 2, 3, 4), recent_latency=Latency(1, 0.1, 0.2, 0.3, 0.4))
    assert (shown.latency_p99, shown.recent_latency_p99) == (4, 0.4)
    assert (shown.recent_latency_mean, shown.recent_latency_p50, shown.recent_latency_p95) == (0.1, 0.2, 0.3)
    assert frame(complete_latency=Latency(9, 1, 2, 3, 4)).recent_latency_p99 is None


@pytest.mark.parametrize("seen", [{"acked": 1}, {"failed": 1}, {"pending": 1}])
def test_what_was_tracked_once_was_tracked(seen: dict[str, int]) -> None:
    frames = Frames(shapes(blueprint()), 1)
    assert not frames.next(stats(1, emitted_first=5), 1, ()).tracked
    assert frames.next(stats(2, emitted_first=5, **seen), 1, ()).tracked
    # its worker died, and took what was in flight along
    assert frames.next(stats(3, emitted_first=5), 1, ()).tracked


def test_the_last_error_is_its_component_and_last_line() -> None:
    assert frame([report("a"), report("Traceback:\n  x\nValueError: no\n")]).last_error == "doubled: ValueError: no"
    assert last_line(report("")) == "doubled: no text"
