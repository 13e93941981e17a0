"""Masters as processes over a real ZooKeeper, with drivers that have no workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.master_process import MasterProcess, end_driver, masters, package
from tests.integration.running import PATIENCE_SECONDS, until
from tests.integration.zookeeper_server import ZooKeeperServer

pytestmark = pytest.mark.integration

ALL = "/v1/topologies"


def _answered(answer: tuple[int, Any]) -> tuple[int, Any] | None:
    """An answer that is one: a master that has just begun to lead may say that it cannot yet."""
    return None if answer[0] == 503 else answer


def test_the_next_leader_adopts_what_runs(zookeeper: ZooKeeperServer, chroot: str, tmp_path: Path) -> None:
    connect, shared = f"{zookeeper.connect}{chroot}", tmp_path / "packages"
    with masters(*(MasterProcess(connect, tmp_path / name, shared) for name in ("m1", "m2"))) as known:
        until(lambda: any(master.leads() for master in known), "a leader")
        first, second = sorted(known, key=lambda master: not master.leads())
        assert first.ask("POST", ALL, package(tmp_path, "stays")) == (201, {"name": "stays", "workers": None})
        assert first.ask("POST", ALL, package(tmp_path, "dies"))[0] == 201
        location = until(lambda: second.ask("GET", f"{ALL}/stays")[1], "the leader to be known")
        assert location == f"http://127.0.0.1:{first.port}{ALL}/stays"
        drivers = {name: first.until_runs(name) for name in ("stays", "dies")}

        first.kill()
        until(second.leads, lambda: f"the second to lead: {second.said()}")
        for name, driver in drivers.items():
            status, told = until(lambda name=name: _answered(second.ask("POST", f"{ALL}/{name}/verbs/status")), "an answer")  # type: ignore[misc]
            assert (status, told["result"]["pid"], told["result"]["epoch"]) == (200, driver["pid"], 1)

        end_driver(drivers["dies"]["pid"])
        assert second.until_runs("dies", 2)["pid"] != drivers["dies"]["pid"]
        assert (second.started("stays"), second.started("dies")) == ([], [2])

        known.append(MasterProcess(connect, first.home, shared).wait_up())
        assert not known[-1].leads()
        status, told = second.ask("POST", f"{ALL}/stays/verbs/kill", {"wait": 1})
        assert (status, told["result"]["acked"]) == (200, 1)  # the driver's answer, or its summary where it ended before it could answer
        until(lambda: not psutil.pid_exists(drivers["stays"]["pid"]), "the end of the driver")
        until(lambda: second.ask("GET", f"{ALL}/stays")[0] == 404, "its removal")
        ended = second.ask("GET", "/v1/ended")[1]["ended"]
        assert [(record["name"], record["summary"]) for record in ended] == [("stays", {"acked": 1})]
        assert [path.name.partition("-")[0] for path in shared.iterdir()] == ["dies"]
        assert (second.end(), known[-1].end()) == (0, 0)


def test_one_master_from_a_submission_to_its_end(zookeeper: ZooKeeperServer, chroot: str, tmp_path: Path) -> None:
    with masters(MasterProcess(f"{zookeeper.connect}{chroot}", tmp_path / "m1")) as (master,):
        until(master.leads, "it to lead")
        assert master.ask("POST", ALL, package(tmp_path, "counting"))[0] == 201
        before = master.until_runs("counting")

        status, told = master.ask("POST", ALL, package(tmp_path, "counting"))
        assert (status, told["error"]["kind"]) == (409, "BusyError")
        status, told = master.ask("POST", ALL, package(tmp_path, "broken", text="import numpie\n"))
        assert (status, told["error"]["kind"]) == (422, "dependency")
        assert "module 'numpie' is missing" in told["error"]["text"]
        status, told = master.ask("POST", ALL, package(tmp_path, "other"), token="wrong")
        assert (status, told["error"]["kind"]) == (401, "AuthenticationError")
        assert [view["name"] for view in master.ask("GET", ALL)[1]["topologies"]] == ["counting"]

        assert master.ask("POST", f"{ALL}/counting/verbs/deactivate")[1]["result"]["desired"] == "inactive"
        status, told = master.ask("POST", f"{ALL}/counting/verbs/stauts")
        assert (status, told["error"]["kind"]) == (422, "InvalidError")

        end_driver(before["pid"])
        assert master.until_runs("counting", 2)["pid"] != before["pid"]
        assert master.ask("POST", f"{ALL}/counting/rebalance", {"workers": 2, "pools": {"count": 8}})[0] == 202
        after = master.until_runs("counting", 3)
        shown = master.topology("counting")
        assert (shown["workers"], shown["pools"], shown["desired"]["state"]) == (2, {"count": 8}, "inactive")

        assert master.ask("POST", ALL, package(tmp_path, "refused", "refuse"))[0] == 201
        until(lambda: master.topology("refused")["state"] == "failed", lambda: f"its failure: {master.topology('refused')}")
        assert master.topology("refused")["detail"] == "the user's words"
        assert master.ask("POST", f"{ALL}/refused/verbs/kill") == (200, {"result": None})
        assert master.started("refused") == [1]

        assert master.end() == 0
        assert psutil.pid_exists(after["pid"])
        assert os.getpgid(after["pid"]) != os.getpgid(0)


def test_what_cannot_be_started_says_why(zookeeper: ZooKeeperServer, chroot: str, tmp_path: Path) -> None:
    connect = f"{zookeeper.connect}{chroot}"
    with masters(MasterProcess(connect, tmp_path / "m1", token=None)) as (first,):
        token = (tmp_path / "m1" / "token").read_text()
        assert first.ask("GET", ALL, token=token)[0] == 200
        same = MasterProcess(connect, tmp_path / "m1")
        away = MasterProcess("127.0.0.1:1", tmp_path / "m3")
        second = MasterProcess(connect, tmp_path / "m2", tmp_path / "packages")
        for master, text in (
            (same, "another master uses it; give each its own"),
            (away, "StoreUnavailableError"),
            (second, f"the master at http://127.0.0.1:{first.port} keeps packages where only it can read them"),
        ):
            assert master.process.wait(PATIENCE_SECONDS) != 0
            assert text in master.said()
            master.clean_up()
        first.process.send_signal(signal.SIGINT)
        assert first.process.wait(PATIENCE_SECONDS) == 0
