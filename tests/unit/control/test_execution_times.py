"""et_i: the larger of benchmark and live mean, the last known, and what a busy machine measures."""

from __future__ import annotations

import pytest

from pasps.control.execution_times import execution_times
from pasps.control.situation import Estimates, ExecutionTime, Interval
from tests.unit.control.situations import did, due, interval


def of(processed: int, et: float = 0.0, active: int = 1, busy: float | None = None) -> Interval:
    return interval({"s": due(processed)}, {"a": did(processed, et, active=active)}, busy=busy)


def learned(before: Estimates, now: Interval, benchmark: float | None = None) -> Estimates:
    times, active = execution_times(now, before, {} if benchmark is None else {"a": benchmark})
    return Estimates(execution=times, active=active)


def course(*intervals: Interval, benchmark: float | None = None) -> ExecutionTime:
    """et of `a` after these intervals."""
    estimates = Estimates()
    for now in intervals:
        estimates = learned(estimates, now, benchmark)
    return estimates.execution["a"]


def test_the_larger_of_benchmark_and_live_mean_is_used() -> None:
    assert course(of(10, 0.3), benchmark=0.2) == ExecutionTime(pytest.approx(0.3), "live")
    assert course(of(10, 0.1), benchmark=0.2) == ExecutionTime(0.2, "file")
    assert course(of(10, 0.1)) == ExecutionTime(pytest.approx(0.1), "live")


def test_the_live_mean_is_that_of_the_last_interval() -> None:
    assert course(of(10, 0.3), of(10, 0.1)).seconds == pytest.approx(0.1)
    assert course(of(10, 0.3), of(10, 0.1), benchmark=0.2) == ExecutionTime(0.2, "file")


def test_when_nothing_ran_the_last_known_is_kept_and_the_benchmark_before_that() -> None:
    assert course(of(0)) == ExecutionTime(None, "unknown")
    assert course(of(0), benchmark=0.2) == ExecutionTime(0.2, "file")
    assert course(of(0), of(0), benchmark=0.2) == ExecutionTime(0.2, "file")
    assert course(of(10, 0.3), of(0), of(0)) == ExecutionTime(pytest.approx(0.3), "last", "nothing was executed")
    assert course(of(10, 0.3), of(0), benchmark=0.2).source == "last"


def test_a_rise_with_the_replicas_on_busy_cores_is_not_chased_and_said() -> None:
    found = course(of(10, 0.1, active=2, busy=0.5), of(10, 0.2, active=4, busy=0.95))
    assert (found.seconds, found.source) == (pytest.approx(0.1), "last")
    assert found.note == (
        "oversubscribed: 0.2 s with 4 active replicas of all bolts, 0.1 s with 2, while the cores were 95% busy; the smaller one is kept"
    )


@pytest.mark.parametrize(
    "then",
    [
        of(10, 0.2, active=4, busy=0.5),
        of(10, 0.2, active=4, busy=None),
        of(10, 0.2, active=2, busy=0.95),
        of(10, 0.2, active=1, busy=0.95),
    ],
)
def test_a_rise_on_cores_with_room_or_with_no_more_replicas_is_the_events_own(then: Interval) -> None:
    assert course(of(10, 0.1, active=2, busy=0.5), then) == ExecutionTime(pytest.approx(0.2), "live")


def test_what_was_not_chased_is_accepted_once_the_cores_have_room_or_the_replicas_are_fewer_again() -> None:
    before = [of(10, 0.1, active=2, busy=0.5), of(10, 0.2, active=4, busy=0.95), of(10, 0.2, active=4, busy=0.95)]
    assert course(*before).seconds == pytest.approx(0.1)
    assert course(*before, of(10, 0.2, active=4, busy=0.6)).seconds == pytest.approx(0.2)
    assert course(*before, of(10, 0.2, active=2, busy=0.95)).seconds == pytest.approx(0.2)


def test_what_creeps_up_on_busy_cores_is_not_chased_either() -> None:
    """Corrections look at windows that overlap, in which a rise comes a few percent at a time."""
    creeping = [of(100, 0.1 * 1.03**second, active=4, busy=0.95) for second in range(40)]
    found = course(of(10, 0.1, active=2, busy=0.5), *creeping)
    assert found.seconds == pytest.approx(0.1)
    assert found.note.startswith("oversubscribed")


def test_a_fall_is_believed_on_busy_cores_too() -> None:
    found = course(of(10, 0.1, active=2, busy=0.5), of(10, 0.05, active=4, busy=0.95))
    assert found == ExecutionTime(pytest.approx(0.05), "live")


def test_a_benchmark_is_not_chased_above_by_a_busy_machine() -> None:
    found = course(of(10, 0.1, active=2, busy=0.5), of(10, 0.4, active=4, busy=0.95), benchmark=0.2)
    assert (found.seconds, found.source) == (0.2, "file")
    assert found.note.startswith("oversubscribed")


@pytest.mark.parametrize("benchmark", [None, 0.01, 0.5])
def test_of_a_bolt_that_blocks_its_workers_the_cure_is_said(benchmark: float | None) -> None:
    blocking = interval({"s": due(10)}, {"a": did(10, 0.05, blocks=True)})
    assert 'give it execution = "thread"' in course(blocking, benchmark=benchmark).note
    assert not course(blocking, of(10, 0.001)).note
