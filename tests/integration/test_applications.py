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

TOTAL = 2_000
RATE = 600


@pytest.fixture(scope="module")
def predictor() -> Iterator[str]:
    """One for all of them."""
    service = Service()
    try:
        service.wait_ready()
        yield f"http://127.0.0.1:{service.port}"
    finally:
        service.clean_up()


@pytest.mark.parametrize("application", APPLICATIONS, ids=[each.name for each in APPLICATIONS])
def test_every_event_is_stored_once_though_a_worker_is_killed(application: Application, predictor: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/stored.db"
    keys = {
        "events.total": TOTAL,
        "events.rate": RATE,
        "events.kind": "steady",
        "sql.url": url,
        "pasps.predictor.url": predictor,
        "pasps.interval.secs": 1,
    }
    options = [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]
    directory = tmp_path / "run"
    run = Run(tmp_path, str(application.path), "--json", "--workers", "2", "--run-dir", str(directory), *options)
    try:
        wait_until(lambda: any(line.get("acked", 0) > TOTAL // 10 for line in run.lines()), "a part of the events", run)
        run.family = set(run.process.children(recursive=True))
        workers = [process for process in run.family if any("worker_process" in word for word in process.cmdline())]
        os.kill(workers[0].pid, signal.SIGKILL)
        assert run.end() == 0, run.err.read_text()
    finally:
        run.clean_up()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"], summary["workers_lost"]) == ("finished", {}, 1)
    application.check(url, TOTAL)
    told = pasps(run.home, "explain", str(directory), "--json")
    assert told.returncode == 0, told.stderr
    newest = json.loads(told.stdout.splitlines()[-1])
    assert (newest["policy"], newest["moment"]) == ("pasps", "cycle")
    assert newest["number"] >= 2
