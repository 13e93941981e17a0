"""The benchmark of BGElasor's Table 1: parts in days, trainings that are kept, and what is said of the means."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from benchmarks import bgelasor
from benchmarks.bgelasor import MODELS, NETWORKS, PAPER, LoadError, Outcome, kept, main, plans, read, table_one, tuned, verdict
from predictor_service.trained.learning import Course
from predictor_service.trained.training import Plan

SMALL = Plan("gru", window=4, horizon=2, units=2, course=Course(epochs=1))


def write_load(folder: Path, name: str = "periodic", days: int = 60, each_hours: int = 2) -> None:
    first = datetime(2019, 3, 8)
    times = [first + timedelta(hours=hour) for hour in range(0, 24 * days, each_hours)]
    rows = [f"{time},{100 + hour * 7 % 12}" for hour, time in enumerate(times)]
    (folder / f"bgelasor_{name}.csv").write_text("\n".join(["datetime,statistics", *rows]) + "\n")


def test_a_load_is_parted_after_40_and_50_days(tmp_path: Path) -> None:
    write_load(tmp_path, days=61)
    load = read(tmp_path, "periodic")
    assert (load.parts, load.step_seconds, len(load.rows)) == ((480, 120, 132), 7200.0, 732)


@pytest.mark.parametrize("text", [None, "", "a,b\n1,2\n", "datetime,statistics\n2019-03-08 00:00:00\n"])
def test_a_load_that_cannot_be_read_is_named(text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if text is not None:
        (tmp_path / "bgelasor_fluctuate.csv").write_text(text)
    with pytest.raises(LoadError, match=r"bgelasor_fluctuate.csv: expected the load 'fluctuating'"):
        read(tmp_path, "fluctuating")
    assert main(["--data", str(tmp_path), "--loads", "fluctuating"]) == 2
    assert "give its folder with --data" in capsys.readouterr().err


def test_what_is_random_is_repeated_and_the_rest_is_not() -> None:
    assert [(plan.model, plan.seed) for plan in plans(["arima", "svr", "gru"], 3, SMALL)] == [
        ("arima", 1),
        ("svr", 1),
        ("gru", 1),
        ("gru", 2),
        ("gru", 3),
    ]


def test_all_networks_are_tuned_alike() -> None:
    found = tuned(SMALL, 1)
    settings = {(plan.model, plan.units, plan.layers, plan.course.learning_rate) for plan in found}
    assert len(found) == len(settings) == 8 * len(NETWORKS)


def test_a_training_is_kept_and_another_plan_is_another_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_load(tmp_path)
    made = kept(tmp_path, tmp_path, ("periodic", SMALL))
    assert made.test["z_rmse"] > 0
    monkeypatch.setattr(bgelasor, "trained", lambda load, plan: pytest.fail("trained again"))
    assert kept(tmp_path, tmp_path, ("periodic", SMALL)) == made
    with pytest.raises(pytest.fail.Exception):
        kept(tmp_path, tmp_path, ("periodic", Plan("gru", window=5, horizon=2, units=2, course=Course(epochs=1))))


def outcome(model: str, error: float, seed: int = 1, load: str = "periodic") -> Outcome:
    errors = {"rmse": error / 4, "mae": error / 5, "z_rmse": error, "z_mae": error / 2}
    return Outcome(load, model, seed, errors, errors, errors, 0.5, 3, 1.0, 1.0)


def test_the_table_has_means_over_the_seeds_on_all_scales_beside_the_papers() -> None:
    lines = table_one("periodic", [outcome("bigru", 0.4), outcome("bigru", 0.6, seed=2), outcome("arima", 1.0)]).splitlines()
    cells = [cell.strip() for cell in next(line for line in lines if "bigru" in line).split("|")]
    assert cells[2:10] == ["0.490", "0.341", "0.500 ± 0.141", "0.250", "0.250", "0.125", "0.1250", "0.1000"]
    assert "lstm" not in "".join(lines)
    assert lines[-1].startswith("| as now ")


@pytest.mark.parametrize(("bigru", "said"), [((0.4, 0.5), "reached"), ((0.4, 0.7), "missed")])
def test_the_aim_is_judged_by_means(bigru: tuple[float, float], said: str) -> None:
    found = [outcome("bigru", error, seed) for seed, error in enumerate(bigru, 1)]
    found += [outcome("gru", 0.5), outcome("lstm", 0.6)]
    assert verdict(found).startswith(f"- periodic: BiGRU better than GRU and LSTM: {said} (")
    assert verdict([outcome("bigru", 0.4)]) == ""


def test_the_papers_table_has_all_six_on_both_loads() -> None:
    assert {load: tuple(rows) for load, rows in PAPER.items()} == {"periodic": MODELS, "fluctuating": MODELS}
