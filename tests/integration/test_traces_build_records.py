"""What becomes of each record, in Spark, against a count in plain Python."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pasps.data.build_count import Opened, Span, counts, opened
from pasps.data.record_formats import Records
from pasps.data.record_source import Kind
from pasps.data.steps import END_MICROS, FIRST_MICROS, first_whole_start
from pasps.errors import BrokenError, InvalidError
from tests.integration.spark_fixture import spark
from tests.integration.trace_case import Case, moment
from tests.integration.trace_cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["spark"]

LOGS = Path(__file__).parents[3] / "shared" / "data" / "logs"
SECOND = 1_000_000
Found = Counter[tuple[Kind, int | None]]


def counted(records: Opened, step: int = SECOND, span: Span | None = None) -> Found:
    rows = counts(records, step, span or Span()).collect()
    return Counter({(Kind(row["kind"]), row["start"]): row["count"] for row in rows})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_record_is_counted_as_python_counts_it(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    start, until = (moment(time, "UTC") for time in case.span) if case.span else (FIRST_MICROS, END_MICROS)
    span = Span(start, until, first_whole_start(case.step))
    assert counted(opened(spark, case.write(tmp_path)), case.step, span) == case.expected()


def test_files_of_csv_with_other_columns_are_refused_and_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a 1.csv").write_text("time,seen,u\n2024-02-29,2020-01-01,x\n")
    (tmp_path / "b.csv").write_text("seen,time,u\n2020-01-01,2024-02-29,y\n")
    with pytest.raises(InvalidError) as refused:
        opened(spark, Records((str(tmp_path),), "csv", "time"))
    assert f"the first line of {tmp_path}/a 1.csv has the columns time, seen, u, and that of {tmp_path}/b.csv" in str(refused.value)
    (tmp_path / "b.csv").unlink()
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"time,seen,u\n")[:12])
    with pytest.raises(BrokenError, match=r"/cut\.csv\.gz cannot be read: Unexpected end of input stream; check the file"):
        opened(spark, Records((str(tmp_path),), "csv", "time"))


LOCAL = st.datetimes(datetime(2023, 1, 1), datetime(2025, 1, 1))
WRITTEN = st.sampled_from(["seconds", "milliseconds", "microseconds"])
ZONE = st.sampled_from(["", "Z", "+00:00", "-03:30", "+14:00"])


@given(st.lists(st.tuples(LOCAL, WRITTEN, ZONE), min_size=150, max_size=300), st.sampled_from(["America/New_York", "Australia/Lord_Howe"]))
@settings(max_examples=3, suppress_health_check=list(HealthCheck))
def test_any_times_in_any_order_are_counted_as_python_counts_them(
    spark: SparkSession, times: list[tuple[datetime, str, str]], zone: str
) -> None:
    lines = [time.isoformat(timespec=digits) + own for time, digits, own in times]
    case = Case(
        "any", [(line, line) for line in lines], {"format": "csv", "time_column": "1", "header": False, "time_zone": zone}, 3_600_000_000
    )
    with TemporaryDirectory() as directory:
        assert counted(opened(spark, case.write(Path(directory))), case.step) == case.expected()


def plain(path: Path, pattern: str, cut: slice) -> Found:
    """The lines of a log by their second; every one must have a time."""
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    return Counter((Kind.COUNTED, moment(datetime.strptime(line[cut], pattern).isoformat(), "UTC")) for line in lines)


@pytest.mark.skipif(not LOGS.is_dir(), reason="no real logs in ../shared/data/logs")
@pytest.mark.parametrize(
    ("name", "form", "pattern", "cut"),
    [
        ("HDFS", "hdfs", "%y%m%d %H%M%S", slice(0, 13)),
        ("Spark", "spark", "%y/%m/%d %H:%M:%S", slice(0, 17)),
        ("Apache", "apache", "[%a %b %d %H:%M:%S %Y]", slice(0, 26)),
        ("OpenSSH", "openssh", "%b %d %H:%M:%S", slice(0, 15)),
    ],
)
def test_real_logs_have_as_many_lines_each_second_as_python_finds(
    spark: SparkSession, name: str, form: str, pattern: str, cut: slice
) -> None:
    path = LOGS / f"{name}_2k.log"
    # a time without a year is one of 1900 to Python
    found = counted(opened(spark, Records((str(path),), form, year=1900 if form == "openssh" else None)))
    found.pop((Kind.BLANK, None), None)
    assert found == plain(path, pattern, cut)
    assert found.total() == 2000


def test_a_time_without_a_year_is_of_the_last_one_that_its_file_has_seen(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["Dec 31 23:59:59", "Jan  1 00:00:00", "Jan  3 08:00:00", "Jan  5 00:00:00", "Feb 29 12:00:00"]
    log = tmp_path / "auth.log"
    log.write_text("".join(f"{line} host sshd[1]: x\n" for line in lines))
    changed = datetime.fromisoformat("2025-01-03 09:00:00+00:00").timestamp()
    os.utime(log, (changed, changed))
    expected = ["2024-12-31 23:59:59", "2025-01-01 00:00:00", "2025-01-03 08:00:00", "2024-01-05 00:00:00", "2024-02-29 12:00:00"]
    assert counted(opened(spark, Records((str(log),), "openssh"))) == Counter((Kind.COUNTED, moment(time, "UTC")) for time in expected)


def table(spark: SparkSession, path: Path) -> DataFrame:
    """Every kind of column that can hold a time, once with one and once without."""
    at = "2024-03-31 02:30:00"
    columns = (
        f"timestamp'{at}' AS moment, timestamp_ntz'{at}' AS local, date'2024-03-31' AS day, '{at}' AS said, 1711852200L AS number,"
        " named_struct('at', 1711852200123L) AS inner, array(1) AS several, date_from_unix_date(2000000000) AS far"
    )
    full = spark.sql(f"SELECT {columns}")
    full.union(full.selectExpr(*(f"CAST(NULL AS {kind}) AS {name}" for name, kind in full.dtypes))).coalesce(1).write.parquet(str(path))
    return full


def test_parquet_columns_of_every_type_hold_times(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    table(spark, path)
    berlin = {
        "moment": ("2024-03-31 02:30:00+00:00", None),
        "local": ("2024-03-31 02:30:00", None),
        "day": ("2024-03-31 00:00:00", None),
        "said": ("2024-03-31 02:30:00", None),
        "number": ("2024-03-31 02:30:00+00:00", "seconds"),
        "inner.at": ("2024-03-31 02:30:00.123+00:00", "millis"),
    }
    for column, (time, form) in berlin.items():
        records = opened(spark, Records((str(path),), "parquet", column, form, "Europe/Berlin"))
        start = moment(time, "Europe/Berlin") // SECOND * SECOND
        assert counted(records) == {(Kind.COUNTED, start): 1, (Kind.NO_TIME, None): 1}, column
    far = opened(spark, Records((str(path),), "parquet", "far"))
    assert counted(far) == {(Kind.UNREADABLE, None): 1, (Kind.NO_TIME, None): 1}


def test_parquet_columns_may_have_dots_and_be_directories(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    rows = spark.sql("SELECT '2024-02-29' AS `a.b`, named_struct('c.d', 'x') AS a, X'41E9FF' AS bytes, 'eu' AS region, 7 AS hour")
    rows.write.partitionBy("region", "hour").parquet(path)
    for key, value in {"a.c.d": "x", "bytes": "A\ufffd\ufffd", "region": "eu", "hour": "7"}.items():
        found = counts(opened(spark, Records((path,), "parquet", "a.b", key=key)), SECOND, Span()).collect()
        assert [(row["kind"], row["key"], row["count"]) for row in found] == [(Kind.COUNTED, value, 1)]
    with pytest.raises(InvalidError, match=r"column 'day': it is the --key, and the columns are a\.c\.d, a\.b, a, bytes"):
        opened(spark, Records((path,), "parquet", "a.b", key="day"))


def test_keys_that_are_not_utf_8_are_one(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'time,user\n2024-02-29,caf\xe9\n2024-02-29,"caf\xe8"\n2024-02-29,caf\n')
    found = counts(opened(spark, Records((str(tmp_path),), "csv", "time", key="user")), SECOND, Span()).collect()
    assert {row["key"]: row["count"] for row in found if row["kind"] == Kind.COUNTED} == {"caf\ufffd": 2, "caf": 1}


def test_only_counts_are_moved(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("time,user\n2024-02-29,a\n")
    records = opened(spark, Records((str(tmp_path),), "csv", "time", key="user"))
    counts(records, SECOND, Span()).explain()
    plan = capsys.readouterr().out
    # outermost first: what Spark does last
    order = [plan.index(part) for part in ("HashAggregate", "Exchange", "partial_count", "FileScan")]
    assert order == sorted(order)
    assert plan.count("Exchange") == 1
    assert "Python" not in plan


def test_a_second_is_counted_once_for_each_key(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["time,user", '2024-02-29,"a, ""b"""', "2024-02-29,c", "2024-02-29,c", "2024-02-29,", "never,d"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    records = opened(spark, Records((str(tmp_path),), "csv", "time", key="user"))
    found = {(Kind(row["kind"]), row["key"]): row["count"] for row in counts(records, SECOND, Span()).collect()}
    one = Kind.COUNTED
    assert found == {(one, 'a, "b"'): 1, (one, "c"): 2, (one, ""): 1, (Kind.HEADER, None): 1, (Kind.UNREADABLE, None): 1}


@pytest.mark.parametrize(
    ("form", "key", "line", "value"),
    [
        ("hdfs", "component", "230517 081530 17 INFO dfs.DataNode$X: y", "dfs.DataNode$X"),
        ("spark", "level", "21/08/03 09:25:50 WARN a.B: y", "WARN"),
        ("openssh", "component", "Nov 17 16:08:32 host sshd[1]: y", "sshd"),
        ("apache", "level", "[Tue May 16 21:05:09 2023] [core:error] y", "error"),
        ("apache-access", "status", '1.2.3.4 - - [16/May/2023:21:05:09 -0700] "GET / HTTP/1.0" 404 1', "404"),
        ("bgl", "level", "- 1684311330 2023.05.17 R01 2023-05-17-01.15.30.250000 R01 RAS KERNEL INFO y", "INFO"),
        ("thunderbird", "node", "- 1684271109 2023.05.16 node7 May 16 14:05:09 x y", "node7"),
        ("tweets", "user.name", '{"created_at": "2018-10-10", "user": {"name": "u"}}', "u"),
    ],
)
def test_formats_have_keys(spark: SparkSession, tmp_path: Path, form: str, key: str, line: str, value: str) -> None:
    (tmp_path / "records").write_text(line)
    rows = counts(opened(spark, Records((str(tmp_path),), form, key=key)), SECOND, Span()).collect()
    assert [(row["kind"], row["key"]) for row in rows] == [(Kind.COUNTED, value)]
