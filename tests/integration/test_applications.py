"""Every application under `pasps run`, with the elastic loop and a predictor, while a worker is killed: every event stored exactly once."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.applications import APPLICATIONS, Application
from tests.integration.predictor_service_process import Service
from tests.integration.run_process import Run, pasps, wait_until

pytestmark = pytest.mark.integration

TOTAL = 1_200
RATE = 400
FOURS = [APPLICATIONS[:4], APPLICATIONS[4:]]
"""So many run at a time: most of a run is waiting for the next event to become due."""


@pytest.fixture(scope="module")
def predictor() -> Iterator[str]:
    """One for all of them."""
    service = Service()
    try:
        service.wait_ready()
        yield f"http://127.0.0.1:{service.port}"
    finally:
        service.clean_up()


def start(application: Application, predictor: str, folder: Path) -> Run:
    folder.mkdir()
    keys = {
        "events.total": TOTAL,
        "events.rate": RATE,
        "events.kind": "steady",
        "work.rounds": 10,  # who computes is not what is looked at here
        "sql.url": url_in(folder),
        "pasps.predictor.url": predictor,
        "pasps.interval.secs": 1,
    }
    options = [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]
    return Run(folder, str(application.path), "--json", "--workers", "2", "--run-dir", str(folder / "run"), *options)


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/stored.db"


def kill_a_worker(run: Run) -> None:
    wait_until(lambda: any(line.get("acked", 0) > TOTAL // 10 for line in run.lines()), "a part of the events", run)
    run.family = set(run.process.children(recursive=True))
    workers = [process for process in run.family if any("worker_process" in word for word in process.cmdline())]
    os.kill(workers[0].pid, signal.SIGKILL)


def check(application: Application, run: Run, folder: Path) -> None:
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"], summary["workers_lost"]) == ("finished", {}, 1)
    application.check(url_in(folder), TOTAL)
    told = pasps(run.home, "explain", str(folder / "run"), "--json")
    assert told.returncode == 0, told.stderr
    newest = json.loads(told.stdout.splitlines()[-1])
    assert (newest["policy"], newest["moment"]) == ("pasps", "cycle")
    assert newest["number"] >= 2


@pytest.mark.parametrize("four", FOURS, ids=["+".join(each.name for each in four) for four in FOURS])
def test_every_event_is_stored_once_though_a_worker_is_killed(four: tuple[Application, ...], predictor: str, tmp_path: Path) -> None:
    folders = [tmp_path / application.name for application in four]
    runs = [start(application, predictor, folder) for application, folder in zip(four, folders, strict=True)]
    try:
        for run in runs:
            kill_a_worker(run)
        for application, run, folder in zip(four, runs, folders, strict=True):
            check(application, run, folder)
    finally:
        for run in runs:
            run.clean_up()
