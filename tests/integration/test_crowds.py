"""More strangers hold connections open than a process may have files: it goes on with its work, and who is known is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.crowds import crowd, few_files
from tests.integration.master_process import MasterProcess, masters, package
from tests.integration.predictor_service_process import Service
from tests.integration.running import until
from tests.integration.zookeeper_server import ZooKeeperServer

pytestmark = pytest.mark.integration

HALVES = pytest.mark.parametrize("says", [b"", b"GET / HTTP/1.1\r\nX: "], ids=["silent", "half a header"])


@HALVES
def test_a_master_keeps_its_lead_and_answers(says: bytes, zookeeper: ZooKeeperServer, chroot: str, tmp_path: Path) -> None:
    with few_files():
        master = MasterProcess(f"{zookeeper.connect}{chroot}", tmp_path / "m1")
    with masters(master):
        until(master.leads, "it to lead")
        assert master.ask("POST", "/v1/topologies", package(tmp_path, "counting"))[0] == 201
        master.until_runs("counting")
        with crowd(("127.0.0.1", master.port), says):
            for _ in range(5):
                assert master.ask("GET", "/healthz") == (200, {"ok": True, "leads": True, "leader": f"http://127.0.0.1:{master.port}"})
                assert master.ask("GET", "/v1/topologies")[0] == 200
        assert len(master.said()) < 20_000
        assert (master.started("counting"), master.end()) == ([1], 0)


@HALVES
def test_a_predictor_answers(says: bytes) -> None:
    with few_files():
        service = Service()
    try:
        with crowd(("127.0.0.1", service.port), says):
            for _ in range(5):
                assert service.predict("basic", [1.0, 2.0, 3.0])[0] == 200
        service.process.terminate()
        assert service.wait_ended() == 0
    finally:
        service.clean_up()
