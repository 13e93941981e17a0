"""Runs are made one after the other, or some beside each other, and an interruption ends all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Barrier

import pytest

from benchmarks.elasticity.comparison import Comparison, Turn
from benchmarks.elasticity.making import Job, make, seconds_for, span
from benchmarks.elasticity.outcomes import Numbers, Result
from benchmarks.elasticity.plans import RunPlan, Setup
from benchmarks.elasticity.traces import Prepared

NUMBERS = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, 0.1, None, 0, 0, 0, 10, 12, 900.0, 0.4)
PREPARED = Prepared("wc", 7, 1.0, 2.0, (10, 20, 30))
NAMES = ("a", "b", "c")


class Quick(Comparison):
    """Makes nothing: says what would have come of it."""

    def make(self, turn: Turn, progress: Callable[[float], None], stopped: Callable[[], bool] = lambda: False) -> Result:
        progress(1.0)
        problem = "exit code 1" if turn.name == "b" else ""
        return Result(turn.name, "", {}, {}, "", 1.0, 0, None if problem else NUMBERS, problem)


def jobs(comparison: type[Comparison], tmp_path: Path) -> list[Job]:
    return [Job(comparison(PREPARED, Setup(), tmp_path), Turn(RunPlan(name, "", {}), 0)) for name in NAMES]


@pytest.mark.parametrize("beside", [1, 2, 3])
def test_results_come_in_order_and_a_failed_run_does_not_end_the_others(
    beside: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = make(jobs(Quick, tmp_path), beside)
    assert [(each.name, each.problem) for each in found] == [("a", ""), ("b", "exit code 1"), ("c", "")]
    told = capsys.readouterr().err
    assert "[2/3] b: FAILED, exit code 1" in told
    assert "[3/3] c: saved 50.0%, mean latency 100 ms" in told


def test_nothing_to_make_is_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert make([], 4) == []
    assert capsys.readouterr().err == ""


def test_an_interruption_stops_those_that_run_beside(tmp_path: Path) -> None:
    together, ended = Barrier(2), list[str]()

    class Interrupted(Comparison):
        def make(self, turn: Turn, progress: Callable[[float], None], stopped: Callable[[], bool] = lambda: False) -> Result:
            together.wait(10)
            if turn.name == "a":
                raise KeyboardInterrupt
            while not stopped():
                pass
            ended.append(turn.name)
            return Result(turn.name, "", {}, {}, "", 1.0, None, None, "was stopped")

    with pytest.raises(KeyboardInterrupt):
        make(jobs(Interrupted, tmp_path)[:2], 2)
    assert ended == ["b"]


def test_what_is_left_is_told_by_how_many_run_at_a_time(tmp_path: Path) -> None:
    three = jobs(Quick, tmp_path)
    assert seconds_for(three) == 3 * seconds_for(three[:1]) > 9
    assert seconds_for(three, 2) == 2 * seconds_for(three[:1])
    assert seconds_for([], 2) == 0
    assert [span(80), span(600), span(7260)] == ["80 s", "10 min", "2 h 1 min"]
