from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.explain import NOTHING
from pasps.control.plan import Plan
from pasps.daemons.driver import driver_verbs
from pasps.daemons.driver.driver_verbs import LINES, add_driver_verbs
from pasps.daemons.messages import LogText
from pasps.daemons.run_record import RunState
from pasps.daemons.topology_master import TopologyMaster
from pasps.daemons.topology_verbs import TopologyVerbs
from pasps.errors import BrokenError, InvalidError
from tests.unit.cli.builders import blueprint


class Workforce:
    """Three workers, of which the last is not there; `meet` lets an answer wait until so many were asked."""

    def __init__(self) -> None:
        self.ids = ["w0", "w1", "w2"]
        self.asked: list[tuple[str, int | None, int]] = []
        self.meet: asyncio.Barrier | None = None

    def hosts(self) -> dict[str, str]:
        return {"w0": "here", "w1": "there"}

    async def read_log(self, worker: str, offset: int | None, lines: int) -> LogText:
        self.asked.append((worker, offset, lines))
        if self.meet is not None:
            await self.meet.wait()
        if worker not in self.ids:
            raise InvalidError(f"there is no worker {worker!r}")
        if worker == "w2":
            raise BrokenError("worker w2 is not there now")
        return LogText(1, f"said by {worker}\n", 17)


class Master:
    """As much of a `TopologyMaster` as the verbs use; the real one needs worker processes."""

    def __init__(self) -> None:
        self.blueprint = blueprint()
        self.workforce = Workforce()

    def workers(self) -> list[object]:
        return []


class Standing:
    state = RunState.RUNNING

    def enter(self, state: RunState) -> None:
        pass


class Bench:
    def __init__(self, directory: Path) -> None:
        master = Master()
        self.workforce = master.workforce
        self.verbs = TopologyVerbs(cast("TopologyMaster", master), Standing(), self.kill)
        add_driver_verbs(self.verbs, cast("TopologyMaster", master), directory)

    async def kill(self, wait: float | None) -> Mapping[str, Any]:
        return {}

    def call(self, verb: str, **arguments: object) -> Any:
        return asyncio.run(self.verbs.call(verb, arguments))


def test_the_log_of_one_worker_comes_with_its_host_and_where_to_go_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.call("logs", worker="w1", offset=3) == {"worker": "w1", "host": "there", "text": "said by w1\n", "offset": 17}
    bench.call("logs", worker="w1", lines=5)
    assert bench.workforce.asked == [("w1", 3, LINES), ("w1", None, 5)]


def test_without_a_worker_the_logs_of_all_come_and_who_is_not_there_keeps_nothing_back(tmp_path: Path) -> None:
    found = Bench(tmp_path).call("logs", lines=7)
    parts = ["==> w0 on here <==\nsaid by w0\n", "==> w1 on there <==\nsaid by w1\n", "==> w2 <==\nworker w2 is not there now\n"]
    assert found == {"worker": None, "host": "", "text": "".join(parts), "offset": 0}


def test_all_workers_are_asked_at_once_so_that_a_few_that_hang_do_not_add_up(tmp_path: Path) -> None:
    async def body() -> Any:
        bench = Bench(tmp_path)
        bench.workforce.meet = asyncio.Barrier(3)
        async with asyncio.timeout(5):
            return await bench.verbs.call("logs", {})

    assert "said by w1" in asyncio.run(body())["text"]


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
    assert bench.workforce.asked == []


def test_the_files_of_the_run_are_those_for_reports(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"name": "w\u00f6rds"}')
    (tmp_path / "metrics.jsonl").write_bytes(b"1\n2\n")
    (tmp_path / "decisions.1.jsonl").write_bytes(b"")
    (tmp_path / "control.sock").write_bytes(b"")
    (tmp_path / "predictor.log").write_bytes(b"secret")
    (tmp_path / "folder.json").mkdir()
    files = Bench(tmp_path).call("files")["files"]
    assert {name: base64.b64decode(data).decode() for name, data in files.items()} == {
        "run.json": '{"name": "w\u00f6rds"}',
        "metrics.jsonl": "1\n2\n",
        "decisions.1.jsonl": "",
    }


def test_of_a_file_that_is_too_large_the_newest_whole_lines_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_verbs, "_MOST_FILE_BYTES", 8)
    (tmp_path / "metrics.jsonl").write_bytes(b"1111\n2222\n33\n")
    (tmp_path / "decisions.jsonl").write_bytes(b"1111\n22\n")
    files = Bench(tmp_path).call("files")["files"]
    assert base64.b64decode(files["metrics.jsonl"]) == b"33\n"
    assert base64.b64decode(files["decisions.jsonl"]) == b"1111\n22\n"


def test_why_is_explained_from_the_decisions_of_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert NOTHING in bench.call("explain")
    record = Record(1, 1.7e9, 30.0, "cycle", "pasps", None, Plan({}, held="the snapshot is incomplete"))
    (tmp_path / "decisions.jsonl").write_bytes(decision_log.written(record) + b"\n")
    assert "the snapshot is incomplete" in bench.call("explain")
    with pytest.raises(InvalidError):
        bench.call("explain", at="yesterday")
