"""Every application by `pasps submit` on a real cluster, four at a time, each losing a worker: PostgreSQL has every event exactly once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.reliability.subject import kill, wait_for
from pasps.daemons.dev.wanted import Wanted
from pasps.daemons.dev_cluster import DevCluster
from tests.integration.applications import APPLICATIONS, Application
from tests.integration.postgres_server import PostgresServer
from tests.integration.run_process import pasps
from tests.integration.test_cluster import START_SECONDS, client_of, ended, state_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

TOTAL = 3_000
RATE = 300
AT_ONCE = 4


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(Wanted(workers=2, cores=4), START_SECONDS)
    return session_cluster


def submit(application: Application, cluster: DevCluster, home: Path, url: str) -> None:
    keys = {
        "events.total": TOTAL,
        "events.rate": RATE,
        "events.kind": "steady",
        "sql.url": url,
        "pasps.interval.secs": 1,
        "topology.message.timeout.secs": 60,
    }
    options = [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]
    names = ("--name", application.name, "--master", cluster.state.master)
    told = pasps(home, "submit", str(application.path), *names, *options, "--no-wait")
    assert told.returncode == 0, told.stderr


def lose_a_worker(cluster: DevCluster, application: Application) -> bool:
    """Kill one; False until it runs and a part of its events has been stored."""
    client = client_of(cluster)
    if state_of(cluster, application.name) != "running":
        return False
    told: dict[str, Any] = client.call(application.name, "status", {}, 5.0)
    if told["stats"]["acked"] < TOTAL // 10:
        return False
    assert told["stats"]["acked"] < TOTAL, "too late: everything is done"
    kill(psutil.Process(told["workers"][0]["pid"]))
    return True


def tell_end(cluster: DevCluster, application: Application) -> dict[str, Any]:
    found: dict[str, Any] = wait_for(lambda: ended(cluster, application.name), f"the end of {application.name}", 120)
    return found


@pytest.mark.parametrize("first", range(0, len(APPLICATIONS), AT_ONCE))
def test_every_event_is_stored_once_though_each_loses_a_worker(
    cluster: DevCluster, postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    database = f"applications{first}"
    postgres_server.create(database)
    url = postgres_server.url(database)
    monkeypatch.setenv("PASPS_TOKEN", cluster.state.token)
    applications = list(APPLICATIONS[first : first + AT_ONCE])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda application: submit(application, cluster, tmp_path, url), applications))
    untouched = list(applications)

    def all_hurt() -> bool:
        for application in list(untouched):
            if lose_a_worker(cluster, application):
                untouched.remove(application)
        return not untouched

    wait_for(all_hurt, "each application to run and to lose a worker")
    for application in applications:
        summary = tell_end(cluster, application)
        assert (summary["ended"], summary["left"]) == ("finished", {})
        application.check(url, TOTAL)
