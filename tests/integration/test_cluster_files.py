"""What is brought here from a cluster: explanations, files for reports, logs; and the order to rebalance."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import main
from pasps.cluster.driver.driver_verbs import add_driver_verbs
from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.plan import Plan
from pasps.errors import BrokenError, InvalidError, ProtocolError
from pasps.topology.controller import TopologyController
from pasps.topology.run_record import RunState, write_json
from pasps.topology.verbs import Verbs
from tests.integration.fake_master import Master, RefusalError, known_master, runs_here
from tests.integration.running import called
from tests.unit.cli.builders import known_run
from tests.unit.report.builders import made_up, write_run

pytestmark = pytest.mark.integration

Shown = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture(autouse=True)
def master(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Master]:
    with known_master(home, monkeypatch) as found:
        yield found


# ---- explain, report


def test_explain_asks_the_topology(master: Master, capsys: Shown) -> None:
    master.verbs["explain"] = lambda arguments: f"because of {arguments}"
    for words, given in ([], {}), (["doubled"], {"bolt": "doubled"}), (["doubling", "x", "--at", "9"], {"bolt": "x", "at": "9"}):
        assert main(["explain", *words]) == exit_codes.OK
        assert capsys.readouterr().out == f"doubling, running, {master.url}/v1/topologies/doubling\nbecause of {given}\n"


def keeps(master: Master, directory: Path) -> None:
    """Let the topology have these files."""
    verbs = Verbs()
    add_driver_verbs(verbs, cast("TopologyController", None), directory)
    for verb in ("files", "file"):
        master.verbs[verb] = lambda arguments, verb=verb: asyncio.run(verbs.call(verb, arguments))  # type: ignore[misc]


def told_files(name: str, _: object) -> dict[str, Any]:
    return {"files": {name: {"id": 1, "bytes": 0}}}


def test_decisions_are_brought_here_for_json_and_replay(master: Master, home: Path, capsys: Shown) -> None:
    line = decision_log.written(Record(1, 1.7e9, 30.0, "cycle", "pa-sps", None, Plan({}, held="no snapshot")))
    (home / "run").mkdir()
    (home / "run" / "decisions.jsonl").write_bytes(line + b"\n")
    keeps(master, home / "run")
    assert main(["explain", "doubling", "--json"]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)["number"] == 1
    assert main(["explain", "--replay"]) == exit_codes.OK
    assert "1 made no plan" in capsys.readouterr().out


def test_explain_and_report_take_what_lives_before_what_is_over(master: Master, home: Path, capsys: Shown) -> None:
    master.verbs["explain"] = lambda _: "because"
    directory = runs_here(home, "here")
    assert main(["explain", "here"]) == exit_codes.OK
    assert capsys.readouterr().out.startswith(f"here, running, {directory}\n")
    runs_here(home)
    assert main(["explain", "doubling"]) == exit_codes.INVALID
    assert "runs twice" in capsys.readouterr().err
    assert main(["explain", "nonsense", "x", "--master", master.url]) == exit_codes.INVALID
    assert "no topology named 'nonsense' runs in the cluster" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["explain", "counting"], ["report", "counting"], ["explain"], ["report"]])
@pytest.mark.parametrize("left", [{"summary": {"run_dir": "/srv/driver/runs/counting-2"}}, {"summary": None}])
def test_a_topology_that_ended_in_the_cluster_is_not_taken_for_an_older_run_here(
    master: Master, home: Path, words: list[str], left: dict[str, Any], capsys: Shown
) -> None:
    older = write_run(home / "runs" / "counting-1", *made_up(40, 10))
    write_json(older / "run.json", known_run("counting", RunState.ENDED, started=1000.0, ended=1500.0).record)
    master.topologies.clear()
    master.ended = [{"name": "counting", "submitted": 2000.0, "ended": 2500.0, **left}]
    assert main(words) == exit_codes.INVALID
    said = capsys.readouterr().err
    assert f"topology 'counting' ended in the cluster at {master.url}" in said
    assert ("/srv/driver/runs/counting-2" in said) == (left["summary"] is not None)
    assert f"give its directory {older}" in said, "how to have the older one"
    assert main([words[0], str(older)]) == exit_codes.OK
    master.ended[0]["submitted"] = 900.0
    assert main(words) == exit_codes.OK, "the run here is the newer one"


def test_what_a_topology_of_a_cluster_on_this_machine_left_is_read(master: Master, home: Path, capsys: Shown) -> None:
    run = write_run(home / "driver" / "runs" / "counting-7", *made_up(40, 10))
    write_json(run / "run.json", known_run("counting", RunState.ENDED, started=2001.0, ended=2500.0).record)
    master.topologies.clear()
    master.ended = [{"name": "counting", "submitted": 2000.0, "ended": 2500.0, "summary": {"run_dir": str(run)}}]
    for more in ([], ["--master", master.url]):
        assert main(["explain", "counting", *more]) == exit_codes.OK
        assert capsys.readouterr().out.startswith(f"counting, ended, {run}\n")
        assert main(["report", "counting", "--json", *more]) == exit_codes.OK
        assert json.loads(capsys.readouterr().out)["measures"]["samples"] == 40
    write_json(run / "run.json", known_run("another", RunState.ENDED, started=2001.0, ended=2500.0).record)
    assert main(["report", "counting"]) == exit_codes.INVALID, "a directory here of that path need not be the one there"


def test_report_is_made_of_the_files_of_the_topology(master: Master, home: Path, capsys: Shown) -> None:
    (home / "run").mkdir()
    (home / "run" / "run.json").write_bytes(b"{}")
    keeps(master, home / "run")
    assert main(["report", "doubling", "--out", str(home / "out")]) == exit_codes.INVALID
    assert "expected metrics.jsonl in the directory of a run" in capsys.readouterr().err
    write_run(home / "run", *made_up(40, 10))
    assert main(["report", "--json", "--out", str(home / "out")]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)["measures"]["samples"] == 40
    assert (home / "out" / "report.html").is_file()
    master.verbs["file"] = lambda _: {"content": "no base64!", "offset": 1}
    assert main(["report"]) == exit_codes.BROKEN
    assert "answered `file` with something else" in capsys.readouterr().err
    for name in ("../evil", ".hidden", "a/b", ""):
        master.verbs["files"] = partial(told_files, name)
        assert main(["report"]) == exit_codes.BROKEN
        assert f"has a file {name!r}; expected a plain name" in capsys.readouterr().err


# ---- logs, rebalance


def test_logs_of_all_come_as_the_topology_puts_them(master: Master, capsys: Shown) -> None:
    master.verbs["logs"] = lambda arguments: {"worker": None, "host": "", "text": f"==> w0 <==\n{arguments}\n", "offset": 0}
    assert called("logs", "doubling", "--lines", "5") == exit_codes.OK
    assert capsys.readouterr().out == "==> w0 <==\n{'lines': 5}\n"


def test_logs_are_followed_from_where_the_last_look_ended(master: Master, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pasps.cli.logs._LOOK_SECONDS", 0.01)
    seen: list[dict[str, Any]] = []

    def told(arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append(arguments)
        if len(seen) == 2:
            raise BrokenError("no master leads now")
        if len(seen) == 4:
            master.topologies.clear()
        return {"worker": "w0", "host": "node-2", "text": f"line {len(seen)}\n", "offset": 10 * len(seen)}

    master.verbs["logs"] = told
    assert called("logs", "--worker", "w0", "-f", "--lines", "7") == exit_codes.OK
    assert capsys.readouterr().out == "line 1\nline 3\nline 4\ndoubling: it ended\n"
    after = {"worker": "w0", "offset": 10}
    assert seen == [{"worker": "w0", "lines": 7}, after, after, {"worker": "w0", "offset": 30}]


def test_logs_as_json_name_worker_and_host(master: Master, capsys: Shown) -> None:
    master.verbs["logs"] = lambda arguments: {"worker": arguments["worker"], "host": "node-2", "text": "a\nb\n", "offset": 4}
    assert called("logs", "--json") == exit_codes.OK
    assert json.loads(capsys.readouterr().out) == {"worker": "w0", "host": "node-2", "text": "a\nb"}
    master.verbs["logs"] = lambda _: {}
    with pytest.raises(ProtocolError, match="topology 'doubling' answered `logs` with something else"):
        called("logs", "--worker", "w0")


def test_rebalance_says_that_it_restarts(master: Master, capsys: Shown) -> None:
    assert called("rebalance", "doubling", "--workers", "4", "--pool", "doubled=8", "-w", "2") == exit_codes.OK
    assert "doubling: its workers are being restarted with 4 workers, pool doubled=8" in capsys.readouterr().out
    assert master.bodies() == [{"workers": 4, "pools": {"doubled": 8}, "wait": 2.0}]
    assert called("rebalance", "--json") == exit_codes.OK
    assert json.loads(capsys.readouterr().out) == {"name": "doubling", "workers": None, "pools": {}, "wait": None}
    master.refusal = RefusalError(422, "InvalidError", "there is no bolt 'x'")
    with pytest.raises(InvalidError, match="--pool 'doubled': expected bolt=n"):
        called("rebalance", "--pool", "doubled")


@pytest.mark.parametrize(("name", "said"), [("logs", "keeps no log"), ("rebalance", "workers and pools stay as they were started")])
def test_a_run_of_this_machine_has_none_of_these(home: Path, name: str, said: str) -> None:
    runs_here(home, "here")
    with pytest.raises(InvalidError, match=said):
        called(name, "here")
