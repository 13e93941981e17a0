"""What is shipped to a real cluster: modules beside the file, a package with data, requirements; and a topology that is restarted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.reliability import counted
from benchmarks.reliability.arrivals import Arrivals
from benchmarks.reliability.subject import wait_for
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.wanted import WantedCluster
from pasps.cluster.package.make import PackageRequest, build_package
from tests.integration.test_check_package import wheel
from tests.integration.test_cluster import START_SECONDS, client_of, ended, state_of, submit

pytestmark = pytest.mark.timeout(600)

TOPOLOGY = """
from pathlib import Path
import beside
import tinywords
from pasps import Bolt, EndOfInput, Grouping, Spout, Topology
from wordlist import words

class Words(Spout):
    outputs = ["word"]
    def initialize(self, conf, ctx):
        self.left = list(words())
    def next_tuple(self):
        if not self.left:
            raise EndOfInput
        self.emit([self.left.pop()], tup_id=len(self.left))

class Keep(Bolt):
    def initialize(self, conf, ctx):
        self.path = Path(conf["test.dir"]) / f"{ctx.task_index}.words"
        self.path.with_suffix(".where").write_text(f"{beside.__file__}\\n{Path.cwd()}")
    def process(self, tup):
        with self.path.open("a") as file:
            file.write(beside.twice(tup.values.word) * (tinywords.POOL - 6) + "\\n")

class Shipped(Topology):
    words = Words.spec()
    keep = Keep.spec(inputs={words: Grouping.fields("word")}, par=4)
"""


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(WantedCluster(workers=2, cores=4), START_SECONDS)
    return session_cluster


def project(directory: Path) -> Path:
    """A topology with a module and a package beside it, and a requirement that no node has."""
    (directory / "shipped.py").write_text(TOPOLOGY)
    (directory / "beside.py").write_text("def twice(word): return word + word\n")
    package = directory / "wordlist"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from importlib.resources import files\ndef words(): return files('wordlist').joinpath('words.txt').read_text().split()\n"
    )
    (package / "words.txt").write_text("one two three four five six seven eight\n")
    (directory / "requirements.txt").write_text(f"--no-index\n{wheel(directory)}\n")
    return directory / "shipped.py"


def test_everything_that_a_file_needs_is_there_on_every_worker(cluster: DevCluster, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    options = {"test.dir": str(tmp_path / "out"), "spark.executor.cores": 1}
    file = project(tmp_path)
    submit(cluster, tmp_path, PackageRequest(file, name="shipped", options=options, workers=4, requirements=tmp_path / "requirements.txt"))
    summary = wait_for(lambda: ended(cluster, "shipped"), "the end of the topology")
    assert (summary["acked"], summary["reports"]) == (8, [])
    found = Counter(word for path in (tmp_path / "out").glob("*.words") for word in path.read_text().split())
    assert found == Counter(f"{word}{word}" for word in "one two three four five six seven eight".split())
    places = [path.read_text().splitlines() for path in (tmp_path / "out").glob("*.where")]
    executors, applications = {Path(executor) for _, executor in places}, {Path(executor).parent for _, executor in places}
    assert (len(executors), len(applications)) == (4, 2), "four executors on two nodes of Spark"
    unpacked = {Path(module).parent for module, _ in places}
    assert {directory.parents[1] for directory in unpacked} == applications
    assert len(unpacked) == 2
    wait_for(lambda: not any(directory.exists() for directory in unpacked), "the removal of what was unpacked")


def test_a_rebalance_restarts_the_workers_and_loses_nothing(cluster: DevCluster, tmp_path: Path) -> None:
    options = {counted.RATE: 300, counted.DIRECTORY: str(tmp_path)}
    package = tmp_path / "package.zip"
    build_package(PackageRequest(Path(counted.__file__), name="moved", options=options, workers=4), package)
    client = client_of(cluster)
    client.submit(package)
    wait_for(lambda: state_of(cluster, "moved") == "running", "it to run")
    before = client.topology("moved")
    client.rebalance("moved", 2, {"step": 3}, 20.0)
    wait_for(lambda: client.topology("moved").epoch > before.epoch and state_of(cluster, "moved") == "running", "it to run again")
    status = client.call("moved", "status", {}, 10.0)
    assert len(status["workers"]) == 2
    assert {part["id"]: part["pool"] for part in status["components"]}["step"] == 3
    arrivals = Arrivals(tmp_path)

    def goes_on() -> bool:
        arrivals.read()
        return len(arrivals.first) > 300

    wait_for(goes_on, "tuples to arrive")
    assert client.call("moved", "kill", {"wait": 20.0}, 90.0)["left"] == {}
    arrivals.read()
    assert (arrivals.missing(), arrivals.duplicates) == ([], 0), "a drain leaves nothing to be emitted again"
