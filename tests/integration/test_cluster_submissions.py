"""What a real cluster does with submissions: two at once and one that waits, and what cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reliability import counted
from benchmarks.reliability.arrivals import Arrivals
from benchmarks.reliability.subject import wait_for
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.wanted import WantedCluster
from pasps.cluster.package.make import PackageRequest
from pasps.errors import InvalidError
from tests.integration.test_cluster import START_SECONDS, client_of, state_of, submit
from tests.integration.test_waiting_drivers import waiting

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(WantedCluster(workers=2, cores=4), START_SECONDS)
    return session_cluster


def test_two_run_and_a_third_waits_for_room(cluster: DevCluster, tmp_path: Path) -> None:
    client = client_of(cluster)
    names = ["first", "second", "third"]
    for name in names:
        directory = tmp_path / name
        directory.mkdir()
        options = {counted.RATE: 100, counted.DIRECTORY: str(directory), "spark.executor.cores": 2}
        submit(cluster, directory, PackageRequest(Path(counted.__file__), name=name, options=options, workers=4))
        if name != "third":
            wait_for(lambda name=name: state_of(cluster, name) == "running", f"{name} to run")  # type: ignore[misc]
    wait_for(lambda: state_of(cluster, "third") == "waiting", "the third to wait")
    drivers = {driver.pid for name in names if (driver := client.topology(name).driver)}
    assert drivers <= {process.pid for process in waiting(cluster.home)}, "they got ready while their packages were checked"
    detail = client.topology("third").detail or ""
    assert detail.startswith("0 of 4 workers have a place; it waits for Spark, which was asked for 2 executors of 2 cores"), detail
    client.call("first", "kill", {"wait": 10.0}, 90.0)
    wait_for(lambda: state_of(cluster, "third") == "running", "the third to run")
    for name in names[1:]:
        summary = client.call(name, "kill", {"wait": 20.0}, 90.0)
        assert summary["left"] == {}
    for name in names:
        arrivals = Arrivals(tmp_path / name)
        arrivals.read()
        assert arrivals.missing() == []


BROKEN = {
    "raises": ("raise RuntimeError('not today')", "not today"),
    "needs": ("import a_module_that_is_nowhere", "module 'a_module_that_is_nowhere' is missing where the topology is to run"),
    "nothing": ("x = 1", "there is no topology in it"),
}


@pytest.mark.parametrize("what", list(BROKEN))
def test_what_cannot_run_is_refused_and_leaves_nothing(cluster: DevCluster, tmp_path: Path, what: str) -> None:
    text, said = BROKEN[what]
    file = tmp_path / "topology.py"
    file.write_text(text + "\n")
    with pytest.raises(InvalidError, match=said):
        submit(cluster, tmp_path, PackageRequest(file, name=what))
    assert what not in [view.name for view in client_of(cluster).topologies()]
    wait_for(lambda: len(waiting(cluster.home)) <= 1, "the end of the driver that got ready meanwhile, but for the next one's")


def test_an_initialize_that_raises_is_told_and_not_tried_for_ever(cluster: DevCluster, tmp_path: Path) -> None:
    file = tmp_path / "topology.py"
    file.write_text(
        "from pasps import Bolt, Spout, Topology\n"
        "class S(Spout):\n    outputs = ['n']\n    def next_tuple(self): return 1.0\n"
        "class B(Bolt):\n    def initialize(self, conf, ctx): raise RuntimeError('no database')\n    def process(self, tup): pass\n"
        "class T(Topology):\n    s = S.spec()\n    b = B.spec(inputs=[s])\n"
    )
    submit(cluster, tmp_path, PackageRequest(file, name="raises-late", workers=1))
    client = client_of(cluster)
    wait_for(lambda: client.topology("raises-late").state == "failed", "the failure")
    assert "no database" in (client.topology("raises-late").detail or "")
    client.call("raises-late", "kill", {"wait": 0.0}, 60.0)
    wait_for(lambda: "raises-late" not in [view.name for view in client.topologies()], "the end")
