"""`python -m benchmarks.in_cluster.submitted BOLTS HOME`: the subject of `benchmarks.cluster` that is submitted to a cluster.

HOME is a development cluster's, which is up.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.in_cluster.given import configuration
from benchmarks.in_cluster.names import BOLTS, topology_name
from benchmarks.in_cluster.run_here import FILE
from benchmarks.options import Options, inherited, records_directory
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.master.client import ClusterAddress, MasterClient
from pasps.cluster.master.failures import UnknownTopologyError
from pasps.cluster.package.make import PackageRequest, build_package

SPARK_WORKERS, SPARK_CORES = 2, 4
_MOST_SECONDS = 50.0
"""Beside those of the run itself; whoever measures waits ten more."""
_GONE_SECONDS = 30.0
# while events flow, the master is hardly asked: that would be measured too
_LOOK_SECONDS, _LOOK_FLOWING_SECONDS = 0.1, 1.0


class UnfinishedError(Exception):
    """It did not run to its end."""


def client_of(home: Path) -> MasterClient:
    """Of the cluster that is up there."""
    state = DevCluster(home).state
    return MasterClient(ClusterAddress(state.master, state.token, "the benchmark's cluster"))


def request(options: Options, bolts: str, directory: Path, name: str) -> PackageRequest:
    """What is submitted: its workers are spread over both Spark workers."""
    given = {**configuration(options, directory), "spark.executor.cores": -(-options.workers // SPARK_WORKERS)}
    topology = topology_name(options.workload, bolts, options.workers)
    return PackageRequest(FILE, topology, name, given, options.workers)


def wait_ended(client: MasterClient, name: str, options: Options) -> Mapping[str, Any]:
    """The summary, once it has ended by itself.

    Raises:
        UnfinishedError: it failed, or did not end in time.
    """
    deadline = time.monotonic() + options.seconds + _MOST_SECONDS
    state = detail = ""
    while time.monotonic() < deadline:
        try:
            view = client.topology(name)
        except UnknownTopologyError:
            ended = [one.summary for one in client.ended() if one.name == name]
            if ended:
                return ended[0] or {}
        else:
            state, detail = view.state, view.detail
            if state == "failed":
                raise UnfinishedError(f"{name} failed: {detail}")
        flowing = state == "running" and records.count(records.SourceRecord, records_directory()) < options.workers
        time.sleep(_LOOK_FLOWING_SECONDS if flowing else _LOOK_SECONDS)
    raise UnfinishedError(f"{name} did not end in time; it is {state} {detail}")


def clear(client: MasterClient) -> list[str]:
    """Kill every topology of the cluster, as after a run that did not end; their names, once all are gone.

    Raises:
        UnfinishedError: one does not go.
    """
    found = [view.name for view in client.topologies()]
    for name in found:
        client.call(name, "kill", {"wait": 0.0}, _GONE_SECONDS)
    deadline = time.monotonic() + _GONE_SECONDS
    while client.topologies():
        if time.monotonic() > deadline:
            raise UnfinishedError(f"of {', '.join(found)} not all have gone in {_GONE_SECONDS:g} s after they were killed")
        time.sleep(_LOOK_SECONDS)
    return found


def main() -> int:
    """Until the sources have ended and all that they emitted has arrived."""
    parser = argparse.ArgumentParser("python -m benchmarks.in_cluster.submitted", description=__doc__)
    parser.add_argument("bolts", choices=BOLTS)
    parser.add_argument("home", type=Path)
    # who measures adds a subject's options, which come by the environment too
    wanted, _ = parser.parse_known_args()
    options, directory = inherited(), records_directory()
    name = f"{topology_name(options.workload, wanted.bolts, options.workers)}-{os.getpid()}"
    client, package = client_of(wanted.home), directory / "package.zip"
    build_package(request(options, wanted.bolts, directory, name), package)
    client.submit(package)
    summary = wait_ended(client, name, options)
    if summary.get("ended") != "finished" or summary["failed"] or summary["reports"]:
        print(f"{name}: {summary}")
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnfinishedError as problem:
        sys.exit(str(problem))
