"""Every application on a real cluster, four at a time, each losing a worker in the middle: every event stored exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.reliability.subject import kill, wait_for
from pasps.cli.master_client import MasterClient
from pasps.cluster.package import PackageRequest, build_package
from pasps.daemons.dev.wanted import Wanted
from pasps.daemons.dev_cluster import DevCluster
from tests.integration.applications import APPLICATIONS, Application
from tests.integration.test_cluster import START_SECONDS, client_of, ended, state_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

TOTAL = 3_000
RATE = 300
AT_ONCE = 4


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(Wanted(workers=2, cores=4), START_SECONDS)
    return session_cluster


def submit(client: MasterClient, application: Application, directory: Path) -> None:
    options = {
        "events.total": TOTAL,
        "events.rate": RATE,
        "events.kind": "steady",
        "sql.url": f"sqlite:///{directory}/{application.name}.db",
        "pasps.interval.secs": 1,
        "topology.message.timeout.secs": 60,
    }
    package = directory / f"{application.name}.zip"
    build_package(PackageRequest(application.path, name=application.name, options=options, workers=2), package)
    client.submit(package)


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
def test_every_event_is_stored_once_though_each_loses_a_worker(cluster: DevCluster, tmp_path: Path, first: int) -> None:
    applications = list(APPLICATIONS[first : first + AT_ONCE])
    for application in applications:
        submit(client_of(cluster), application, tmp_path)
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
        application.check(f"sqlite:///{tmp_path}/{application.name}.db", TOTAL)
