"""No test leaves a worker process behind; the servers that tests share; and which tests stay together where processes run side by side."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from pasps.cluster.dev.cluster import DevCluster
from tests.integration.postgres_server import PostgresServer
from tests.integration.running import no_children
from tests.integration.sql_databases import Database
from tests.integration.zookeeper_server import ZooKeeperServer

HERE = Path(__file__).parent
START_SECONDS = 200.0
TOGETHER = {
    "session_cluster": (
        "test_applications_cluster", "test_cluster", "test_cluster_submissions", "test_cluster_packages", "test_cluster_security",
        "test_et_cluster", "test_dev_cluster",
    ),
    "spark": ("test_et_spark", "test_traces_build", "test_traces_build_records", "test_traces_cli"),
}  # fmt: skip
"""Fixtures that cost a dozen seconds to start, and the files that take them: where processes run side by side, all in the same one."""
BEGUN_FIRST = (
    *TOGETHER["session_cluster"],
    "test_liveness",
    *TOGETHER["spark"],
    "test_elastic",
    "test_applications",
    "test_finish",
    "test_policies_live",
)
"""The longest, so that none of them begins when the others are done."""


class FilesSideBySide(LoadScopeScheduling):  # type: ignore[misc]
    """As `--dist loadfile`, with files that stay together; groups by marks are not told to it by every pytest."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0]).stem
        return next((fixture for fixture, files in TOGETHER.items() if file in files), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesSideBySide | None:
    """In the order in which they are collected, not by the number of their tests."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return FilesSideBySide(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if item.path.parent == HERE]
    mine.sort(key=lambda item: BEGUN_FIRST.index(item.path.stem) if item.path.stem in BEGUN_FIRST else len(BEGUN_FIRST))
    items[:] = [item for item in items if item.path.parent != HERE] + mine


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture is made. What is raised while tests are collected is lost where processes run side by side."""
    for fixture, files in TOGETHER.items():
        if fixture in getattr(item, "fixturenames", ()) and item.path.stem not in files:
            pytest.fail(f"{item.path.name} takes {fixture!r}: enter it in TOGETHER[{fixture!r}] of {__file__}", pytrace=False)


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
    name = f"test_{uuid.uuid4().hex}"
    postgres_server.create(name)
    return Database(name, postgres_server.url(name))


@pytest.fixture(scope="session")
def session_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    """Two Spark workers with four cores each. A module that takes it calls `up` first: another may have brought it down."""
    with DevCluster(tmp_path_factory.mktemp("cluster") / "home") as made:
        assert made.up(seconds=START_SECONDS) == [part.name for part in made.status()]
        yield made
