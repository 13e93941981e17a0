"""`pasps traces build`: the directory that it makes, and what it does when it cannot."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import main
from pasps.data.build import build_trace
from pasps.data.build_count import filled
from pasps.data.build_request import BuildRequest
from pasps.data.build_totals import Totals
from pasps.data.record_formats import Records
from pasps.data.spark import spark_session
from pasps.errors import BrokenError, InvalidError
from pasps.spouts.trace_file import read_trace
from tests.integration.spark_fixture import spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["spark"]

LINES = [
    "2024-02-29T23:59:57Z a/b x",
    "2024-03-01T00:00:02Z A x",
    "2024-02-29T23:59:57Z a x",
    "nonsense",
    "2024-02-30T00:00:00Z a unreadable",
    "",
    "2030-01-01T00:00:00Z a outside",
]
PATTERN = r"^(?<time>2\S+) (?<who>\S+) "


def regex(path: Path, **more: Any) -> Records:
    return Records((str(path),), "regex", pattern=PATTERN, **more)


def log(directory: Path, lines: list[str] | None = None) -> Path:
    path = directory / "records.log"
    path.write_text("\n".join(LINES if lines is None else lines))
    return path


def left(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_a_build_writes_the_trace_its_keys_the_bad_records_and_a_summary(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told: list[str] = []
    request = BuildRequest(regex(log(tmp_path), key="who"), str(out), until="2025-01-01")
    found = build_trace(spark, request, told.append)

    files = {part["file"] for part in json.loads((out / "summary.json").read_text())["keys"].values()}
    assert len({file.casefold() for file in files}) == 3
    assert left(out) == {"trace.csv", "trace.parquet", "by-key.parquet", "by-key", "bad", "bad/part-00000.jsonl", "summary.json"} | {
        f"by-key/{file}" for file in files
    }
    assert left(tmp_path) == {"records.log", "out"} | {f"out/{name}" for name in left(out)}
    times = ["2024-02-29T23:59:57Z", "2024-02-29T23:59:58Z", "2024-02-29T23:59:59Z"]
    times += ["2024-03-01T00:00:00Z", "2024-03-01T00:00:01Z", "2024-03-01T00:00:02Z"]
    rows = dict(zip(times, [2, 0, 0, 0, 0, 1], strict=True))
    assert (out / "trace.csv").read_text() == "time,count\n" + "".join(f"{time},{count}\n" for time, count in rows.items())
    assert read_trace(str(out / "trace.csv")).counts == list(rows.values())
    parquet = spark.read.parquet(str(out / "trace.parquet"))
    assert parquet.dtypes == [("time", "timestamp"), ("count", "bigint")]
    assert [(row[0], row[1]) for row in parquet.selectExpr("unix_seconds(time)", "count").collect()] == [
        (1709251197 + second, count) for second, count in enumerate(rows.values())
    ]

    assert found.keys is not None
    of_a = (out / "by-key" / found.keys["a"].file).read_text().splitlines()
    assert of_a == ["time,count", *(f"{time},{int(time == times[0])}" for time in times)]
    keyed = [(row["key"], row["count"]) for row in spark.read.parquet(str(out / "by-key.parquet")).orderBy("key", "time").collect()]
    assert keyed == [(key, count) for key, last in (("A", 1), ("a", 0), ("a/b", 0)) for count in (1 - last, 0, 0, 0, 0, last)]

    bad = [json.loads(line) for line in (out / "bad" / "part-00000.jsonl").read_text().splitlines()]
    source = f"file:{tmp_path}/records.log"
    assert bad == [
        {"reason": "no time found", "file": source, "text": "nonsense"},
        {"reason": "time unreadable", "file": source, "text": LINES[4]},
    ]
    assert json.loads((out / "summary.json").read_text()) == json.loads(json.dumps(found.as_object()))
    assert (found.records, found.counted, found.outside, found.blank) == (6, 3, 1, 1)
    assert found.bad == {"no time found": 1, "time unreadable": 1}
    assert (found.first, found.last, found.steps, found.peak, found.peak_time, found.mean) == (times[0], times[-1], 6, 2, times[0], 0.5)
    assert told == ["counting", "keeping 2 bad records aside", "writing 6 steps", "writing 3 keys"]


def test_a_long_gap_is_filled_to_the_last_zero(spark: SparkSession, tmp_path: Path) -> None:
    records = regex(log(tmp_path, ["2024-02-29T00:00:00.500Z a x", "2024-02-29T05:00:00.249Z a x"]))
    found = build_trace(spark, BuildRequest(records, str(tmp_path / "out"), "250ms"))
    lines = (tmp_path / "out" / "trace.csv").read_text().splitlines()
    assert (lines[1], lines[-1]) == ("2024-02-29T00:00:00.500Z,1", "2024-02-29T05:00:00.000Z,1")
    assert found.steps == len(lines) - 1 == (5 * 3600 * 1000 - 500) // 250 + 1
    assert {line.split(",")[1] for line in lines[2:-1]} == {"0"}
    assert read_trace(str(tmp_path / "out" / "trace.csv")).spacing_seconds() == 0.25


def test_an_output_elsewhere_is_as_one_on_this_machine(spark: SparkSession, tmp_path: Path) -> None:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - pyspark has no other way to it
    hadoop.set("fs.viewfs.mounttable.default.link./far", (tmp_path / "far").as_uri())
    (tmp_path / "far").mkdir()
    request = BuildRequest(regex(log(tmp_path), key="who"), str(tmp_path / "out"), until="2025-01-01")
    build_trace(spark, request)
    build_trace(spark, replace(request, out="viewfs:///far/out"))
    here, there = tmp_path / "out", tmp_path / "far" / "out"
    # where Hadoop does not know the machine's own files it keeps sums of them beside them
    assert left(here) == {name for name in left(there) if not name.endswith(".crc")}
    for path in here.rglob("*.csv"):
        assert (there / path.relative_to(here)).read_bytes() == path.read_bytes()
    assert spark.read.parquet(str(there / "by-key.parquet")).count() == 18


def test_counts_come_back_some_at_a_time_and_no_zero_of_a_gap_among_them(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, "b", 10, 1), (0, "b", 20, 2), (0, "a", 20, 3), (0, "b", 30, 4), (0, "b", 40, 5), (0, "a", 90, 6), (4, None, None, 7)]
    counts = spark.createDataFrame(rows, "kind int, key string, start long, count long")
    came: list[int] = []
    kind = type(counts)
    to_arrow = kind.toArrow

    def told(frame: DataFrame) -> Any:
        table = to_arrow(frame)
        came.append(table.num_rows)
        return table

    monkeypatch.setattr(kind, "toArrow", told)
    expected = [[0, 3, 0, 0, 0, 0, 0, 0, 6], [1, 2, 4, 5, 0, 0, 0, 0, 0]]
    for at_once, most in ((1, 2), (4, 3), (6, 4), (1000, 6)):
        assert filled(counts, Totals({}, 9, 10, keys=["a", "b"]), 10, at_once).tolist() == expected
        assert (sum(came), max(came)) == (6, most)
        came.clear()
    assert filled(counts.where("key = 'b'"), Totals({}, 9, 10), 10, 3).tolist() == expected[1:]
    assert came == [3, 1, 0]


def test_the_longest_steps_reach_from_the_first_whole_one_to_the_last(spark: SparkSession, tmp_path: Path) -> None:
    path = log(tmp_path, ["0026-01-31T23:59:59Z", "0026-02-01T00:00:00Z", "9999-12-31T23:59:59Z"])
    records = Records((str(path),), "regex", pattern="^(?<time>.*)$")
    found = build_trace(spark, BuildRequest(records, str(tmp_path / "out"), "10000d"))
    lines = (tmp_path / "out" / "trace.csv").read_text().splitlines()
    assert found.bad == {"time unreadable": 1}
    assert (lines[1], lines[-1]) == ("0026-02-01T00:00:00Z,1", "9992-01-26T00:00:00Z,1")
    parquet = spark.read.parquet(str(tmp_path / "out" / "trace.parquet")).orderBy("time").selectExpr("CAST(time AS STRING)").collect()
    assert (len(parquet), parquet[0][0], parquet[-1][0]) == (found.steps, "0026-02-01 00:00:00", "9992-01-26 00:00:00")


def test_of_nothing_a_trace_without_rows_is_made_and_said(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path, [])
    words = ["traces", "build", "--format", "hdfs", str(tmp_path / "records.log"), "--out", str(tmp_path / "out")]
    assert main(words) == exit_codes.OK
    assert (tmp_path / "out" / "trace.csv").read_text() == "time,count\n"
    assert "bad" not in left(tmp_path / "out")
    said = capsys.readouterr()
    assert "records  0 counted of 0" in said.out
    assert "no record was counted, so the trace has no rows; the input is empty" in said.err


def test_an_output_is_replaced_only_when_that_is_said(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, records = tmp_path / "out", log(tmp_path, ["2024-02-29 a x", "2024-02-29 a x", "never a x"])
    words = ["traces", "build", "--format", "regex", "--pattern", PATTERN, str(records), "--out", str(out), "--quiet"]
    out.mkdir()
    assert main([*words, "--json"]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)["counted"] == 2
    before = (out / "summary.json").read_bytes()
    assert main(words) == exit_codes.INVALID
    assert "--overwrite" in capsys.readouterr().err
    assert (out / "summary.json").read_bytes() == before
    records.write_text("2024-02-29 a x\nnever a x\n")
    assert main([*words, "--overwrite", "--most-bad", "0.4"]) == exit_codes.FAILED
    said = capsys.readouterr()
    assert "bad      1: 1 no time found" in said.out
    assert said.err == "pasps traces build: 50.00% of the records are bad, more than the 40.00% of --most-bad\n"
    assert json.loads((out / "summary.json").read_text())["counted"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"out", "records.log"}


REFUSED = {
    "no such path": (BuildRequest(Records(("{dir}/nope*",), "hdfs"), "{dir}/out"), "there is no such path"),
    "a file": (BuildRequest(Records(("{dir}/records.log",), "hdfs"), "{dir}/file"), "is a file"),
    "of others": (
        BuildRequest(Records(("{dir}/records.log",), "hdfs"), "{dir}/others", overwrite=True),
        "no build has written, such as 'x'",
    ),
    "in the records": (BuildRequest(Records(("{dir}",), "hdfs"), "{dir}/out"), "one in the other"),
    "among the records of a pattern": (BuildRequest(Records(("{dir}/*",), "hdfs"), "{dir}/others", overwrite=True), "one in the other"),
    "no column": (BuildRequest(Records(("{dir}/records.log",), "csv", "ts"), "{dir}/out"), "'ts': it is the --time-column"),
    "no zone": (BuildRequest(Records(("{dir}/records.log",), "hdfs", time_zone="Mars/X"), "{dir}/out"), "Mars/X is invalid"),
    "no time format": (
        BuildRequest(Records(("{dir}/records.log",), "regex", pattern="(?<time>.*)", time_format="EEE qqq"), "{dir}/out"),
        "--time-format 'EEE qqq': ",
    ),
    "no pattern": (
        BuildRequest(Records(("{dir}/records.log",), "regex", pattern="(?<time>.*"), "{dir}/out"),
        "--pattern '(?<time>.*': Unclosed group near index 10; expected a regular expression of Java's",
    ),
    "no name": (
        BuildRequest(Records(("{dir}/records.log",), "regex", pattern=r"^(?<time>\S+) (?<user_id>\w+)"), "{dir}/out"),
        "named capturing group is missing trailing '>' near index",
    ),
    "no time": (BuildRequest(Records(("{dir}/records.log",), "hdfs"), "{dir}/out", start="soon"), "time 'soon': expected ISO 8601"),
    "from after until": (
        BuildRequest(Records(("{dir}/records.log",), "hdfs"), "{dir}/out", start="2024-02-29", until="2024-02-29"),
        "expected a time before the other",
    ),
    "too many steps": (
        BuildRequest(Records(("{dir}/records.log",), "regex", pattern=PATTERN), "{dir}/out", most_steps=1000),
        "from 2024-02-29T23:59:57Z to 2030-01-01T00:00:00Z make 184,204,804 steps of 1s, more than the 1,000 of --most-steps;"
        " 3 of the 4 are kept with --from 2024-02-29T23:59:57Z --until 2024-03-01T00:00:03Z; or take a longer --step",
    ),
    "too many keys": (
        BuildRequest(Records(("{dir}/records.log",), "regex", pattern=PATTERN, key="who"), "{dir}/out", "1d", most_keys=2),
        "more than 2 keys, such as 'A', 'a', 'a/b'",
    ),
    "too many rows": (
        BuildRequest(Records(("{dir}/records.log",), "regex", pattern=PATTERN, key="who"), "{dir}/out", "1d", most_steps=3000),
        "6,402 steps of 1d for each of 3 keys, more than the 3,000",
    ),
}


def placed(request: BuildRequest, directory: Path) -> BuildRequest:
    values = {name: getattr(request, name) for name in BuildRequest.__slots__}
    records = {name: getattr(request.records, name) for name in Records.__slots__}
    records["paths"] = tuple(path.format(dir=directory) for path in request.records.paths)
    return BuildRequest(**{**values, "records": Records(**records), "out": request.out.format(dir=directory)})


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_nothing_is_written(spark: SparkSession, tmp_path: Path, name: str) -> None:
    request, said = REFUSED[name]
    log(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "x").touch()
    before = left(tmp_path)
    with pytest.raises(InvalidError) as error, spark_session("test"):
        build_trace(spark, placed(request, tmp_path))
    assert said in str(error.value)
    assert left(tmp_path) == before


def test_a_file_that_is_cut_ends_it_and_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"2024-02-29 a x\n" * 1000)[:-20])
    with pytest.raises(BrokenError, match=r"error while reading file .*cut\.gz.*; Unexpected end of input stream"), spark_session("test"):
        build_trace(spark, BuildRequest(regex(tmp_path / "cut.gz"), str(tmp_path / "out")))
    assert left(tmp_path) == {"cut.gz"}


def test_an_output_that_cannot_be_written_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokenError, match=r"cannot be made|[Mm]kdirs|[Nn]ot a directory"), spark_session("test"):
        build_trace(spark, BuildRequest(regex(log(tmp_path)), str(tmp_path / "file" / "out"), until="2025-01-01"))
    assert left(tmp_path) == {"records.log", "file"}


def test_a_trace_that_cannot_be_written_is_named_and_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    def told(doing: str) -> None:
        if doing.startswith("writing"):
            next(tmp_path.glob(".out-*.partial")).joinpath("trace.csv").mkdir()

    with pytest.raises(BrokenError, match=r"/trace\.csv cannot be written: Is a directory"), spark_session("test"):
        build_trace(spark, BuildRequest(regex(log(tmp_path)), str(tmp_path / "out"), until="2025-01-01"), told)
    assert left(tmp_path) == {"records.log"}


def test_one_that_is_interrupted_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    def told(doing: str) -> None:
        if doing.startswith("writing"):
            assert len(list(tmp_path.glob(".out-*.partial/bad/*"))) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_trace(spark, BuildRequest(regex(log(tmp_path)), str(tmp_path / "out"), until="2025-01-01"), told)
    assert left(tmp_path) == {"records.log"}
