"""Topologies on a real cluster: ZooKeeper, Spark with two workers, a master, drivers, Spark tasks. One cluster for all of them."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest

from benchmarks.reliability.subject import NAME, WORKERS, Subject, kill, wait_for
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.wanted import WantedCluster
from pasps.cluster.master.client import ClusterAddress, MasterClient
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.errors import PaspsError
from tests.integration import finish_topologies, paper_topologies, topologies
from tests.integration.running import rows
from tests.integration.test_exact import counts_of
from tests.integration.test_finish import said
from tests.integration.test_osg import numbers_of
from tests.unit.control.own_words import own_words
from tests.unit.predictor_service.artifact_builder import toy_artifact, toy_rows

pytestmark = pytest.mark.timeout(600)

START_SECONDS = 200.0
RATE = 500.0


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(WantedCluster(workers=2, cores=4), START_SECONDS)
    return session_cluster


def client_of(cluster: DevCluster) -> MasterClient:
    return MasterClient(ClusterAddress(cluster.state.master, cluster.state.token, "the test's cluster"))


def submit(cluster: DevCluster, directory: Path, request: PackageRequest) -> None:
    package = directory / f"{request.name}.zip"
    build_package(request, package)
    client_of(cluster).submit(package)


def state_of(cluster: DevCluster, name: str) -> str:
    view = client_of(cluster).topology(name)
    assert view.state != "failed", view.detail
    return view.state


def ended(cluster: DevCluster, name: str) -> dict[str, object] | None:
    return next((dict(e.summary or {}) for e in client_of(cluster).ended() if e.name == name), None)


@pytest.fixture(scope="module")
def flowing(cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    """A topology under a steady load, hurt by one test after the other; at its end nothing may be missing."""
    subject = Subject(cluster, tmp_path_factory.mktemp("flowing"), RATE)
    subject.submit()
    try:
        yield subject
        subject.wait_full()
        summary = wait_for(lambda: subject.client.call(NAME, "kill", {"wait": 30.0}, 90.0), "the end of the topology")
        assert summary["left"] == {}
        subject.arrivals.read()
        assert subject.arrivals.missing() == []
        assert len(subject.arrivals.first) > RATE
    finally:
        subject.close()
        wait_for(lambda: is_gone(subject.client), "the topology's end")


def is_gone(client: MasterClient) -> bool:
    names = [view.name for view in client.topologies()]
    if NAME in names:
        try:
            client.call(NAME, "kill", {"wait": 0.0}, 60.0)
        except PaspsError:
            return False
    return NAME not in names


def test_two_hundred_thousand_words_are_counted_exactly(cluster: DevCluster, tmp_path: Path) -> None:
    total = 200_000
    options = {"test.dir": str(tmp_path), "test.total": total, "topology.message.timeout.secs": 300}
    file = Path(topologies.__file__)
    submit(cluster, tmp_path, PackageRequest(file, "WordCount", "words", options, workers=4))
    summary = wait_for(lambda: ended(cluster, "words"), "the end of the topology")
    assert (summary["ended"], summary["emitted"], summary["acked"], summary["failed"]) == ("finished", total, total, 0)
    assert sum(counts_of(tmp_path).values()) == total
    assert len(counts_of(tmp_path)) == 97


@pytest.mark.parametrize(("total", "reason"), [(5000, "finished"), (10**9, "stopped")])
def test_a_topology_ends_when_its_bolts_have_said_their_last(cluster: DevCluster, tmp_path: Path, total: int, reason: str) -> None:
    options = {"test.dir": str(tmp_path), "test.total": total, "test.rate": 2000}
    submit(cluster, tmp_path, PackageRequest(Path(finish_topologies.__file__), "Tallies", reason, options, workers=2))
    if reason == "stopped":
        client = client_of(cluster)
        wait_for(lambda: client.call(reason, "status", {}, 5.0)["stats"]["emitted_first"] > 1000, "tuples")
        wait_for(lambda: client.call(reason, "kill", {"wait": 30.0}, 90.0), "the end of the topology")
    summary = wait_for(lambda: ended(cluster, reason), "the summary")
    assert summary["ended"] == reason
    assert (summary["left"], summary["failed"]) == ({}, 0)
    assert said(tmp_path) == dict.fromkeys(("inline", "thread", "awaits"), summary["emitted"])
    wait_for(lambda: not [*cluster.home.rglob("finish_topologies.py")], "the removal of what was unpacked, by driver and workers")


@pytest.mark.parametrize("silence", [0, 15])
def test_all_workers_are_started_anew_for_a_plan_and_nothing_that_is_tracked_is_missing(
    cluster: DevCluster, tmp_path: Path, silence: int
) -> None:
    """With a silence one of the new ones is killed before the spouts go on: that is repaired as ever."""
    name, total = f"anew-{silence}", 30_000
    options = {
        "test.dir": str(tmp_path), "test.total": total, "test.rate": 2000, "topology.message.timeout.secs": 300,
        "pasps.policy": "static", "pasps.policy.options.replicas": 4, "pasps.reconfigure": "restart", "pasps.interval.secs": 3,
        "pasps.restart.wait.secs": 0, "pasps.restart.silence.secs": silence,
    }  # fmt: skip
    submit(cluster, tmp_path, PackageRequest(Path(topologies.__file__), "Chain", name, options, workers=4))
    client = client_of(cluster)
    wait_for(lambda: "all workers are being started anew" in (client.topology(name).detail or ""), "the restart")
    if silence:
        new = wait_for(lambda: [worker["pid"] for worker in workers_of(client, name) if worker["incarnation"] == 2], "a new worker")
        psutil.Process(new[0]).kill()
    summary = wait_for(lambda: ended(cluster, name), "the end of the topology")
    assert (summary["ended"], summary["left"]) == ("finished", {})
    restarts = summary["restarts"]
    assert isinstance(restarts, dict)
    assert (restarts["count"], restarts["lost"]) == (1, 0)
    assert {row[0] for row in rows(tmp_path)} == set(range(total))
    components = summary["components"]
    assert isinstance(components, dict)
    assert {part: components[part]["active"] for part in ("work", "keyed", "sink")} == {"work": 4, "keyed": 4, "sink": 4}
    assert summary["reports"] == []
    if not silence:
        assert summary["emitted"] == summary["acked"] >= total
        assert summary["failed"] == 0


def test_a_policy_of_the_papers_follows_the_load_and_tells_why(cluster: DevCluster, tmp_path: Path) -> None:
    """One by its name, over the groupings of the papers.

    All of them are followed live in `test_policies_live`: a driver has the elasticity of any topology that runs (decision 41).
    """
    options = {
        "test.dir": str(tmp_path), "test.total": 10_000_000, "test.rate": 40, "topology.message.timeout.secs": 300,
        "pasps.policy": "dabs", "pasps.policy.options.window_seconds": 3, "pasps.interval.secs": 1,
    }  # fmt: skip
    submit(cluster, tmp_path, PackageRequest(Path(paper_topologies.__file__), "Papers", "papers", options, workers=2))
    client, bolts = client_of(cluster), ("storm", "osg")
    wait_for(lambda: client.topology("papers").state == "running", "the topology to run")

    def active(bolt: str) -> int:
        return int(client.call("papers", "status", {}, 5.0)["stats"]["components"][bolt]["active"])

    def why(bolt: str) -> str:
        return str(client.call("papers", "explain", {"bolt": bolt}, 30.0))

    wait_for(lambda: all(active(bolt) > 1 for bolt in bolts), "more replicas of both bolts")
    # a window in which replicas have changed has nothing to tell but that
    wait_for(lambda: all(own_words("dabs", "1 s") in why(bolt) for bolt in bolts), "decisions in its own words")
    (tmp_path / "enough").touch()
    summary = wait_for(lambda: ended(cluster, "papers"), "the end of the topology")
    numbers = numbers_of(tmp_path)
    assert (summary["ended"], summary["left"], summary["failed"], summary["acked"]) == ("finished", {}, 0, len(numbers))
    assert sorted(row[0] for row in rows(tmp_path)) == sorted(numbers)


@pytest.fixture
def waves(cluster: DevCluster) -> Iterator[str]:
    """A trained model, for as long as one test takes."""
    folder = toy_artifact(cluster.home / "artifacts", "waves")
    yield "waves"
    shutil.rmtree(folder / "waves")


def test_what_was_trained_is_served_by_the_predictor_of_the_cluster(cluster: DevCluster, waves: str) -> None:
    headers = {"Authorization": f"Bearer {cluster.state.predictor_token}", "Content-Type": "application/json"}
    series = [{"id": "input", "samples": list(toy_rows()[-20:])}]
    body = json.dumps({"series": series, "horizon": 3, "artifact": waves}).encode()
    with urlopen(Request(f"{cluster.state.predictor}/v2/forecast", body, headers), timeout=60) as answer:
        assert json.load(answer)["series"][0]["artifact"] == waves


def workers_of(client: MasterClient, name: str) -> list[dict[str, int]]:
    try:
        found: list[dict[str, int]] = client.call(name, "status", {}, 5.0)["workers"]
    except PaspsError:
        return []
    return found


def test_replicas_change_across_nodes_while_tuples_flow(flowing: Subject) -> None:
    for step in range(12):
        for bolt in ("step", "tally", "kept"):
            flowing.client.call(NAME, "scale", {"bolts": {bolt: 1 + (step * 3) % 8}}, 60.0)
    flowing.wait_full()
    assert flowing.status()["stats"]["failed"] == 0
    flowing.arrivals.read()
    assert flowing.arrivals.duplicates == 0
    flowing.client.call(NAME, "scale", {"bolts": dict.fromkeys(("step", "tally", "kept"), "auto")}, 60.0)


def kill_master(subject: Subject) -> None:
    subject.second_master()
    subject.cluster.kill("master")
    time.sleep(3.0)
    subject.cluster.restart("master", START_SECONDS)


def kill_predictor(subject: Subject) -> None:
    subject.cluster.kill("predictor")
    time.sleep(3.0)
    subject.cluster.restart("predictor", START_SECONDS)


def stop_zookeeper(subject: Subject) -> None:
    subject.cluster.stop("zookeeper")
    time.sleep(10.0)
    subject.cluster.restart("zookeeper", START_SECONDS)


def kill_node(subject: Subject) -> None:
    subject.kill_node()
    time.sleep(2.0)
    subject.cluster.restart("spark-worker-1", START_SECONDS)


WORKER_FAULTS: dict[str, Callable[[Subject], None]] = {
    "a worker": lambda subject: kill(subject.worker()),
    "the worker of the spout": lambda subject: kill(subject.worker(of_spout=True)),
    "a node": kill_node,
}


def pids(subject: Subject) -> set[int]:
    return {worker["pid"] for worker in subject.status()["workers"]}


def is_whole_again(subject: Subject, before: set[int]) -> bool:
    now = pids(subject)
    return len(now) == WORKERS and now != before


def test_nothing_is_missing_when_workers_executors_and_nodes_are_killed(flowing: Subject) -> None:
    for name, fault in WORKER_FAULTS.items():
        before = pids(flowing)
        fault(flowing)
        wait_for(lambda before=before: is_whole_again(flowing, before), f"all workers after {name} was killed")  # type: ignore[misc]
        flowing.wait_full()


def test_an_executor_takes_only_its_own_workers_with_it(flowing: Subject) -> None:
    before, executor = pids(flowing), flowing.executors()[0]
    own = {process.pid for process in executor.children(recursive=True)} & before
    assert 0 < len(own) < WORKERS
    kill(executor)
    wait_for(lambda: is_whole_again(flowing, before), "all workers after an executor was killed")
    assert before & pids(flowing) == before - own
    wait_for(lambda: not any(map(psutil.pid_exists, own)), "the end of the executor's workers")


def test_nothing_is_missing_when_what_controls_is_killed(flowing: Subject) -> None:
    workers = pids(flowing)
    for fault in (kill_predictor, stop_zookeeper, kill_master):
        fault(flowing)
        flowing.wait_full()
        wait_for(flowing.status, "an answer of the topology")
    assert pids(flowing) == workers, "the data path was touched"
    epoch = flowing.client.topology(NAME).epoch
    kill(flowing.driver())
    wait_for(lambda: flowing.client.topology(NAME).epoch > epoch, "another driver")
    flowing.wait_full()
