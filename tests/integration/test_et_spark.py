"""`pasps et`: files read by Spark, bolts measured in its Python processes, the file that `pasps run` then takes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import call, parsed
from pasps.control.et_file import EtFile, OperatorTimes, et_path, parse, write_execution_times
from pasps.data.et_events import EventFile, read_events
from pasps.errors import InvalidError
from tests.integration.spark_fixture import spark  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration

Shown = pytest.CaptureFixture[str]

TOPOLOGY = """
import os
import sys
from pathlib import Path
from {helper} import PRICES
from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, bolt

class Orders(Spout):
    outputs = ["user", "item"]
    def initialize(self, conf, ctx):
        self.left = conf.get("orders", 0)
    def next_tuple(self):
        if not self.left:
            raise EndOfInput
        self.left -= 1
        self.emit([f"user {{self.left % 3}}", "tea"], self.left)

@bolt(outputs=["user", "price"])
def charge(user, item):
    return [(user, PRICES[item]), (user, 1)]

class Total(Bolt):
    outputs = ["user", "total"]
    def initialize(self, conf, ctx):
        self.totals = {{}}
        if "command" in conf:
            Path(conf["command"]).write_text(" ".join(sys.orig_argv))
        self.ends = conf.get("ends", False)
    def process(self, tup):
        if self.ends:
            os._exit(9)
        user, price = tup.values
        self.totals[user] = self.totals.get(user, 0) + price
        self.emit([user, self.totals[user]])

@bolt
def store(user, total):
    raise ConnectionError("no database")

class Shop(Topology):
    orders = Orders.spec()
    charge = charge.spec(inputs=[orders])
    total = Total.spec(inputs={{charge: Grouping.fields("user")}}, pool=2)
    store = store.spec(inputs=[total])
"""


def written(folder: Path, name: str) -> Path:
    helper = f"prices_of_{name}"
    (folder / f"{helper}.py").write_text("PRICES = {'tea': 3, 'cake': 5}\n")
    file = folder / f"{name}.py"
    file.write_text(TOPOLOGY.format(helper=helper))
    return file


def measured(*words: str) -> int:
    return call(parsed(["et", *words]))


@pytest.fixture(autouse=True)
def _own_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))


# ---- reading


def test_spark_reads_lines_compressed_or_in_several_files_and_parquet_with_its_types(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "many.jsonl").mkdir()
    for number in (1, 2):
        with gzip.open(tmp_path / "many.jsonl" / f"part-{number}.jsonl.gz", "wt") as part:
            part.write(f'{{"user": "ann", "item": {number}}}\nbad\n')
    found = read_events(spark, EventFile("orders", "default", str(tmp_path / "many.jsonl")), ["user", "item"], 10)
    assert (found.values, found.bad) == ([("ann", 1), ("ann", 2)], 2)
    assert found.problems[1].startswith("part-2.jsonl.gz, line 2: ")
    path = str(tmp_path / "orders.parquet")
    rows: list[Any] = [(1, "ann", bytearray(b"x"), {"a": [1, None]}), (2, None, None, None)]
    spark.createDataFrame(rows, "n int, user string, raw binary, more struct<a: array<int>>").coalesce(1).write.parquet(path)
    found = read_events(spark, EventFile("orders", "default", path), ["user", "n", "raw", "more"], 10)
    assert found.values == [("ann", 1, b"x", {"a": [1, None]}), (None, 2, None, None)]
    with pytest.raises(InvalidError, match=r"expected a column 'users', got n, user, raw, more; is it 'user'\? then rename that"):
        read_events(spark, EventFile("orders", "default", path), ["users"], 10)
    with pytest.raises(InvalidError, match=r"--events .*none\.csv: .*there is no such path"):
        read_events(spark, EventFile("orders", "default", str(tmp_path / "none.csv")), ["user"], 10)


def test_files_of_a_folder_are_read_by_name_however_large_they_are(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "day [1].csv"
    for name, text in {"hour=1/a b": "n,user\n1,ann\n", "hour=1/c": "user,n\neve,2\n", "hour=2/a": "n,user\n" + "3,bob\n" * 50}.items():
        file = folder / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    escaped = str(folder).replace("[", r"\[").replace("]", r"\]")
    assert read_events(spark, EventFile("orders", "default", escaped), ["user", "n"], 3).values == [("ann", 1), ("eve", 2), ("bob", 3)]
    path = str(tmp_path / "parts.parquet")
    for number, count in ((1, 2), (2, 90)):
        made = spark.createDataFrame([(number, place) for place in range(count)], "day int, n int").coalesce(1)
        made.write.mode("append").partitionBy("day").parquet(path)
    assert read_events(spark, EventFile("orders", "default", path), ["n", "day"], 4).values == [(0, 1), (1, 1), (0, 2), (1, 2)]


# ---- the command


def test_the_file_is_written_and_a_run_takes_it_without_a_warning(spark: SparkSession, tmp_path: Path, capsys: Shown) -> None:  # noqa: F811
    file = written(tmp_path, "et_shop_one")
    events = tmp_path / "orders.jsonl"
    events.write_text('{"user": "ann", "item": "tea"}\n["bob", "cake"]\n["eve"]\n["eve", "coffee"]\n' + '["ann", "tea"]\n' * 60)
    kept = OperatorTimes(0.5, "inline", None)
    write_execution_times(et_path(file), EtFile("shop", {"store": kept, "charge": kept}))
    code = measured(str(file), "--events", str(events), "--repeat", "2", "--rate", "1000", "--warm-up", "5", "--skip", "store", "--json")
    shown = capsys.readouterr()
    assert code == exit_codes.OK
    told = json.loads(shown.out)
    assert (told["sample"]["events"], told["sample"]["bad"]) == (63, 1)
    assert told["operators"]["charge"]["failed"] == 1
    assert told["operators"]["charge"]["error"].endswith("KeyError: 'coffee'")
    assert told["operators"]["store"]["skipped"]
    assert Path(told["picture"]).read_bytes().startswith(b"\x89PNG")
    assert f"{events}: line 3: expected 2 values (user, item), got 1" in shown.err
    file_now = parse(et_path(file).read_text(), "it")
    assert file_now.operators["store"] == kept, "what it says of a bolt that was left out stays"
    charge, total = file_now.operators["charge"], file_now.operators["total"]
    assert charge.selectivity == {"default": pytest.approx(2 * 62 / 63)}
    assert (charge.samples, total.samples, total.selectivity) == (58, 119, {"default": 1.0})
    assert charge.varies is not None
    assert (file_now.made_with["events"], file_now.made_with["passes"], file_now.topology) == (63, 2, "shop")
    run = subprocess.run(
        [sys.executable, "-m", "pasps", "run", str(file), "--workers", "1"], capture_output=True, text=True, timeout=200, check=False
    )
    assert run.returncode == exit_codes.OK, run.stderr
    assert "et.json" not in run.stderr


def test_a_bolt_that_fails_on_all_and_one_that_ends_its_process_have_no_entry(
    spark: SparkSession,  # noqa: F811
    tmp_path: Path,
    capsys: Shown,
) -> None:
    file = written(tmp_path, "et_shop_two")
    few = ("--repeat", "1", "--rate", "1000", "--out", str(tmp_path / "out.json"))
    assert measured(str(file), *few, "-o", "orders=12") == exit_codes.FAILED
    shown = capsys.readouterr()
    assert "sample: 12 events of orders" in shown.err
    assert "store: no entry: it failed on all 24 tuples" in shown.out
    assert "ConnectionError: no database" in shown.out
    assert set(parse((tmp_path / "out.json").read_text(), "it").operators) == {"charge", "total"}
    assert not et_path(file).exists()


def test_a_bolt_that_ends_its_process_costs_only_itself(spark: SparkSession, tmp_path: Path, capsys: Shown) -> None:  # noqa: F811
    file = written(tmp_path, "et_shop_three")
    words = ("--repeat", "2", "--rate", "1000", "-o", "orders=5", "-o", "ends=true", "--out", str(tmp_path / "out.json"))
    assert measured(str(file), *words) == exit_codes.FAILED
    shown = capsys.readouterr().out
    assert "total: no entry: it could not be run\n" in shown
    assert "its process on Spark ended before it was done: " in shown
    assert "crashed" in shown
    assert "store: no entry: no tuple came to it, since total failed" in shown
    assert set(parse((tmp_path / "out.json").read_text(), "it").operators) == {"charge"}


def test_nothing_is_measured_without_events(spark: SparkSession, tmp_path: Path, capsys: Shown) -> None:  # noqa: F811
    with pytest.raises(InvalidError, match=r"there is no event for any bolt \(orders gave none\), so nothing can be measured"):
        measured(str(written(tmp_path, "et_shop_four")))
    assert "asking orders for events, for at most 30 s\n" in capsys.readouterr().err
