"""The benchmark of forecasts: the split, the outcomes of one model on one series, and what is called a difference."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import forecasts
from benchmarks.forecasting.rolling import HORIZONS, WINDOW, Said, fitted, learning, outcomes, replayed
from benchmarks.forecasting.series import SeriesError, read, split
from benchmarks.forecasting.significance import ranking, unlike
from predictor_service.conformal import Track
from predictor_service.online import Naive
from predictor_service.registry import builtin_models

RAMP = [100.0 + step for step in range(760)]


def test_the_sides_are_disjoint_and_there_are_enough_for_reporting() -> None:
    rows: dict[str, list[tuple[int, int, str]]] = {}
    for side, names in split().items():
        for name in names:
            file, _, ends = name[:-1].partition("[")
            first, last = map(int, ends.split(":"))
            rows.setdefault(file, []).append((first, last, side))
    for taken in rows.values():
        taken.sort()
        assert all(one[1] <= other[0] for one, other in pairwise(taken))
    assert len(split()["reporting"]) >= 20


def test_a_series_is_rows_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,value\n0,5\n1,6\n2,7\n")
    (tmp_path / "b.csv").write_text("time|value\n0|5\n1|6\n")
    assert read(tmp_path, "a.csv[1:3]") == [6, 7]
    assert read(tmp_path, "b.csv[0:1]") == [5]
    with pytest.raises(SeriesError, match="has 1 of these 2 rows"):
        read(tmp_path, "a.csv[2:4]")
    with pytest.raises(SeriesError, match=r"no file .*c\.csv; give the folder"):
        read(tmp_path, "c.csv[0:1]")


def naive() -> Track:
    return Track(Naive(), HORIZONS)


def test_as_now_on_a_ramp_is_wrong_by_the_steps_ahead() -> None:
    said, _ = learning(naive)(RAMP, [WINDOW, WINDOW + 40])
    by_horizon = {one.horizon: one for one in outcomes("ramp", "naive", RAMP, said)}
    assert by_horizon[1].error == 1
    assert by_horizon[5].error == 3
    assert by_horizon[5].sum_error == 15
    assert by_horizon[5].wape == pytest.approx(15 / (5 * 722.0), rel=0.01)
    # it was wrong by the same each time, so that is what the quantiles say
    assert by_horizon[5].pinball == pytest.approx(0)
    assert by_horizon[5].covered == (1, 1, 1)


def test_along_the_series_by_windows_and_by_fits_as_now_is_the_same() -> None:
    every = 20
    origins = range(WINDOW, 700, every)
    along, by_windows = learning(naive)(RAMP, origins)[0], replayed(naive)(RAMP, origins)[0]
    by_fits = fitted(builtin_models()["naive"], every)(RAMP, origins)[0]
    assert {known: one.means for known, one in along.items()} == {known: one.means for known, one in by_windows.items()}
    for known in origins:
        assert by_fits[known].means == along[known].means
        assert by_fits[known].quantiles[60] == pytest.approx(along[known].quantiles[60])


def test_nothing_of_what_comes_is_known_to_a_forecast() -> None:
    other = [*RAMP[:WINDOW], *(0.0 for _ in RAMP[WINDOW:])]
    for name in ("ses", "ar", "auto"):
        model = builtin_models()[name]
        assert model.online is not None
        said = [learning(forecasts.tracks(model))(samples, [WINDOW])[0][WINDOW] for samples in (RAMP, other)]
        assert said[0] == said[1]


def test_a_model_that_is_always_better_is_told_from_chance_and_its_like_is_not() -> None:
    series = range(12)
    losses = {
        "good": [1.0 + place for place in series],
        "alike": [(1.0 + place) * (1.01 if place % 2 else 0.99) for place in series],
        "bad": [2.0 + 2 * place for place in series],
    }
    found = ranking(losses)
    assert found.ranks["bad"] == 3
    assert found.ranks["good"] == found.ranks["alike"] == 1.5
    assert found.chance < 0.001
    assert 0 < found.critical < 1.5
    against = unlike(losses, "good")
    assert against["bad"] < 0.01
    assert against["alike"] > 0.05


def test_the_report_has_every_model_and_says_whether_aims_are_reached() -> None:
    found = []
    for name, factor in (("naive", 1.2), ("ses", 1.1), ("auto", 1.05)):
        for series, level in (("a", 100.0), ("b", 300.0), ("c", 50.0)):
            said = {
                WINDOW: Said(
                    {h: [factor * level] * h for h in HORIZONS},
                    {h: [h * level * (0.7 + place / 10) for place in range(7)] for h in HORIZONS},
                )
            }
            found += outcomes(series, name, [level] * 700, said)
    text = forecasts.report(found, {"naive": 0.001, "ses": 0.002, "auto": 0.05})
    assert "0.250 (reached)" in text
    assert "-50.0% (`ses`)" in text
    assert "| `auto`" in text


def test_without_a_folder_or_with_a_wrong_name_it_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PASPS_TRACES", raising=False)
    assert forecasts.main([]) == 2
    assert "give it with --data or in PASPS_TRACES" in capsys.readouterr().err
    assert forecasts.main(["--data", str(tmp_path), "--models", "sess"]) == 2
    assert "no model 'sess'; there are auto" in capsys.readouterr().err
