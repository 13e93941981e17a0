"""What is read off the curves of saved capacity against waiting, and what a forecast may know."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks import lead_time
from benchmarks.lead_time import AUTO, NAIVE, Found, Said, gain, said_by, saved_at
from pasps.control.forecaster import NONE
from pasps.simulation.forecasters import CLAIRVOYANT
from predictor_service.registry import builtin_models


def found(model: str, saved: float, waited: float, series: str = "a", lead: float = 30.0) -> Found:
    return Found(series, model, lead, saved, saved, waited, 2 * waited, 1.0)


def curve(model: str, saved: float, series: str = "a") -> list[Found]:
    """Waits 0.3 s where it saves that much."""
    return [found(model, saved - 0.1, 0.1, series), found(model, saved + 0.1, 0.5, series)]


def test_what_is_saved_at_a_wait_lies_on_the_line_between_two_targets_and_not_beyond_them() -> None:
    runs = [found(AUTO, 0.2, 0.1), found(AUTO, 0.4, 0.3), found(AUTO, 0.5, 0.9)]
    assert saved_at(runs, 0.2) == pytest.approx(0.3)
    assert saved_at(runs, 0.6) == pytest.approx(0.45)
    assert saved_at(runs, 0.05) is None
    assert saved_at(runs, 1.0) is None


def test_a_part_of_the_gain_is_over_the_series_on_which_all_can_be_told() -> None:
    runs = curve(NAIVE, 0.3) + curve(AUTO, 0.35) + curve(CLAIRVOYANT, 0.4)
    runs += curve(NAIVE, 0.2, "b") + curve(AUTO, 0.2, "b") + curve(CLAIRVOYANT, 0.3, "b")
    runs += [*curve(NAIVE, 0.2, "c"), found(AUTO, 0.1, 2.0, "c"), *curve(CLAIRVOYANT, 0.3, "c")]
    assert gain(runs, AUTO, 30.0, 0.3) == pytest.approx(0.25)
    assert gain(runs, AUTO, 60.0, 0.3) is None


def test_of_next_to_nothing_no_part_is_told() -> None:
    runs = curve(NAIVE, 0.3) + curve(AUTO, 0.302) + curve(CLAIRVOYANT, 0.304)
    assert gain(runs, AUTO, 30.0, 0.3) is None


@pytest.mark.parametrize("name", ["naive", "holt", "lr"])
def test_a_forecast_knows_what_has_come_and_nothing_else(name: str) -> None:
    past = [float(second % 7) for second in range(40)]
    model = builtin_models()[name]
    one, other = said_by(model, [*past, *[0.0] * 20]), said_by(model, [*past, *[99.0] * 20])
    known = [second for second in one if second <= 40]
    assert known
    assert all(one[second] == other[second] for second in known)


def test_between_two_forecasts_the_last_one_goes_on() -> None:
    said = Said("lr", {10: (1.0,), 20: (2.0,)})
    assert asyncio.run(said.forecast((), 1.0, 9.9)) is None
    newest = asyncio.run(said.forecast((), 1.0, 19.5))
    assert newest is not None
    assert (newest.made_at, newest.predictions) == (10.0, (1.0,))


def test_what_was_kept_is_told_and_drawn_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    runs = [
        {"series": "a", "model": model, "lead": 30.0, "aim": aim, "saved": 0.5 * aim, "waited": aim - 0.4, "p99": 1.0, "done": 1.0}
        for model in (NONE, NAIVE, AUTO, CLAIRVOYANT)
        for aim in lead_time.TARGETS
    ]
    kept.write_text(json.dumps({"runs": runs}))
    assert lead_time.main(["--report", str(kept), "--figure", str(tmp_path / "f.png")]) == 0
    assert "0.350 (1)" in capsys.readouterr().out
    assert (tmp_path / "f.png").stat().st_size > 1000


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lead_time.main(["--data", str(tmp_path / "nowhere"), "--quick", "--models", "none", "--processes", "1"]) == 2
    assert "there is no file" in capsys.readouterr().err
