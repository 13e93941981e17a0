"""Curves of policies, and what is read off them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import fronts
from benchmarks.forecasting.series import split
from benchmarks.fronts import (
    CASES,
    MEAN,
    SUBJECTS,
    Case,
    Found,
    against_who_knows,
    arrivals_of,
    errors_of,
    ratios,
    runs_of,
    saved_more,
)
from pasps.control.policies import policy_named
from pasps.report.decided import Ahead
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.run import Order, simulate


def found(case: str, line: str, aim: float, saved: float, mean: float) -> Found:
    return Found(case, line, aim, saved, mean, mean, 2 * mean, 10, 1.0, None, None, 0.0, 0.0)


def test_only_what_nobody_developed_on_is_reported() -> None:
    assert {case.series for case in CASES} <= set(split()["reporting"])


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_run_is_one_that_its_policy_takes(case: Case) -> None:
    shape = SUBJECTS[case.subject]().shape
    for run in runs_of(case):
        options = {name: value for name, value in run.options.items() if name != "replicas"}
        policy_named(run.policy).configured(run.settings, options, shape)


def test_the_highest_row_needs_nearly_the_whole_pool_of_the_costliest_bolt(tmp_path: Path) -> None:
    case = CASES[0]
    file, rows = case.series.split("[")
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text("time,value\n" + "".join(f"{row},{row % 50}\n" for row in range(int(rows[:-1].split(":")[1]))))
    graph = SUBJECTS["twitter_complex"]()
    arrivals = arrivals_of(tmp_path, case, graph)
    busiest = max(arrivals.peak_rate * graph.visits()[bolt.id] * bolt.et_seconds / bolt.pool for bolt in graph.bolts)
    assert busiest == pytest.approx(0.9, abs=0.01)


def test_errors_are_of_sums_over_a_stretch_and_naive_is_the_stretch_before() -> None:
    arrivals = Arrivals((10,) * 5 + (20,) * 5 + (40,) * 5)
    wape, mase = errors_of([Ahead(5.0, 5.0, 80.0, ()), Ahead(10.0, 5.0, 150.0, ())], arrivals)
    assert wape == pytest.approx((20 + 50) / (100 + 200))
    assert mase == pytest.approx((20 + 50) / (50 + 100))


def test_a_stretch_that_nobody_can_judge_is_not() -> None:
    assert errors_of([Ahead(0.0, 5.0, 1.0, ()), Ahead(8.0, 5.0, 1.0, ())], Arrivals((10,) * 10)) == (None, None)


def test_a_static_pool_is_short_where_more_comes_than_it_carries_and_idle_where_less() -> None:
    graph = SUBJECTS["line"]()
    arrivals = Arrivals((30,) * 20 + (290,) * 20)  # one replica of each bolt, and six of each
    result = simulate(graph, arrivals, Order("static", benchmark=dict.fromkeys(("bolt1", "bolt2", "bolt3", "bolt4"), 0.02)))
    assert against_who_knows(graph, arrivals, result) == pytest.approx((20 * 2 / (20 * 7), 20 * 3 / (20 * 7)))


def test_a_line_is_judged_where_it_saves_as_much() -> None:
    told = [found("a", "ours", 1, 0.4, 0.1), found("a", "ours", 2, 0.6, 0.3)]
    told += [found("a", "theirs", 1, 0.5, 0.1), found("a", "theirs", 2, 0.7, 0.1)]
    assert ratios(told, "ours", "theirs", MEAN) == [pytest.approx(2.0)]
    assert saved_more(told, "ours", "theirs", MEAN) == pytest.approx([-0.1, -0.3])


def test_what_was_kept_is_told_again_and_an_unknown_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    run = {"case": CASES[0].name, "line": "static 4", "aim": 4.0, "saved": 0.5, "mean": 0.1, "p95": 0.1, "p99": 0.2, "changes": 0}
    run |= {"processed": 1.0, "wape": None, "mase": None, "short": 0.1, "idle": 0.2, "kept": None}
    kept.write_text(json.dumps({"runs": [run]}))
    assert fronts.main(["--report", str(kept), "--figure", str(tmp_path / "f.png")]) == 0
    assert "50.0%, 100, 200, 0" in capsys.readouterr().out
    assert (tmp_path / "f.png").stat().st_size > 1000
    assert fronts.main(["--data", str(tmp_path / "nowhere"), "--work", str(tmp_path / "w"), "--quick", "--processes", "1"]) == 2
    assert "there is no file" in capsys.readouterr().err
