"""A restart of all workers in a `pasps run`: what other terminals see of it, and how a run ends that had one or is in the middle of one."""

from __future__ import annotations

import json
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pasps.control import decision_log
from pasps.control.decision_log import Outcome
from tests.integration.run_process import ROOT, Run, pasps, wait_until
from tests.integration.running import rows

HERE = ROOT / "tests" / "integration"
Start = Callable[..., Run]


@pytest.fixture
def home() -> Iterator[Path]:
    """The base directory of one user; its path is short, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="pasps-home-") as place:
        yield Path(place)


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Iterator[Start]:
    """Runs of a topology whose first plan, after a second, is carried out by a restart. Nothing of them may be left."""
    runs: list[Run] = []

    def started(file: str, topology: str, *options: str) -> Run:
        given = [
            "pasps.policy=static", "pasps.policy.options.replicas=4", "pasps.reconfigure=restart", "pasps.interval.secs=1",
            f"test.dir={tmp_path}", *options,
        ]  # fmt: skip
        (folder := tmp_path / str(len(runs))).mkdir()
        words = [word for option in given for word in ("-o", option)]
        runs.append(Run(folder, str(HERE / file), "--topology", topology, "--json", "--workers", "2", *words, home=home))
        return runs[-1]

    yield started
    try:
        for run in runs:
            wait_until(lambda run=run: not any(process.is_running() for process in run.family), "end of its workers", run)  # type: ignore[misc]
            assert not list(run.scratch.iterdir())
    finally:
        for run in runs:
            run.family |= set(run.process.children(recursive=True)) if run.process.is_running() else set()
            run.clean_up()


def until_said(run: Run, text: str) -> dict[str, Any]:
    """The first line that says so of a restart under way; remembers the workers."""

    def found() -> bool:
        return any(text in line.get("restarting", "") for line in run.lines())

    wait_until(found, f"a line with {text!r}", run)
    run.family |= set(run.process.children(recursive=True))
    return next(line for line in run.lines() if text in line.get("restarting", ""))


@pytest.mark.parametrize("moment", ["all workers are to be started anew", "all workers are being started anew"])
def test_every_view_says_that_it_restarts_and_ctrl_c_does_not_wait_for_it(start: Start, home: Path, tmp_path: Path, moment: str) -> None:
    is_before = "to be" in moment
    wait, silence = (3600, 0) if is_before else (0, 3600)
    run = start(
        "topologies.py", "Chain", "test.total=1000000", "test.rate=1000",
        f"pasps.restart.wait.secs={wait}", f"pasps.restart.silence.secs={silence}",
    )  # fmt: skip
    said = until_said(run, moment)["restarting"]
    assert said.startswith(f"{moment} (work 3 -> 4, keyed 3 -> 4, sink 2 -> 4)")
    wait_until(lambda: run.lines()[-1]["workers"] == 2 and run.lines()[-1]["complete"], "two workers", run)
    run.family |= set(run.process.children(recursive=True))
    assert pasps(home, "list").stdout.splitlines()[-1] == f"chain: running: {said}"
    (listed,) = json.loads(pasps(home, "list", "--json").stdout)
    assert listed["detail"] == said
    assert f"restart    {said}" in pasps(home, "status").stdout.splitlines()
    assert f"({said})" in pasps(home, "explain").stdout.splitlines()[0]
    (top,) = [json.loads(line) for line in pasps(home, "top", "--json", "--count", "1", "--interval", "0.1").stdout.splitlines()]
    assert top["restarting"] == said
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"], summary["restarts"]["count"]) == ("interrupted", {}, 0 if is_before else 1)
    assert summary["emitted"] == summary["acked"] > 0
    assert set(range(summary["acked"])) <= {row[0] for row in rows(tmp_path)}
    if is_before:
        (record,) = [decision_log.read(line) for line in (Path(summary["run_dir"]) / "decisions.jsonl").read_text().splitlines()]
        assert {(act.outcome, act.error) for act in record.acts.values()} == {(Outcome.FAILED, "the topology is drained")}
    assert pasps(home, "list").stdout == "no topology runs\n"


def test_afterwards_it_is_told_why_what_it_took_and_what_came_again(start: Start, home: Path, tmp_path: Path) -> None:
    run = start("topologies.py", "Chain", "test.total=6000", "test.rate=1000", "pasps.restart.wait.secs=0", "pasps.restart.silence.secs=1")
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    restarts = summary["restarts"]
    assert (restarts["count"], restarts["lost"], summary["workers_lost"], summary["reports"]) == (1, 0, 0, [])
    assert restarts["silent"] >= 1.0
    assert (summary["failed"], summary["left"], summary["replayed"]) == (0, {}, restarts["replayed"])
    assert set(range(6000)) == {row[0] for row in rows(tmp_path)}
    assert {name: part["active"] for name, part in summary["components"].items()} == {"numbers": 1, "work": 4, "keyed": 4, "sink": 4}
    explained = pasps(home, "explain", summary["run_dir"], "work").stdout
    assert "(cycle 1 by restart, table 3), 3 -> 4." in explained
    assert "all workers were started anew: the spouts were silent for" in explained
    assert pasps(home, "explain", summary["run_dir"], "--replay").returncode == 0
    assert pasps(home, "report", summary["run_dir"]).returncode == 0


def test_what_was_not_tracked_and_went_with_the_workers_is_told_at_the_end(start: Start, tmp_path: Path) -> None:
    run = start(
        "restart_topologies.py", "Queueing", "test.total=3000", "test.rate=1500",
        "pasps.restart.wait.secs=0", "topology.acker.executors=0",
    )  # fmt: skip
    assert run.end() == 5, run.err.read_text()
    summary = run.lines()[-1]
    assert summary["restarts"]["count"] == 1
    assert summary["restarts"]["lost"] > 0
    assert Counter(Counter(row[0] for row in rows(tmp_path)).values()) == {1: 3000 - summary["restarts"]["lost"]}


def test_a_run_that_is_killed_in_the_middle_leaves_no_process(start: Start) -> None:
    run = start(
        "topologies.py", "Chain", "test.total=1000000", "test.rate=1000", "pasps.restart.wait.secs=0", "pasps.restart.silence.secs=3600"
    )
    until_said(run, "all workers are being started anew")
    run.process.kill()
    wait_until(lambda: not any(process.is_running() for process in run.family), "the end of its workers", run)
    for left in run.scratch.iterdir():
        left.unlink()
