"""Every application by `pasps submit` on a real cluster, each losing a worker in the middle: PostgreSQL has every event exactly once.

All are submitted at once; there are places for four, and the others wait in the cluster until places are free.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Semaphore
from typing import Any

import psutil
import pytest

from benchmarks.reliability.subject import kill, wait_for
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.wanted import WantedCluster
from pasps.errors import PaspsError
from tests.integration.applications import APPLICATIONS, Application
from tests.integration.postgres_server import PostgresServer
from tests.integration.run_process import pasps
from tests.integration.test_cluster import START_SECONDS, client_of, ended, state_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOTAL = 960
RATE = 120
SUBMITTED_AT_ONCE = 2
ASK_SECONDS = 0.7


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(WantedCluster(workers=2, cores=4), START_SECONDS)
    return session_cluster


def submit(application: Application, cluster: DevCluster, home: Path, url: str) -> None:
    keys = {
        "events.total": TOTAL,
        "events.rate": RATE,
        "events.kind": "steady",
        "work.rounds": 10,  # who computes is not what is looked at here
        "sql.url": url,
        "pasps.interval.secs": 1,
        "topology.message.timeout.secs": 60,
    }
    options = [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]
    names = ("--name", application.name, "--master", cluster.state.master)
    told = pasps(home, "submit", str(application.path), *names, *options, "--workers", "1", "--no-wait")
    assert told.returncode == 0, told.stderr


def hurt(cluster: DevCluster, application: Application) -> bool:
    """Kill a worker; False until it runs, a part of its events has been stored, and its loop has planned."""
    time.sleep(ASK_SECONDS)  # each question goes through the master and a driver to all workers
    assert ended(cluster, application.name) is None, f"{application.name}: it ended before a worker of it was killed"
    if state_of(cluster, application.name) != "running":
        return False
    told: dict[str, Any] = client_of(cluster).call(application.name, "status", {}, 5.0)
    if told["stats"]["acked"] < TOTAL // 10 or "cycle" not in str((told["elastic"] or {}).get("decision")):
        return False
    assert told["stats"]["acked"] < TOTAL, f"{application.name}: too late, everything is done"
    kill(psutil.Process(told["workers"][0]["pid"]))
    return True


def summary_of(cluster: DevCluster, application: Application) -> dict[str, Any]:
    """How it ended, after a worker of it was killed in the middle."""
    name = application.name

    def over() -> dict[str, Any] | None:
        time.sleep(ASK_SECONDS)
        return ended(cluster, name)

    try:
        wait_for(lambda: hurt(cluster, application), f"the middle of {name}")
        summary: dict[str, Any] = wait_for(over, f"the end of {name}")
    except TimeoutError as error:
        with suppress(PaspsError):
            error.add_note(f"it is {client_of(cluster).topology(name)}")
            error.add_note(f"it answers {client_of(cluster).call(name, 'status', {}, 5.0)}")
        raise
    return summary


def test_every_event_is_stored_once_though_each_loses_a_worker(
    cluster: DevCluster, postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres_server.create("applications")
    url = postgres_server.url("applications")
    monkeypatch.setenv("PASPS_TOKEN", cluster.state.token)
    submitting = Semaphore(SUBMITTED_AT_ONCE)

    def run(application: Application) -> dict[str, Any]:
        with submitting:
            submit(application, cluster, tmp_path, url)
        # each by itself: one that runs does not wait for its turn, and is over after eight seconds
        return summary_of(cluster, application)

    with ThreadPoolExecutor(len(APPLICATIONS)) as pool:
        summaries = list(pool.map(run, APPLICATIONS))
    for application, summary in zip(APPLICATIONS, summaries, strict=True):
        assert (summary["ended"], summary["left"]) == ("finished", {}), application.name
        application.check(url, TOTAL)
