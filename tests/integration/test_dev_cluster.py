"""The development cluster as a user has it: up, status, a job of Spark's in it, a part that dies, down. One cluster, in this order."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pasps.cli import exit_codes
from pasps.cli.main import call, parsed
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.ports import free_ports, is_free
from pasps.cluster.dev.processes import marked
from pasps.cluster.dev.wanted import WantedCluster
from pasps.errors import InvalidError
from tests.integration.running import until

pytestmark = pytest.mark.integration

PATIENCE_SECONDS = 100.0
PARTS = ["zookeeper", "spark-master", "spark-worker-1", "spark-worker-2", "predictor", "master"]

COMMAND = """
import sys
from pasps.cli.main import call, parsed
sys.exit(call(parsed(sys.argv[1:])))
"""

JOB = """
import json, os, sys
from pyspark import SparkConf, SparkContext

def place(_):
    import pasps
    return os.getcwd().split(os.sep)[-3], sys.executable, pasps.__file__

settings = {
    "spark.executor.cores": "1", "spark.cores.max": "1", "spark.executor.memory": "512m", "spark.ui.enabled": "false",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.showConsoleProgress": "false",
}
context = SparkContext(sys.argv[1], "job", conf=SparkConf().setAll(settings.items()))
print(json.dumps(context.parallelize([0], 1).map(place).first()), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def dev(session_cluster: DevCluster) -> DevCluster:
    session_cluster.up(seconds=PATIENCE_SECONDS)
    return session_cluster


@pytest.fixture(scope="module")
def job(dev: DevCluster) -> Iterator[subprocess.Popen[str]]:
    """A driver of Spark's that is still there when the cluster goes down. In a process of its own, so that no JVM is in this one."""
    command = [sys.executable, "-W", "ignore", "-c", JOB, dev.state.spark]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=dev.environment()
    ) as job:
        yield job
        job.kill()


def ran(*words: str) -> int:
    return call(parsed(["cluster", *words]))


def problems(dev: DevCluster) -> dict[str, str | None]:
    return {part.name: part.problem for part in dev.status()}


def all_up(dev: DevCluster) -> bool:
    """Whether every part says so; one that is asked while others take all of the machine may be late once."""
    return list(problems(dev).items()) == [(name, None) for name in PARTS]


def names_of(home: Path) -> list[psutil.Process]:
    """Processes that name the home in their command line or environment."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(str(home) in word for word in words):
            found.append(process)
    return found


def test_all_of_it_is_up_and_its_secrets_are_its_owners(dev: DevCluster, capsys: pytest.CaptureFixture[str]) -> None:
    until(lambda: all_up(dev), lambda: problems(dev))
    assert stat.S_IMODE((dev.home / "cluster.json").stat().st_mode) == 0o600
    assert ran("status", "--json", "--home", str(dev.home)) == exit_codes.OK
    told = capsys.readouterr().out
    found: dict[str, Any] = json.loads(told)
    assert (found["up"], found["workers"], found["cores"], found["spark"]) == (True, 2, 4, dev.state.spark)
    assert dev.state.token not in told


def test_its_processes_are_detached_and_listen_on_loopback_alone(dev: DevCluster) -> None:
    for process in dev.parts.values():
        assert os.getsid(process.pid) == process.pid
        listens = [at.laddr.ip for at in psutil.Process(process.pid).net_connections("inet") if at.status == psutil.CONN_LISTEN]
        assert listens
        assert {ip.removeprefix("::ffff:") for ip in listens} == {"127.0.0.1"}


def test_up_again_starts_nothing_and_another_size_is_refused(dev: DevCluster, capsys: pytest.CaptureFixture[str]) -> None:
    before = dev.parts
    assert ran("up", "--home", str(dev.home)) == exit_codes.OK
    assert capsys.readouterr().out.startswith("the cluster was up already\n")
    with pytest.raises(InvalidError, match="has --workers 2, got 3"):
        dev.up(WantedCluster(workers=3))
    assert dev.parts == before


def test_a_job_of_spark_runs_on_a_worker_with_this_python_and_this_package(job: subprocess.Popen[str]) -> None:
    assert job.stdout is not None
    worker, python, package = json.loads(job.stdout.readline())
    assert worker in PARTS
    assert python == sys.executable
    assert package == str(Path(__file__).parents[2] / "pasps" / "__init__.py")


def test_a_worker_that_dies_is_told_and_up_brings_it_back(dev: DevCluster, capsys: pytest.CaptureFixture[str]) -> None:
    before = dev.parts
    dev.kill("spark-worker-1")
    assert ran("status", "--home", str(dev.home)) == exit_codes.BROKEN
    told = capsys.readouterr().out
    assert "it is dead" in told
    assert "`pasps cluster up` starts spark-worker-1 again" in told
    assert dev.up(seconds=PATIENCE_SECONDS) == ["spark-worker-1"]
    until(lambda: all_up(dev), lambda: problems(dev))
    assert {name for name in PARTS if dev.parts[name] != before[name]} == {"spark-worker-1"}


def test_zookeeper_is_stopped_and_started_again_where_it_was(dev: DevCluster) -> None:
    address = dev.state.zookeeper
    dev.stop("zookeeper")
    assert problems(dev)["zookeeper"] == "it is dead"
    dev.restart("zookeeper", PATIENCE_SECONDS)
    assert dev.state.zookeeper == address
    until(lambda: all_up(dev), lambda: problems(dev))


def test_down_ends_all_of_it_with_half_of_it_dead_and_a_job_in_it(dev: DevCluster, job: subprocess.Popen[str]) -> None:
    dev.kill("spark-master")
    dev.kill("spark-worker-2")
    assert job.poll() is None
    ports = dev.state.ports.values()
    ended = dev.down()
    assert ended.processes >= 5
    until(lambda: job.poll() is not None, "the end of the job")
    assert names_of(dev.home) == []
    assert all(is_free(port) for port in ports)
    assert sorted(os.listdir(dev.home)) == ["cluster.lock", "logs", "master"]
    assert dev.status() == []


# ---- what keeps it from coming up; without a cluster


def test_a_port_that_is_taken_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(InvalidError, match=f"port {port} of 127.0.0.1 is taken.* another --port"),
    ):
        ran("up", "--port", str(port), "--home", str(tmp_path / "home"))
    assert not (tmp_path / "home").exists()


def test_without_java_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ran("up", "--home", str(tmp_path / "home")) == exit_codes.NOT_STARTED
    told = capsys.readouterr().err
    assert "Java 17 or later is needed, and PATH has none; install it with `apt-get install openjdk-17" in told
    assert not (tmp_path / "home").exists()


def test_up_that_is_interrupted_leaves_nothing_running(tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = [sys.executable, "-c", COMMAND, "cluster", "up", "--home", str(home)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as up:
        assert up.stderr is not None
        assert "is up at" in up.stderr.readline()
        assert len(marked(home)) >= 3
        up.send_signal(signal.SIGTERM)
        assert up.wait(100) == exit_codes.BY_SIGNAL + signal.SIGTERM
    assert names_of(home) == []
    assert not (home / "cluster.json").exists()
