from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pasps.cluster.dev.zookeeper_server import LOOPBACK, ZooKeeperStartError, is_serving
from tests.integration.zookeeper_server import ZooKeeperServer
from tests.integration.zookeeper_stores import kazoo

pytestmark = pytest.mark.integration


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    server = ZooKeeperServer(tmp_path / "zookeeper")
    yield server
    server.kill()


def test_a_killed_server_has_its_data_when_it_is_started_again(server: ZooKeeperServer, tmp_path: Path) -> None:
    server.start()
    first = server.pid
    assert first is not None
    with kazoo(server.connect) as client:
        client.create("/a", b"kept")
    server.kill()
    assert not psutil.pid_exists(first)
    assert (server.pid, is_serving(server.port)) == (None, False)
    server.start()
    with kazoo(server.connect) as client:
        assert client.get("/a")[0] == b"kept"
    with pytest.raises(ZooKeeperStartError, match=rf"cannot listen on {LOOPBACK}:{server.port}: Address already in use; stop what"):
        ZooKeeperServer(tmp_path / "other", server.port).start()
    assert {connection.laddr.ip for connection in psutil.Process(server.pid).net_connections("tcp")} <= {LOOPBACK, f"::ffff:{LOOPBACK}"}
    server.stop()
    server.stop()
    assert not is_serving(server.port)


def test_a_server_that_does_not_come_up_says_why(server: ZooKeeperServer, tmp_path: Path) -> None:
    (tmp_path / "zookeeper" / "data").mkdir(parents=True)
    (tmp_path / "zookeeper" / "data" / "version-2").write_text("no directory")
    with pytest.raises(ZooKeeperStartError, match=r"(?s)ended with status 1 while starting; .*zookeeper.log ends with:.*Not a directory"):
        server.start()
    assert server.pid is None
