"""What is said of a trace, against numbers that are known."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.cli.jobs.traces_describe import lines_of
from pasps.data.arrays import Floats, np
from pasps.data.describe import Description, burstiness_of, describe
from pasps.data.describe_job import describe_here, description_object, needs_spark, picture_names
from pasps.data.series import series_of
from pasps.data.trace_output import trace_lines, write_lines
from pasps.spouts.synth import Traffic, rates
from tests.unit.data.traces import STEP, spiky


def described(counts: list[float] | Floats, step: int = STEP) -> Description:
    return describe(series_of("x.csv", [place * step for place in range(len(counts))], counts))


def test_the_rates_of_a_trace() -> None:
    found = described([0.0, 10.0, 20.0, 0.0, 70.0])
    assert (found.rows, found.step_seconds, found.total, found.mean, found.median) == (5, 60.0, 100.0, 20.0, 10.0)
    assert (found.least, found.peak, found.peak_time, found.zeros, found.gaps) == (0.0, 70.0, 4 * STEP, 0.4, 0)
    assert found.burstiness.peak_to_mean == 3.5
    assert found.burstiness.dispersion == pytest.approx(34.0)


@pytest.mark.parametrize("counts", [[7.0], [0.0], [7.0] * 50, [0.0] * 50, [1.0, 2.0]])
def test_traces_of_which_there_is_little_to_say(counts: list[float]) -> None:
    found = described(counts)
    assert (found.periods, found.spikes, found.burstiness.hurst) == ([], [], None)
    assert "none found" in "\n".join(lines_of(found))
    assert json.dumps(description_object(found), allow_nan=False)


def test_a_poisson_process_has_a_dispersion_of_one_at_every_window() -> None:
    found = burstiness_of(np.random.default_rng(1).poisson(50, 100_000).astype(float), 1.0)
    assert found.dispersion == pytest.approx(1.0, abs=0.03)
    seconds = [window for window, _ in found.fano]
    assert seconds[:7] == [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    assert seconds[-1] == 10_000.0
    assert [value for window, value in found.fano if window <= 500] == pytest.approx([1.0] * 9, abs=0.25)
    assert found.correlation == pytest.approx(0.0, abs=0.02)
    assert found.hurst == pytest.approx(0.5, abs=0.05)


def test_what_lasts_has_a_larger_hurst() -> None:
    generator = np.random.default_rng(2)
    # switches that stay on and off for times of a heavy tail, many of them: H = (3 - 1.4) / 2
    counts = np.zeros(1 << 15)
    for _ in range(60):
        ends = np.cumsum(generator.pareto(1.4, 20_000) + 1).astype(int)
        on = np.zeros(len(counts) + 1)
        np.add.at(on, ends[ends < len(counts)], (-1.0) ** np.arange(int((ends < len(counts)).sum())))
        counts += np.cumsum(on[:-1])
    found = burstiness_of(counts, 1.0).hurst
    assert found is not None
    assert 0.65 < found < 0.95


def test_a_hurst_of_a_periodic_or_short_trace_is_not_told() -> None:
    assert burstiness_of(np.random.default_rng(1).poisson(50, 400).astype(float), 1.0).hurst is None
    days = described(np.array(rates(Traffic("diurnal", steps=2016, period=288)), dtype=float))
    assert days.periods
    assert days.burstiness.hurst is None


def test_days_are_no_spikes() -> None:
    counts = np.array(rates(Traffic("diurnal", steps=2016, period=288, mean=500)), dtype=float)
    counts[1000:1010] += 3000.0
    (found,) = described(counts).spikes
    assert found.spike.onset == pytest.approx(1000, abs=5)
    assert found.time == found.spike.onset * STEP


def test_gaps_are_counted_and_do_not_shift_what_follows() -> None:
    day = 96
    at = np.arange(day * 10)
    kept = at[(at < 400) | (at >= 437)]
    counts = 500 * (1.2 + np.sin(2 * np.pi * kept / day))
    found = describe(series_of("gap", kept * STEP, counts))
    assert found.gaps == 1
    assert [round(period.rows) for period in found.periods] == [day]


def test_what_a_picture_needs_is_bounded() -> None:
    picture = described(np.random.default_rng(1).poisson(9, 50_000).astype(float)).picture
    assert len(picture.seconds) == len(picture.low) == len(picture.mean) == len(picture.high) == 1000
    assert sum(picture.bars) == 50_000
    assert len(picture.edges) == len(picture.bars) + 1
    assert len(picture.lags) == len(picture.correlations) <= 240
    assert all(low <= mean <= high for low, mean, high in zip(picture.low, picture.mean, picture.high, strict=True))


def test_a_description_travels() -> None:
    found = describe(spiky(1))
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_table_says_all_of_it() -> None:
    text = "\n".join(lines_of(describe(spiky(1))))
    for part in (
        "3,000 of 1 min, 1970-01-01T00:00:00Z to 1970-01-03T01:59:00Z",
        "899,999",
        "mean 300",
        "index of dispersion",
        "1 min ",
        " up, ",
    ):
        assert part in text, text
    assert text.count("1970-01-0") >= 12  # the ten largest spikes
    periodic = "\n".join(lines_of(described(np.array(rates(Traffic("diurnal", steps=2016, period=288)), dtype=float), 5 * STEP)))
    assert "period      1 d (autocorrelation 0.9" in periodic.replace("23 h 59 min", "1 d")


def test_json_has_the_spikes_with_their_characteristics() -> None:
    found = describe(spiky(1))
    made = description_object(found)
    assert len(made["spikes"]) == len(found.spikes) > 20
    first, spike = made["spikes"][0], found.spikes[0].spike
    assert (first["row"], first["duration_seconds"]) == (spike.onset, spike.rows * 60.0)
    assert first["direction"] == ("up" if spike.up else "down")
    assert "picture" not in made


def test_pictures_have_different_names() -> None:
    base = described([1.0, 2.0])
    names = ["/a/x.csv", "/b/x.csv", "rates/by-key.parquet[a b/c]", "gs://b/trace.parquet", "x.csv.gz", "..."]
    expected = ["x.png", "x-2.png", "by-key-a-b-c.png", "trace.png", "x.gz.png", "trace-2.png"]
    assert picture_names([replace(base, name=name) for name in names]) == expected


def test_small_files_of_this_machine_need_no_spark(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_lines(path, trace_lines([1, 2, 3], 0, STEP))
    assert not needs_spark([str(path)])
    assert needs_spark([str(path), "gs://bucket/x.csv"])
    assert needs_spark([str(tmp_path)])
    (found,) = describe_here([str(path)])
    assert found.total == 6
