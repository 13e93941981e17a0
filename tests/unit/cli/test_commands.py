"""What the commands that ask a run print, given what it answered."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pasps.cli import exit_codes
from pasps.cli.list import list_lines, run_object
from pasps.cli.main import COMMANDS, main
from pasps.cli.status import errors_text, status_text
from pasps.cli.verbs import kill_text, scale_of, scaled_code, scaled_lines
from pasps.control.decision_log import Restarts
from pasps.errors import InvalidError
from pasps.metrics import Latency
from pasps.topology.run_record import RunState, write_json
from pasps.topology.verbs import HOP_SECONDS, KNOWN, Scaled, ScaleDone
from tests.unit.cli.builders import known_run, report, status

OPTIONAL = {"predictor", "predictor train", "report"}
"""Commands whose modules need more than the runtime."""


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.name not in OPTIONAL], ids=lambda command: command.name)
def test_every_command_explains_itself(command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.name.split(), "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"  pasps {command.name}" in shown
    assert "exit codes:\n" in shown
    assert bool(command.actions()) is not callable(getattr(importlib.import_module(command.module), command.function, None))


def test_one_command_does_not_load_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    sys.modules.pop("pasps.cli.verbs")
    with pytest.raises(SystemExit):
        main(["list", "--help"])
    assert "pasps.cli.verbs" not in sys.modules
    assert "--all" in capsys.readouterr().out


# ---- list


def test_the_list_has_a_line_for_each_run() -> None:
    lines = list_lines([known_run(policy="pasps"), known_run("other", RunState.LOST, 2, host="far-away")])
    assert lines[0].split() == ["topology", "state", "process", "started", "workers", "policy", "run", "directory"]
    assert lines[1].startswith("doubling  running  ")
    assert lines[1].endswith("2  pasps   /base/runs/doubling-20260102-030405-1")
    assert "2 on far-away" in lines[2]


def test_the_list_says_below_what_else_is_to_be_known_of_those_that_run() -> None:
    runs = [known_run(detail="all workers are being started anew"), known_run("other", RunState.ENDED, 2, detail="something")]
    assert list_lines(runs)[3:] == ["doubling: running: all workers are being started anew"]
    assert run_object(runs[0])["detail"] == "all workers are being started anew"


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert main(["list", "--json", *arguments]) == exit_codes.OK
    found: list[Any] = json.loads(capsys.readouterr().out)
    return found


def test_all_shows_what_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PASPS_HOME", str(tmp_path))
    assert main(["list"]) == exit_codes.OK
    assert capsys.readouterr().out == "no topology runs\n"
    for run in (
        known_run("a", RunState.ENDED, 1, ended=2000.0),
        known_run("b", RunState.RUNNING, 2, process="gone"),
        known_run("c", number=3),
    ):
        (tmp_path / "runs" / run.directory.name).mkdir(parents=True)
        write_json(tmp_path / "runs" / run.directory.name / "run.json", run.record)
    assert [run["name"] for run in listed(capsys)] == ["c"]
    assert [(run["name"], run["state"]) for run in listed(capsys, "--all")] == [("a", "ended"), ("b", "lost"), ("c", "running")]
    assert listed(capsys, "--all")[0] == {
        "name": "a", "state": "ended", "pid": 1, "host": known_run().record.host, "started": 1001.0, "ended": 2000.0, "workers": 2,
        "policy": None, "file": "/home/user/doubling.py", "run_dir": str(tmp_path / "runs" / "a-20260102-030405-1"),
        "detail": None,
    }  # fmt: skip


def test_what_does_not_run_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PASPS_HOME", str(tmp_path))
    for words in (["status"], ["top", "wc"], ["scale", "count=3"], ["kill"], ["errors"], ["activate"], ["deactivate"]):
        assert main(words) == exit_codes.NOT_RUNNING
        assert capsys.readouterr().err.startswith(f"pasps {words[0]}: no topology ")


# ---- status


def test_status_shows_components_totals_workers_and_errors() -> None:
    latency = Latency(10, 0.004, 0.003, 0.02, 1.5)
    shown = status_text(
        status(
            65.0, [report("ValueError: 3")], emitted_first=650, pending=7, complete_latency=latency, doubled={"executed": 130, "errors": 2}
        ),
        known_run(),
    )
    lines = shown.splitlines()
    assert lines[0] == "doubling: running, up 0:01:05, process 1"
    assert lines[4].split() == ["doubled", "0", "130", "0", "2", "2/4", "0", "µs", "2.0"]
    assert "rate       10 events/s   (whole run, as executed/s)" in lines
    assert "in flight  7" in lines
    assert "workers    1 of 1: w0 (process 41)" in lines
    assert "errors     2; the last:" in lines
    assert "did not answer" not in shown
    assert "did not answer in time" in status_text(status(complete=False), known_run())


def test_status_shows_a_restart_while_it_is_under_way_and_how_many_there_were() -> None:
    restarting = replace(status(), restarting="all workers are being started anew (doubled 1 -> 2)", restarts=Restarts(1, 30.0, 2.0, 4))
    lines = status_text(restarting, known_run()).splitlines()
    assert "restart    all workers are being started anew (doubled 1 -> 2)" in lines
    assert "restarts   1 by a plan; the spouts were silent for 32.0 s, 4 events came again" in lines
    assert not any(line.startswith("restart") for line in status_text(status(), known_run()).splitlines())


# ---- scale


def test_the_topology_comes_first_if_it_is_said() -> None:
    assert scale_of(["count=3", " split = auto "]) == (None, {"count": 3, "split": "auto"})
    assert scale_of(["wc", "count=3"]) == ("wc", {"count": 3})


@pytest.mark.parametrize("words", [["wc"], ["wc", "count"], ["count="], ["=3"], ["count=-1"], ["count=many"], ["count=3", "wc"]])
def test_what_is_no_scale_is_refused(words: list[str]) -> None:
    with pytest.raises(InvalidError, match="for example count=4"):
        scale_of(words)


def test_each_bolt_is_told() -> None:
    bolts = {"a": Scaled(2, 4, 4), "b": Scaled(3, 3, 3), "c": Scaled(3, None, 3), "d": Scaled(1, 2, 1, ("UnmovableError", "no"))}
    assert scaled_lines(ScaleDone(7, bolts)) == [
        "a: 2 -> 4 active", "b: 3 active, as before", "c: 3 active, the policy decides from now on", "d: 1 active, not as asked: no",
    ]  # fmt: skip


def test_a_topology_answers_a_scale_before_it_is_given_up_by_a_master_and_by_the_command() -> None:
    scale = KNOWN["scale"]
    assert scale.seconds is not None
    assert scale.patience is not None
    assert scale.patience > scale.seconds + HOP_SECONDS > scale.seconds


@pytest.mark.parametrize(("error", "code"), [(None, 0), (("UnmovableError", ""), 2), (("TimeoutExpiredError", ""), 7)])
def test_the_exit_code_of_a_scale_is_that_of_what_was_refused(error: tuple[str, str] | None, code: int) -> None:
    assert scaled_code(ScaleDone(7, {"a": Scaled(1, 2, 2), "b": Scaled(1, 2, 1, error)})) == code


# ---- kill and errors


def test_the_end_is_told_with_what_was_left() -> None:
    summary = {"topology": "wc", "seconds": 12.34, "left": {}, "emitted": 1000, "acked": 990, "run_dir": "/runs/wc"}
    assert kill_text(summary).splitlines() == ["wc ended after 12.3 s, drained", "events in 1,000, acked 990; summary in /runs/wc"]
    assert "not drained; left: a: 1,200, b: 3" in kill_text({**summary, "left": {"a": 1200, "b": 3}})


def test_errors_are_shown_whole() -> None:
    assert errors_text([]) == "no errors"
    shown = errors_text([report("Traceback:\n  x\nValueError: no"), report("other", "numbers")])
    assert "component 'doubled', task 2:\n    Traceback:\n      x\n    ValueError: no\n\n" in shown
    assert shown.endswith("component 'numbers', task 2:\n    other")
