from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.cli.jobs.traces_build import add_traces_build, are_few, summary_text, traces_build
from pasps.data.build_totals import KeySummary, Summary
from pasps.data.record_formats import FORMATS
from pasps.errors import InvalidError

NOTHING = Summary("/out", "hdfs", ("x",), "UTC", 0, 0, {}, 0, 0, 0, None, None, 0, 1.0, 0, None, 0.0)
FULL = replace(
    NOTHING,
    records=2010,
    counted=2000,
    bad={"no time found": 7, "time unreadable": 2},
    outside=1,
    first="2024-02-29T00:00:00Z",
    last="2024-02-29T00:09:59Z",
    steps=600,
    peak=9,
    peak_time="2024-02-29T00:01:00Z",
    mean=3.333,
    keys={"INFO": KeySummary("INFO.csv", 2000, 9)},
)


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_traces_build(parser)
    return parser.parse_args(["x", "--out", "out", *words])


def test_small_files_of_this_machine_are_few_records(tmp_path: Path) -> None:
    small, large = tmp_path / "some" / "deep" / "small.csv", tmp_path / "large.csv"
    small.parent.mkdir(parents=True)
    small.write_text("time\n")
    with large.open("wb") as file:
        file.truncate(2**25 + 1)
    assert are_few([str(small), str(tmp_path / "some")])
    assert not are_few([str(small), str(large)])
    assert not are_few([str(tmp_path)])
    assert not are_few(["gs://bucket/logs"])
    assert not are_few([str(tmp_path / "*.csv")])


def test_long_steps_are_told_in_their_unit() -> None:
    assert "steps    600 of 1 h" in summary_text(replace(FULL, step_seconds=3600.0))


def test_a_summary_says_what_was_found() -> None:
    assert summary_text(FULL).splitlines() == [
        "trace    /out/trace.csv and trace.parquet",
        "records  2,000 counted of 2,010",
        "bad      9: 7 no time found, 2 time unreadable; they are in /out/bad",
        "outside  1 before --from or not before --until",
        "time     2024-02-29T00:00:00Z to 2024-02-29T00:09:59Z",
        "steps    600 of 1 s",
        "count    3.3 per step, at most 9 at 2024-02-29T00:01:00Z",
        "keys     1, in /out/by-key",
    ]


def test_a_summary_of_nothing_is_short() -> None:
    assert summary_text(NOTHING).splitlines() == ["trace    /out/trace.csv and trace.parquet", "records  0 counted of 0"]


def test_help_names_every_format_and_key() -> None:
    parser = argparse.ArgumentParser()
    add_traces_build(parser)
    shown = parser.format_help()
    for known in FORMATS.values():
        assert f"\n  {known.name} " in shown
        assert all(key in shown for key in known.keys)


def test_what_cannot_be_is_refused_before_spark_starts() -> None:
    with pytest.raises(InvalidError, match="step: expected"):
        traces_build(parsed("--format", "hdfs", "--step", "1"))
    with pytest.raises(InvalidError, match="give --time-column"):
        traces_build(parsed("--format", "csv"))


@pytest.mark.parametrize(
    "words", ["--format nope", "--format openssh --year 15th", "--format hdfs --most-bad 2", "--format hdfs --most-keys 0"]
)
def test_a_wrong_option_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(*words.split())
    assert "error: argument" in capsys.readouterr().err
