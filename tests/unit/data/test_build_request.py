from __future__ import annotations

from dataclasses import replace

import pytest

from pasps.data.build_request import BuildRequest, check
from pasps.data.record_formats import FORMATS, Records
from pasps.errors import InvalidError

HDFS = Records(("x",), "hdfs")
CSV = Records(("x",), "csv", "time")


def test_each_format_can_be_asked_for() -> None:
    for name in FORMATS:
        column = "t" if name in ("csv", "jsonl", "parquet") else None
        check(BuildRequest(Records(("x",), name, column, pattern="(?<time>.)" if name == "regex" else None), "out"))


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (replace(HDFS, format="nope"), "--format: expected one of csv, jsonl"),
        (replace(HDFS, paths=()), "paths: expected files"),
        (replace(HDFS, time_column="x"), "--time-column: records of format hdfs have no use for it"),
        (replace(HDFS, time_format="iso"), "--time-format: records of format hdfs"),
        (replace(HDFS, pattern="x"), "--pattern: records of format hdfs"),
        (replace(HDFS, year=2015), "--year: records of format hdfs"),
        (replace(HDFS, delimiter=";"), "--delimiter: records of format hdfs"),
        (replace(HDFS, header=False), "--no-header: records of format hdfs"),
        (replace(CSV, time_column=None), "format csv needs to know where the time is: give --time-column"),
        (
            replace(CSV, time_format="yyyy-MM-dd HH:mm[.SSS][XXX]", time_zone="Europe/Berlin"),
            r"'yyyy-MM-dd HH:mm\[\.SSS\]\[XXX\]': times without its optional zone would not be read in --time-zone 'Europe/Berlin'",
        ),
        (replace(CSV, time_format="yyyy-MM-dd HH:mm[:ss[.SSS]XXX]", time_zone="Europe/Berlin"), "times without its optional zone"),
        (replace(CSV, delimiter=";;"), "--delimiter: expected one character, such as ';' or a tab, got ';;'"),
        (replace(CSV, delimiter='"'), "--delimiter: expected one character"),
        (replace(CSV, delimiter="§"), "--delimiter: expected one character"),
        (Records(("x",), "regex"), "format regex needs a --pattern"),
    ],
)
def test_what_does_not_fit_is_refused(records: Records, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        check(BuildRequest(records, "out"))


def test_an_optional_zone_is_taken_where_times_without_one_are_in_utc() -> None:
    check(BuildRequest(replace(CSV, time_format="yyyy-MM-dd HH:mm[XXX]"), "out"))
    check(BuildRequest(replace(CSV, time_format="yyyy-MM-dd'[X]' HH:mm[.SSS]", time_zone="Europe/Berlin"), "out"))


def test_a_step_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidError, match="step: expected"):
        check(BuildRequest(HDFS, "out", "1"))
