"""The commands on topologies of a cluster: which one is meant, and what they do, with a master that keeps the contract of the API."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import main
from pasps.errors import BrokenError, ClosedError
from pasps.topology.process_identity import started
from pasps.topology.run_record import write_json
from pasps.topology.verbs import json_ready
from tests.integration.fake_master import TOKEN, Master, known_master, nobody, runs_here
from tests.unit.cli.builders import report, status

pytestmark = pytest.mark.integration

Shown = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture(autouse=True)
def master(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Master]:
    with known_master(home, monkeypatch) as found:
        yield found


# ---- which one


@pytest.mark.parametrize("words", [["status"], ["status", "doubling"]])
def test_status_is_that_of_the_cluster(master: Master, words: list[str], capsys: Shown) -> None:
    assert main(words) == exit_codes.OK
    shown = capsys.readouterr().out
    assert shown.startswith("doubling: running, up 0:00:03, in the cluster, driver 41 on node-1\n")
    assert "workers    1 of 1: w0 (41 on 127.0.0.1)" in shown
    assert "\nrun  " not in shown


def test_status_as_json_says_where(master: Master, capsys: Shown) -> None:
    assert main(["status", "--json"]) == exit_codes.OK
    told = json.loads(capsys.readouterr().out)
    assert told["run_dir"] == f"{master.url}/v1/topologies/doubling"
    assert told["stats"]["components"].keys() == {"numbers", "doubled"}


def test_a_name_that_runs_twice_is_refused_with_both(master: Master, home: Path, capsys: Shown) -> None:
    directory = runs_here(home)
    for words in (["status", "doubling"], ["status"]):
        assert main(words) == exit_codes.INVALID
        shown = capsys.readouterr().err
        assert f"run directory of the one of this machine, or for the cluster's --master {master.url}\n" in shown
        assert str(directory) in shown
    assert main(["status", "doubling", "--master", master.url]) == exit_codes.OK
    assert main(["status", str(directory)]) == exit_codes.BROKEN
    assert "cannot be reached, it has probably just ended" in capsys.readouterr().err


def test_what_runs_here_alone_is_found_though_the_master_is_down(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    runs_here(home)
    monkeypatch.setenv("PASPS_MASTER", nobody())
    assert main(["status", "doubling"]) == exit_codes.BROKEN
    assert "topology 'doubling' (process 1) cannot be reached" in capsys.readouterr().err
    assert main(["status"]) == exit_codes.BROKEN
    assert "(PASPS_MASTER) cannot be reached" in capsys.readouterr().err, "the only one here need not be the one that is meant"


def test_what_runs_nowhere_is_told_of_both(master: Master, capsys: Shown) -> None:
    assert main(["kill", "dubling"]) == exit_codes.NOT_RUNNING
    shown = capsys.readouterr().err
    assert "no topology named 'dubling' runs, nor does any other\n" in shown
    assert f"no topology named 'dubling' runs in the cluster at {master.url}; did you mean 'doubling'?" in shown


def test_with_the_option_runs_of_this_machine_do_not_count(master: Master, home: Path, capsys: Shown) -> None:
    runs_here(home, "here")
    assert main(["status", "here", "--master", master.url]) == exit_codes.NOT_RUNNING
    master.add("another")
    assert main(["status", "--master", master.url]) == exit_codes.INVALID
    assert "several topologies run in the cluster at" in capsys.readouterr().err


def test_a_master_that_is_down_or_refuses_is_said(monkeypatch: pytest.MonkeyPatch, master: Master, capsys: Shown) -> None:
    assert main(["status", "doubling", "--master", nobody()]) == exit_codes.BROKEN
    assert "start a development cluster with `pasps cluster up`" in capsys.readouterr().err
    monkeypatch.setenv("PASPS_TOKEN", "wrong")
    assert main(["status", "doubling"]) == exit_codes.INVALID
    shown = capsys.readouterr().err
    assert "no topology named 'doubling' runs" in shown
    assert "does not take this token" in shown


def test_the_development_cluster_is_found_by_its_file_while_it_is_up(master: Master, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PASPS_MASTER")
    monkeypatch.delenv("PASPS_TOKEN")
    assert main(["status"]) == exit_codes.NOT_RUNNING
    assert master.asked == []
    (home / "cluster").mkdir()
    own = {"master": {"pid": os.getpid(), "process": started(os.getpid())}}
    write_json(home / "cluster" / "cluster.json", {"master": master.url, "token": TOKEN, "processes": own})
    assert main(["status"]) == exit_codes.OK
    assert master.asked[0] == ("GET", "/healthz", None, b""), "without the token: it is only asked whether it is there"
    assert {token for _, _, token, _ in master.asked[1:]} == {f"Bearer {TOKEN}"}
    assert main(["status", "--master", master.url]) == exit_codes.OK, "its token too, when it is named by its address"
    write_json(home / "cluster" / "cluster.json", {"master": nobody(), "token": TOKEN, "processes": own})
    assert main(["status"]) == exit_codes.NOT_RUNNING
    del master.asked[:]
    write_json(
        home / "cluster" / "cluster.json", {"master": master.url, "token": TOKEN, "processes": {"master": {"pid": 1, "process": ""}}}
    )
    assert main(["status"]) == exit_codes.NOT_RUNNING
    assert master.asked == [], "its master is dead, so somebody else listens there"


@pytest.mark.parametrize(
    ("state", "code", "said"),
    [
        ("waiting", exit_codes.NO_ANSWER, "waits in the cluster: 2 more places"),
        ("starting", exit_codes.NO_ANSWER, "is still starting in the cluster"),
        ("lost", exit_codes.NO_ANSWER, "has no driver now: 2 more places"),
        ("failed", exit_codes.BROKEN, "could not start: 2 more places; remove it with `pasps kill doubling`"),
        ("ended", exit_codes.NOT_RUNNING, "does not run any more; it ended"),
    ],
)
def test_one_that_cannot_answer_says_why(master: Master, state: str, code: int, said: str, capsys: Shown) -> None:
    master.add("doubling", state, "2 more places")
    for words in (["status"], ["top"], ["errors"], ["scale", "doubled=2"]):
        assert main(words) == code
        assert said in capsys.readouterr().err
    master.verbs["activate"] = lambda _: {"state": "running"}
    assert main(["activate"]) == exit_codes.OK, "what is intended is kept until it can be done"
    master.verbs["deactivate"] = lambda _: {"state": state, "wanted": "inactive"}
    capsys.readouterr()
    assert main(["deactivate"]) == exit_codes.OK
    assert capsys.readouterr().out == f"doubling is {state}; it will be inactive when it runs\n"


# ---- what they do


def test_scale_activate_and_deactivate_are_passed_on(master: Master, capsys: Shown) -> None:
    scaled = {"before": 2, "planned": 4, "after": 4, "error": None}
    master.verbs.update(
        scale=lambda _: {"table_version": 7, "bolts": {"doubled": scaled}},
        deactivate=lambda _: {"state": "inactive"},
        activate=lambda _: {"state": "running"},
    )
    assert main(["scale", "doubling", "doubled=4"]) == main(["deactivate"]) == main(["activate", "--json"]) == exit_codes.OK
    assert capsys.readouterr().out == 'doubled: 2 -> 4 active\ndoubling is inactive\n{"state": "running"}\n'
    assert {"bolts": {"doubled": 4}} in master.bodies()


def test_errors_are_those_of_the_topology(master: Master, capsys: Shown) -> None:
    master.verbs["errors"] = lambda _: {"errors": [{"component": "doubled", "task": 2, "time": 0.0, "text": report("ValueError: 3").text}]}
    assert main(["errors", "--limit", "3"]) == exit_codes.OK
    assert "component 'doubled', task 2:\n    ValueError: 3" in capsys.readouterr().out


def test_kill_tells_how_it_ended(master: Master, capsys: Shown) -> None:
    summary = {"topology": "doubling", "seconds": 3.0, "left": {"doubled": 2}, "emitted": 9, "acked": 7, "run_dir": "/home/run"}
    master.verbs["kill"] = lambda _: summary
    assert main(["kill", "doubling", "-w", "0"]) == exit_codes.LEFT_OVER
    assert capsys.readouterr().out.splitlines()[1].endswith("summary in /home/run on node-1")
    assert master.bodies() == [{"wait": 0.0}]
    master.verbs["kill"] = lambda _: None
    assert main(["kill", "doubling"]) == exit_codes.OK
    assert capsys.readouterr().out == "doubling ended; nobody is left who knows how\n"
    assert main(["kill", "doubling", "--json"]) == exit_codes.OK
    assert capsys.readouterr().out == "null\n"


def test_top_goes_on_over_a_change_of_masters_and_ends_with_the_topology(master: Master, capsys: Shown) -> None:
    master.ended = [{"name": "doubling", "submitted": 1000.0, "ended": 5000.0, "summary": None}]
    answers = iter([status(1.0), status(2.0), BrokenError("no master leads now"), status(3.0), status(4.0), None])

    def told(_: Any) -> Any:
        match next(answers):
            case None:
                master.topologies.clear()
                raise ClosedError("it ended")
            case BrokenError() as error:
                raise error
            case found:
                return json_ready(found)

    master.verbs["status"] = told
    assert main(["top", "--no-tty", "--interval", "0.01"]) == exit_codes.OK
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition("  ")[0] for line in shown] == [
        "running; Ctrl-C leaves", "0:00:02", "no master leads now", "running; Ctrl-C leaves", "0:00:04", shown[-1],
    ]  # fmt: skip
    assert shown[-1].startswith("doubling: it ended at 19")


def test_list_has_both(master: Master, home: Path, capsys: Shown) -> None:
    directory = runs_here(home, "here")
    master.topologies["doubling"]["driver"]["policy"] = "presps"
    master.add("third", "waiting", "it waits for 2 more places", driver=None, workers=None)
    master.ended = [{"name": "old", "submitted": 500.0, "ended": 900.0, "summary": None}]
    assert main(["list"]) == exit_codes.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["topology", "where", "state"]
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["here", "here", "running"], ["doubling", master.url, "running"], ["third", master.url, "waiting"],
    ]  # fmt: skip
    assert [line.split()[-2:] for line in lines[2:4]] == [["presps", "-"], ["-", "-"]], "the policy, once its driver has said it"
    assert lines[4:] == ["third: waiting: it waits for 2 more places"]
    assert main(["list", "--all", "--json"]) == exit_codes.OK
    here, old, doubling, _ = json.loads(capsys.readouterr().out)
    assert (here["run_dir"], old["state"], old["ended"], old["pid"]) == (str(directory), "ended", 900.0, None)
    assert doubling == {
        "name": "doubling", "state": "running", "pid": 41, "host": "node-1", "started": 1000.0, "ended": None, "workers": 2,
        "policy": "presps", "file": None, "run_dir": None, "master": master.url, "detail": "",
    }  # fmt: skip
    assert main(["list", "--json", "--master", master.url]) == exit_codes.OK
    assert [found["name"] for found in json.loads(capsys.readouterr().out)] == ["doubling", "third"]


def test_list_shows_what_runs_here_when_the_master_is_down(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    runs_here(home, "here")
    monkeypatch.setenv("PASPS_MASTER", nobody())
    assert main(["list"]) == exit_codes.BROKEN
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].startswith("here")
    assert "pasps list: the master at" in shown.err
    assert main(["list", "--master", nobody()]) == exit_codes.BROKEN
    assert capsys.readouterr().out == ""
