"""Every application under `pasps run`: the elastic loop activates replicas, a worker is killed, and every event is stored exactly once.

The loop is told, by a file of execution times, that each event costs every bolt ten milliseconds, so that the replicas do not depend
on the machine; the policy is the paper's, which plans no fewer where cores are few.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pasps.control.et_file import EtFile, OperatorTimes, et_path, write_execution_times
from tests.integration.applications import APPLICATIONS, ROOT, Application
from tests.integration.predictor_service_process import Service
from tests.integration.run_process import Run, pasps, wait_until

pytestmark = pytest.mark.integration

TOTAL = 1_800
RATE = 300
ET_SECONDS = 0.01
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


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The applications, each with a file of execution times."""
    copy = tmp_path_factory.mktemp("applications") / "topologies"
    shutil.copytree(ROOT / "topologies", copy, ignore=shutil.ignore_patterns("__pycache__", "*.db"))
    for application in APPLICATIONS:
        blueprint = application.blueprint()
        bolts = {name: plan.execution for name, plan in blueprint.components.items() if not plan.is_spout}
        times = {name: OperatorTimes(ET_SECONDS, execution, source=None) for name, execution in bolts.items()}
        write_execution_times(et_path(str(copy / application.name / application.file)), EtFile(blueprint.name, times))
    return copy


def start(application: Application, folders: Path, predictor: str, folder: Path) -> Run:
    folder.mkdir()
    keys = {
        "events.total": TOTAL,
        "events.rate": RATE,
        "events.kind": "steady",
        "work.rounds": 10,  # who computes is not what is looked at here
        "sql.url": url_in(folder),
        "pasps.predictor.url": predictor,
        "pasps.policy": "pa-sps",
        "pasps.interval.secs": 1,
    }
    options = [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]
    file = folders / application.name / application.file
    return Run(folder, str(file), "--json", "--workers", "2", "--run-dir", str(folder / "run"), *options)


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/stored.db"


def spread(application: Application, run: Run) -> bool:
    """Whether a bolt before the store has more replicas than at the start, and a part of the events is through, not all."""
    plans = application.blueprint().components
    for line in run.lines():
        grown = [name for name, told in line.get("components", {}).items() if told["active"] > plans[name].par]
        if set(grown) - {list(plans)[-1]} and TOTAL // 10 < line["acked"] < TOTAL:
            return True
    return False


def kill_a_worker(application: Application, run: Run) -> None:
    wait_until(lambda: spread(application, run), "replicas to be activated", run)
    run.family = set(run.process.children(recursive=True))
    workers = [process for process in run.family if "pasps.worker.process" in words_of(process)]
    os.kill(workers[0].pid, signal.SIGKILL)


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; nothing when it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def check(application: Application, run: Run, folder: Path) -> None:
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"], summary["workers_lost"]) == ("finished", {}, 1)
    application.check(url_in(folder), TOTAL)
    told = pasps(run.home, "explain", str(folder / "run"), "--json")
    assert told.returncode == 0, told.stderr
    newest = json.loads(told.stdout.splitlines()[-1])
    assert (newest["policy"], newest["moment"]) == ("pa-sps", "cycle")
    assert newest["number"] >= 2


@pytest.mark.parametrize("four", FOURS, ids=["+".join(each.name for each in four) for four in FOURS])
def test_every_event_is_stored_once_though_a_worker_is_killed(
    four: tuple[Application, ...], folders: Path, predictor: str, tmp_path: Path
) -> None:
    homes = [tmp_path / application.name for application in four]
    runs = [start(application, folders, predictor, home) for application, home in zip(four, homes, strict=True)]
    try:
        # each by itself: one that runs does not wait for its turn, and is over after some seconds
        with ThreadPoolExecutor(len(four)) as pool:
            list(pool.map(kill_a_worker, four, runs))
        for application, run, home in zip(four, runs, homes, strict=True):
            check(application, run, home)
    finally:
        for run in runs:
            run.clean_up()
