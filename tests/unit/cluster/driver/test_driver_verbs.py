from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from pasps.cli.asking.asked_topology import ClusterTopology, fetch_run_files
from pasps.cluster.driver import driver_verbs
from pasps.cluster.driver.driver_verbs import PART_BYTES, add_driver_verbs
from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.explain import NOTHING
from pasps.control.plan import Plan
from pasps.errors import BrokenError, BusyError, InvalidError
from pasps.topology.run_record import RunState, write_json
from pasps.topology.topology_verbs import TopologyVerbs
from pasps.topology.verbs import result_of
from tests.unit.cli.builders import blueprint
from tests.unit.in_process import InProcessTopology


class RunStanding:
    state = RunState.RUNNING

    def enter(self, state: RunState) -> None:
        pass


class Bench(InProcessTopology):
    """Three workers, of which the last is not there."""

    def __init__(self, directory: Path) -> None:
        super().__init__(blueprint(), 3)
        self.launcher.hosts = {"w1": "there"}
        self.started()
        self.launcher.faults["place", "w2"] = "never"
        self.run(self.die("w2"))
        self.verbs = TopologyVerbs(self.controller, RunStanding(), self.kill)
        add_driver_verbs(self.verbs, self.controller, directory)

    async def kill(self, wait: float | None) -> Mapping[str, Any]:
        return {}

    def call(self, verb: str, **arguments: object) -> Any:
        return self.run(self.verbs.call(verb, arguments))


@pytest.fixture(autouse=True)
def _all_end() -> Iterator[None]:
    yield
    Bench.close_all()


def test_the_log_of_one_worker_comes_with_its_host_and_where_to_go_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.call("logs", worker="w1", offset=3) == {"worker": "w1", "host": "there", "text": "said by w1\n", "offset": 17}
    bench.call("logs", worker="w1", lines=5)
    assert bench.launcher.asked_logs == [("w1", 3, 100), ("w1", None, 5)]


def test_without_a_worker_the_logs_of_all_come_and_who_is_not_there_keeps_nothing_back(tmp_path: Path) -> None:
    found = Bench(tmp_path).call("logs", lines=7)
    parts = [
        "==> w0 on here <==\nsaid by w0\n",
        "==> w1 on there <==\nsaid by w1\n",
        "==> w2 <==\nworker w2 is not there now; try again when it is back\n",
    ]
    assert found == {"worker": None, "host": "", "text": "".join(parts), "offset": 0}


def test_all_workers_are_asked_at_once_so_that_a_few_that_hang_do_not_add_up(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    async def body() -> Any:
        bench.launcher.meet = asyncio.Barrier(2)
        async with asyncio.timeout(5):
            return await bench.verbs.call("logs", {})

    assert "said by w1" in bench.run(body())["text"]


def test_a_worker_that_is_none_or_not_there_is_an_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(InvalidError, match="no worker 'w9'"):
        bench.call("logs", worker="w9")
    with pytest.raises(BrokenError, match="not there now"):
        bench.call("logs", worker="w2")


@pytest.mark.parametrize("arguments", [{"lines": 0}, {"lines": 10_001}, {"lines": "many"}, {"offset": -1}, {"worker": 1}, {"host": "here"}])
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path, arguments: dict[str, object]) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(InvalidError, match="verb 'logs'"):
        bench.call("logs", **arguments)
    assert bench.launcher.asked_logs == []


class Asked:
    """The same as the commands see it; `meanwhile` happens before each part."""

    name = "words"

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.largest = self.parts = 0
        self.meanwhile: Callable[[int], None] = lambda parts: None

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
        if verb == "file":
            self.meanwhile(self.parts)
            self.parts += 1
        answer = msgspec.json.encode(self._bench.run(self._bench.verbs.answer(verb, arguments or {})))
        self.largest = max(self.largest, len(answer))
        return result_of(answer, "the driver")


def fetched(asked: Asked, target: Path) -> dict[str, bytes]:
    target.mkdir()
    fetch_run_files(cast("ClusterTopology", asked), target)
    return {path.name: path.read_bytes() for path in target.iterdir()}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_the_files_of_the_run_are_those_for_reports(run: Path, tmp_path: Path) -> None:
    (run / "run.json").write_text('{"name": "w\u00f6rds"}')
    (run / "metrics.jsonl").write_bytes(b"1\n2\n")
    (run / "decisions.1.jsonl").write_bytes(b"")
    (run / "control.sock").write_bytes(b"")
    (run / "predictor.log").write_bytes(b"secret")
    (run / "folder.json").mkdir()
    assert fetched(Asked(Bench(run)), tmp_path / "here") == {
        "run.json": '{"name": "w\u00f6rds"}'.encode(),
        "metrics.jsonl": b"1\n2\n",
        "decisions.1.jsonl": b"",
    }


def test_however_long_the_run_no_answer_is_large_and_all_of_it_comes(run: Path, tmp_path: Path) -> None:
    content = random.Random(1).randbytes(5 * PART_BYTES + 17)
    (run / "metrics.jsonl").write_bytes(content)
    asked = Asked(Bench(run))
    assert fetched(asked, tmp_path / "here") == {"metrics.jsonl": content}
    assert asked.largest < 2 * PART_BYTES


def test_a_log_that_is_begun_anew_meanwhile_is_read_on_under_its_other_name(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_verbs, "PART_BYTES", 5)
    log = run / "metrics.jsonl"
    log.write_bytes(b"1111\n2222\n3333\n")

    def rotate(parts: int) -> None:
        if parts == 1:
            log.rename(run / "metrics.1.jsonl")
            log.write_bytes(b"4444\n")

    asked = Asked(Bench(run))
    asked.meanwhile = rotate
    assert fetched(asked, tmp_path / "here") == {"metrics.jsonl": b"1111\n2222\n3333\n"}


def test_what_is_replaced_meanwhile_is_read_again(run: Path, tmp_path: Path) -> None:
    (run / "metrics.jsonl").write_bytes(b"1\n")
    write_json(run / "run.json", {"state": "running"})

    def replace(parts: int) -> None:
        os.link(run / "run.json", tmp_path / f"{parts}")  # so that its number is not given to the next
        write_json(run / "run.json", {"state": f"state {parts}"})

    asked = Asked(Bench(run))
    asked.meanwhile = lambda parts: replace(parts) if parts == 1 else None
    assert b"state 1" in fetched(asked, tmp_path / "here")["run.json"]
    asked.meanwhile = replace
    with pytest.raises(BusyError, match="is not there any more; ask for its files again"):
        fetched(asked, tmp_path / "again")


def test_nothing_but_the_files_of_the_run_is_given(run: Path) -> None:
    (run / "predictor.log").write_bytes(b"secret")
    with pytest.raises(BusyError):
        Bench(run).call("file", id=(run / "predictor.log").stat().st_ino)
    with pytest.raises(InvalidError, match="verb 'file'"):
        Bench(run).call("file", id=1, offset=-1)


def test_why_is_explained_from_the_decisions_of_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert NOTHING in bench.call("explain")
    record = Record(1, 1.7e9, 30.0, "cycle", "pasps", None, Plan({}, held="the snapshot is incomplete"))
    (tmp_path / "decisions.jsonl").write_bytes(decision_log.written(record) + b"\n")
    assert "the snapshot is incomplete" in bench.call("explain")
    with pytest.raises(InvalidError):
        bench.call("explain", at="yesterday")
