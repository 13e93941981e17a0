"""`pasps traces compose` and `describe` on Spark, and that `synth` needs none of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pasps.cli.main import main
from pasps.data.compose import compose
from pasps.data.stretches import Pool, Wanted
from pasps.data.trace_input import Refused, computed, read_local, read_series
from pasps.data.trace_output import trace_lines, write_lines
from pasps.errors import BrokenError
from pasps.spouts.synth import Traffic, rates
from pasps.spouts.trace_file import read_trace
from tests.integration.spark_fixture import spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["spark"]

MINUTE = 60_000_000
RATES = Path(__file__).parents[3] / "shared" / "data" / "rates"


def traffic(seed: int) -> list[int]:
    return rates(Traffic("spiky", steps=1500, mean=300, seed=seed))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """Three traces: one in a CSV file, two by their key in a Parquet directory."""
    where = tmp_path_factory.mktemp("traces")
    write_lines(where / "one.csv", trace_lines(traffic(1), 0, MINUTE))
    rows = [(key, place * 60, count) for key in ("a", "b") for place, count in enumerate(traffic(ord(key)))]
    frame = spark.createDataFrame(rows, "key string, seconds bigint, count bigint")
    frame.selectExpr("key", "timestamp_seconds(seconds) AS time", "count").repartition(3).write.parquet(str(where / "keyed"))
    return where


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What is said when it is."""
    capsys.readouterr()
    assert main(["traces", *(str(word) for word in words)]) == 2
    return capsys.readouterr().err


def test_a_stream_of_csv_and_parquet_is_the_one_made_without_spark(
    home: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    out = home / "stream.csv"
    words = ["compose", f"{home}/o*.csv", str(home / "keyed"), "--length", "10min", "--peak", "900", "--seed", "2"]
    assert main(["traces", *words, "--smooth", "3", "--parquet", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    wanted = Wanted(600, 900, seed=2, smooth_rows=3)
    pool = Pool(wanted)
    for name, seed in ((f"{home}/one.csv", 1), (f"{home}/keyed[a]", ord("a")), (f"{home}/keyed[b]", ord("b"))):
        path = home / "alone.csv"
        write_lines(path, trace_lines(traffic(seed), 0, MINUTE))
        alone = read_local(path)
        pool.look_at(type(alone)(name, alone.times, alone.counts, alone.step_seconds))
    expected = compose(pool)
    found = read_trace(str(out))
    assert found.counts == expected.counts
    assert (len(found.counts), max(found.counts), found.spacing_seconds()) == (600, 900, 1)
    made = json.loads((home / "stream.json").read_text())
    taken = [(each["source"], each["row"], each["onset"], each["direction"]) for each in made["taken"]]
    spikes = [(each.stretch, each.onset) for each in expected.taken]
    assert taken == [(s.source, s.spike.onset, onset, "up" if s.spike.up else "down") for s, onset in spikes]
    assert {source for source, *_ in taken} > {f"{home}/one.csv"}
    rows = spark.read.parquet(str(home / "stream.parquet")).orderBy("time").collect()
    assert [row["count"] for row in rows] == expected.counts
    assert dict(spark.read.parquet(str(home / "stream.parquet")).dtypes) == {"time": "timestamp", "count": "bigint"}
    assert printed.startswith(f"600 rows of 1 s, {sum(expected.counts):,} events")
    assert printed.endswith(f"{out}\n{home / 'stream.json'}\n{home / 'stream.parquet'}\n")
    assert "stream.csv is there already" in refused(capsys, *words, "--out", out)


def test_what_cannot_be_composed_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = home / "never.csv"
    asked = ("--peak", "900", "--out", out)
    assert "9,999 rows cannot be composed: the" in refused(capsys, "compose", home / "one.csv", "--length", "9999", *asked)
    (home / "short.csv").write_text("time,count\n0,5\n1,5\n2,5\n")
    assert "3 rows in 1 traces have no spike" in refused(capsys, "compose", home / "short.csv", "--length", "600", *asked)
    (home / "empty.csv").write_text("")
    assert "expected traces, got no row of any" in refused(capsys, "compose", home / "empty.csv", "--length", "600", *asked)
    (home / "bad.csv").write_text("time,count\n0,5\n1,-5\n2,5\n")
    said = refused(capsys, "compose", home / "one.csv", home / "bad.csv", "--length", "600", *asked)
    assert f"trace file '{home}/bad.csv', line 3, column 2: expected a count of at least 0, got '-5'" in said
    assert "no such file" in refused(capsys, "compose", home / "nothing.csv", "--length", "600", *asked)
    assert "there is no such path" in refused(capsys, "compose", f"{home}/nothing*.csv", "--length", "600", *asked)
    assert "is no whole number of steps" in refused(capsys, "compose", home / "one.csv", "--length", "1s", "--step", "5min", *asked)
    assert not list(home.glob("*never*"))


def test_traces_by_key_are_described_on_spark(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = home / "pictures"
    pictures.mkdir()
    assert main(["traces", "describe", str(home / "keyed"), "--out", str(pictures), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [found["name"] for found in made["traces"]] == [f"{home}/keyed[a]", f"{home}/keyed[b]"]
    for found, key in zip(made["traces"], "ab", strict=True):
        assert (found["total"], found["peak"], found["step_seconds"]) == (sum(traffic(ord(key))), max(traffic(ord(key))), 60.0)
        assert found["spikes"]
    assert sorted(path.name for path in pictures.iterdir()) == ["keyed-a.png", "keyed-b.png"]


CSV = {
    "plain": ("time,count\n2024-02-29T23:59:59Z,1\n2024-03-01T00:00:00Z,2\n", [1.0, 2.0]),
    "out of order": ("t,c,more\n3,4,x\n0,1,y\n\n1.5, 2.25,\n", [1.0, 2.25, 4.0]),
    "header alone": ("time,count\n", "expected rows of time and count, got none"),
    "no header": ("0,1\n1,2\n", "expected a header such as 'time,count'"),
    "two headers": ("time,count\n0,1\ntime,count\n1,2\n", "and no other row without numbers, got 2"),
    "no count": ("time,count\n0,1\n1\n", "expected a time and a count of at least 0, got '1'"),
    "no time": ("time,count\n0,1\nnoon,2\n", "got 'noon,2'"),
    "negative": ("time,count\n0,1\n1,-2\n", "got '1,-2'"),
    "not a number": ("time,count\n0,1\n1,nan\n", "expected a count of at least 0, got nan"),
    "twice": ("time,count\n0,1\n0,2\n", "expected one row for each time, got several for 1970-01-01T00:00:00Z"),
}


def test_csv_is_read_as_it_is_meant_or_refused(tmp_path: Path, spark: SparkSession) -> None:
    for name, (text, _) in CSV.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = {Path(each.name).stem: each for each in read_series(spark, [f"{tmp_path}/*.csv"]).collect()}
    assert found.keys() == CSV.keys()
    for name, (_, expected) in CSV.items():
        each = found[name]
        if isinstance(expected, str):
            assert isinstance(each, Refused), name
            assert expected in each.problem, name
        else:
            assert not isinstance(each, Refused), each
            assert each.counts.tolist() == expected


def test_directories_of_builds_are_found_under_patterns_and_schemes(tmp_path: Path, spark: SparkSession) -> None:
    rows = spark.sql("SELECT timestamp_seconds(id) AS time, id AS count FROM range(3)")
    for name in ("one", "two"):
        rows.write.parquet(str(tmp_path / name / "trace.parquet"))
        (tmp_path / name / "trace.csv").write_text("time,count\n0,9\n")
        (tmp_path / name / "summary.json").write_text("{}")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "day=1.csv").write_text(CSV["plain"][0])
    for paths in ([f"{tmp_path}/*"], [(tmp_path / name).as_uri() for name in ("one", "two", "texts")]):
        found = {each.name: each.counts.tolist() for each in read_series(spark, paths).collect() if not isinstance(each, Refused)}
        built = {f"{tmp_path}/{name}/trace.parquet": [0.0, 1.0, 2.0] for name in ("one", "two")}
        assert found == {**built, f"{tmp_path}/texts": [1.0, 2.0]}


def test_parquet_that_is_no_trace_is_refused(tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spark.range(3).write.parquet(str(tmp_path / "ids"))
    said = refused(capsys, "describe", tmp_path / "ids")
    assert "expected columns time (timestamp) and count, as `pasps traces build` writes them, got id (bigint)" in said


def test_real_traces_are_composed(tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("twitter_volume_AAPL", "worldcup98_per_minute")
    paths = [RATES / f"{name}.csv" for name in names]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"the real traces are not there: {RATES}")
    out = tmp_path / "real.csv"
    words = [*map(str, paths), "--length", "600", "--peak", "800", "--spikes", "8", "--raw", "--json", "--out", str(out)]
    assert main(["traces", "compose", *words]) == 0
    made = json.loads(capsys.readouterr().out)
    assert len(made["taken"]) == 8
    assert (max(read_trace(str(out)).counts), len(read_trace(str(out)).counts)) == (800, 600)


def test_synth_needs_neither_numpy_nor_spark() -> None:
    code = "import sys, pasps.cli.main as m; m.main(['traces', 'synth', '--kind', 'steady', '--steps', '1', '--noise', '0']); "
    code += "print([name for name in ('numpy', 'pyspark', 'matplotlib') if name in sys.modules])"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=200)
    assert alone.stdout == "time,count\n2024-01-01T00:00:00Z,100\n[]\n"


def test_what_the_python_of_a_task_lacks_is_said(home: Path, spark: SparkSession) -> None:
    def lack(_: object) -> object:
        raise ModuleNotFoundError("No module named 'pasps'")

    rows = read_series(spark, [f"{home}/one.csv"]).map(lack)
    with pytest.raises(BrokenError, match=r"ModuleNotFoundError: No module named 'pasps'; every machine .* set PYSPARK_PYTHON to it"):
        computed(rows.collect)
