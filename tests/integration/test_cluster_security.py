"""What others on the machine can do to a cluster, and what a topology's own code can see of it."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE

from benchmarks.reliability.subject import wait_for
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.processes import marked
from pasps.cluster.dev.wanted import WantedCluster
from pasps.cluster.package.layout import sha256_of
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.store.submission import Desired, Submission, encoded, kept
from pasps.cluster.store.tokens import submission_key
from pasps.cluster.store.zookeeper_store import open_store
from pasps.errors import InvalidError
from tests.integration import topologies
from tests.integration.test_cluster import START_SECONDS, client_of
from tests.integration.zookeeper_stores import kazoo

pytestmark = pytest.mark.timeout(240)

NAME = "guarded"
OF_SPARK = "a secret: for=Spark#!\\alone"


@pytest.fixture(scope="module")
def cluster(session_cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    """With a topology that runs for as long as the tests."""
    session_cluster.up(WantedCluster(workers=2, cores=4), START_SECONDS)
    directory, client = tmp_path_factory.mktemp("guarded"), client_of(session_cluster)
    options = {"test.dir": str(directory), "test.total": 10**9, "topology.max.spout.pending": 10, "spark.hadoop.test.key": OF_SPARK}
    build_package(PackageRequest(Path(topologies.__file__), "WordCount", NAME, options, workers=2), directory / "package.zip")
    client.submit(directory / "package.zip")
    wait_for(lambda: client.topology(NAME).state == "running", "the topology to run")
    yield session_cluster
    client.call(NAME, "kill", {"wait": 0.0}, 60.0)


def workers(cluster: DevCluster) -> list[psutil.Process]:
    status = wait_for(lambda: client_of(cluster).call(NAME, "status", {}, 5.0), "an answer of the topology")
    return [psutil.Process(worker["pid"]) for worker in status["workers"]]


def test_no_worker_has_a_session_in_zookeeper(cluster: DevCluster) -> None:
    port = cluster.state.ports["zookeeper"]
    for worker in workers(cluster):
        assert port not in {connection.raddr.port for connection in worker.net_connections("tcp") if connection.raddr}


def test_a_stranger_can_neither_read_nor_write_in_zookeeper(cluster: DevCluster) -> None:
    server = f"127.0.0.1:{cluster.state.ports['zookeeper']}"
    with kazoo(server) as owner, kazoo(server) as stranger:
        owner.add_auth("digest", cluster.state.zookeeper_auth)
        stranger.add_auth("digest", "pasps:guessed")
        paths = [path for path in below(owner, "/") if path != "/zookeeper/config"]
        assert {f"/pasps/topologies/{NAME}", f"/pasps/topologies/{NAME}/positions", "/pasps/masters/leader", "/"} <= {*paths}
        for path in paths:
            for attack in (
                stranger.get,
                stranger.get_children,
                lambda path: stranger.set(path, b"forged"),
                lambda path: stranger.create(f"{path}/forged".replace("//", "/"), b""),
                lambda path: stranger.set_acls(path, OPEN_ACL_UNSAFE),
            ):
                with pytest.raises(NoAuthError):
                    attack(path)
        with pytest.raises(NoAuthError):
            stranger.delete(f"/pasps/topologies/{NAME}/driver")
    with pytest.raises(InvalidError, match="refuses it"):
        asyncio.run(open_store(cluster.state.zookeeper))


def below(client: KazooClient, path: str) -> list[str]:
    return [path, *(found for name in client.get_children(path) for found in below(client, f"{path}/{name}".replace("//", "/")))]


def test_a_submission_that_somebody_wrote_into_zookeeper_is_not_started(cluster: DevCluster, tmp_path: Path) -> None:
    """Even by who has ZooKeeper's credentials, with a package among the true ones."""
    (package,) = (cluster.home / "packages").glob(f"{NAME}-*.zip")
    record = Submission("forged", "topologies.py", package=str(package), sha256=sha256_of(package), submitted=1.0)
    for value in (encoded(record), kept(record, Desired(), submission_key("guessed", "forged"))):
        with kazoo(f"127.0.0.1:{cluster.state.ports['zookeeper']}") as client:
            client.add_auth("digest", cluster.state.zookeeper_auth)
            client.create("/pasps/topologies/forged", value)
            view = wait_for(lambda: client_of(cluster).topology("forged"), "the master to see it")
            assert (view.state, view.driver) == ("failed", None)
            client_of(cluster).call("forged", "kill", {"wait": 0.0}, 60.0)
            assert client.exists("/pasps/launches/forged") is None or b'"package":""' in client.get("/pasps/launches/forged")[0]
    assert package.exists()


STRANGER = """
import sys
from pyspark.sql import SparkSession
SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false").config("spark.cores.max", "1").getOrCreate()
print("taken")
"""


def test_a_stranger_gets_no_application_from_spark(cluster: DevCluster, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path / "conf"), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", STRANGER, cluster.state.spark]
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(command, env=environment, stdout=said, stderr=said) as stranger:
        try:
            wait_for(lambda: b"Failed to connect to master" in (tmp_path / "said").read_bytes(), "Spark to refuse it", 200)
            assert b"taken" not in (tmp_path / "said").read_bytes()
            assert stranger.poll() is None or stranger.returncode != 0
        finally:
            for process in [*psutil.Process(stranger.pid).children(recursive=True), stranger]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()


def test_no_secret_is_on_a_command_line_or_in_the_environment_of_a_topologys_code(cluster: DevCluster) -> None:
    state = cluster.state
    secrets = [
        state.token,
        state.zookeeper_auth,
        state.zookeeper_auth.partition(":")[2],
        state.spark_secret,
        state.predictor_token,
        OF_SPARK,
    ]
    seen = 0
    for found in marked(cluster.home):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            words = " ".join(psutil.Process(found.pid).cmdline())
            assert not [secret for secret in secrets if secret in words], found
            seen += bool(words)
    assert seen > 8
    shown = client_of(cluster).topology(NAME).driver
    assert shown is not None
    driver = psutil.Process(shown.pid)
    for process in (driver, *workers(cluster)):
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        assert not [secret for secret in secrets if secret.encode() in environment], process


def test_what_a_cluster_writes_is_for_its_user_alone(cluster: DevCluster) -> None:
    assert stat.S_IMODE(cluster.home.stat().st_mode) == 0o700
    files = [cluster.home / "cluster.json", cluster.home / "spark/conf/spark-defaults.conf", *(cluster.home / "packages").iterdir()]
    assert len(files) >= 3
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
