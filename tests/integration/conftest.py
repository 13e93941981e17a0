"""No test leaves a worker process behind; and the servers that all tests share: ZooKeeper, PostgreSQL, and a development cluster."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import pytest

from pasps.daemons.dev_cluster import DevCluster
from tests.integration.postgres_server import PostgresServer
from tests.integration.running import no_children
from tests.integration.sql_databases import Database
from tests.integration.zookeeper_server import ZooKeeperServer

START_SECONDS = 100.0


@pytest.fixture(autouse=True)
def _no_orphans() -> Iterator[None]:
    yield
    no_children()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """Running; without Java it fails and says what to do."""
    server = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def chroot() -> str:
    """A place of the test's own in it, not yet made."""
    return f"/test-{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Running, without a database."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Database:
    """An empty one of the test's own."""
    name = f"test_{random.getrandbits(64):x}"
    postgres_server.create(name)
    return Database(name, postgres_server.url(name))


@pytest.fixture(scope="session")
def session_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    """Two Spark workers with four cores each. A module that takes it calls `up` first: another may have brought it down."""
    with DevCluster(tmp_path_factory.mktemp("cluster") / "home") as made:
        assert made.up(seconds=START_SECONDS) == [part.name for part in made.status()]
        yield made
