"""A topology on a development cluster of this machine, and the ways to hurt it. Everything ends with the context."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.reliability import counted
from benchmarks.reliability.arrivals import Arrivals
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.wanted import WantedCluster
from pasps.cluster.master.client import ClusterAddress, MasterClient
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.errors import PaspsError

NAME = "counted"
WORKERS = 4
PATIENCE_SECONDS = 300.0
"""For what comes unless something is broken, be the machine ever so busy with others."""
_EXECUTOR = "CoarseGrainedExecutorBackend"


def wait_for(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true value of the condition; what raises a PaspsError is asked again.

    Raises:
        TimeoutError: the time is over.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except PaspsError:
            value = None
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(0.05)


class Subject:
    """A submitted `counted`. Times are those of the wall clock, as in the files of its sinks."""

    def __init__(self, cluster: DevCluster, directory: Path, rate: float) -> None:
        self.cluster, self.rate = cluster, rate
        self.arrivals = Arrivals(directory)
        self._directory = directory
        self._masters: list[subprocess.Popen[bytes]] = []
        self._urls: list[str] = []

    @property
    def client(self) -> MasterClient:
        """Of the cluster's master, and of those that were started beside it."""
        state = self.cluster.state
        return MasterClient(ClusterAddress(",".join([state.master, *self._urls]), state.token, "the benchmark's cluster"))

    def submit(self, **options: Any) -> None:
        """Submit it; back when it runs and tuples arrive at the full rate."""
        package = self._directory / "package.zip"
        given = {counted.RATE: self.rate, counted.DIRECTORY: str(self._directory), **options}
        build_package(PackageRequest(Path(counted.__file__), name=NAME, options=given, workers=WORKERS), package)
        self.client.submit(package)
        wait_for(lambda: self.client.topology(NAME).state == "running", f"{NAME} to run; it is {self.client.topology(NAME)}")
        self.wait_full()

    def status(self) -> Any:
        """What the topology answers to `status`."""
        return self.client.call(NAME, "status", {}, 5.0)

    def live_workers(self) -> int:
        """How many workers its driver has; 0 when nobody answers."""
        try:
            return len(self.status()["workers"])
        except PaspsError:
            return 0

    def wait_full(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until the last second's arrivals are as many as they should be."""

        def is_full() -> bool:
            self.arrivals.read()
            now = time.time()
            return sum(at > now - 1.2 for at in self.arrivals.first.values()) >= self.rate

        wait_for(is_full, "the full rate", seconds)

    # ---- faults

    def worker(self, *, of_spout: bool = False) -> psutil.Process:
        """The process of a worker."""
        status = self.status()
        spout = status["stats"]["components"]["counted"]["replicas"]["0"]["worker"]
        return next(psutil.Process(w["pid"]) for w in status["workers"] if (w["id"] == spout) == of_spout)

    def executors(self) -> list[psutil.Process]:
        """The Java processes that hold workers."""
        found = []
        for name in ("spark-worker-1", "spark-worker-2"):
            reference = self.cluster.parts[name]
            if reference.alive:
                found += [p for p in psutil.Process(reference.pid).children(recursive=True) if _is_executor(p)]
        return found

    def kill_node(self) -> None:
        """A Spark worker with all it started, as if its machine were gone."""
        name = "spark-worker-1"
        everything = psutil.Process(self.cluster.parts[name].pid).children(recursive=True)
        self.cluster.kill(name)
        for process in everything:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def driver(self) -> psutil.Process:
        """The process of the topology's driver."""
        record = self.client.topology(NAME).driver
        assert record is not None
        return psutil.Process(record.pid)

    def second_master(self) -> None:
        """Start another master, which waits to lead."""
        state, home = self.cluster.state, self.cluster.home
        command = [sys.executable, "-m", "pasps", "master", "--spark", state.spark, "--zookeeper", state.zookeeper]
        command += ["--predictor", state.predictor, "--packages", str(home / "packages")]
        command += ["--port", "0", "--home", str(self._directory / "master-2")]
        output = subprocess.STDOUT
        with (home / "logs" / "master-2.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.cluster.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=output)
        self._masters.append(process)
        found = wait_for(lambda: re.search(r"listening on (\S+)", (home / "logs" / "master-2.log").read_text()), "the second master")
        self._urls.append(found[1])

    def close(self) -> None:
        """End what this one has started itself."""
        for process in self._masters:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _is_executor(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return any(_EXECUTOR in word for word in process.cmdline())
    return False


@contextmanager
def subject(directory: Path, rate: float, told: Callable[[str], None]) -> Iterator[Subject]:
    """A cluster of two Spark workers with four cores each, and the topology on it, running."""
    files = directory / "files"
    files.mkdir()
    with DevCluster(directory / "cluster", told) as cluster:
        cluster.up(WantedCluster(workers=2, cores=4))
        made = Subject(cluster, files, rate)
        try:
            yield made
        finally:
            made.close()


def kill(process: psutil.Process) -> None:
    """SIGKILL."""
    os.kill(process.pid, signal.SIGKILL)
