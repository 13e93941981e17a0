"""What a master does outside of its process: to a driver's control port, with children, with the command of a Hadoop file system."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from pasps.cluster.master.child import run_child
from pasps.cluster.master.decide import Contact
from pasps.cluster.master.driver_client import Door, ask, call
from pasps.cluster.master.failures import DriverUnreachableError, RefusedPackageError
from pasps.cluster.master.package_check import check_package
from pasps.cluster.master.packages import open_packages
from pasps.cluster.store.submission import Submission
from pasps.cluster.store.tokens import driver_token
from pasps.errors import AuthenticationError, BrokenError, BusyError, TimeoutExpiredError
from pasps.topology.control_socket import ControlSocket
from pasps.topology.verbs import Verb, Verbs
from tests.integration.master_process import TOPOLOGY, package
from tests.integration.running import until

pytestmark = pytest.mark.integration

EPOCH = 3
TOKEN = driver_token("t0ken", "counting", EPOCH)


class Echo(Verb[dict[str, int]], frozen=True):
    name = "echo"

    value: int = 1


class Busy(Verb[None], frozen=True):
    name = "busy"


class Sleepy(Verb[None], frozen=True):
    name = "sleepy"


async def _echo(asked: Echo) -> dict[str, int]:
    return {"value": asked.value}


async def _busy(_: Busy) -> None:
    raise BusyError("not now")


async def _sleepy(_: Sleepy) -> None:
    await asyncio.sleep(30)


def verbs() -> Verbs:
    made = Verbs()
    made.add(Echo, _echo)
    made.add(Busy, _busy)
    made.add(Sleepy, _sleepy)
    return made


def test_verbs_are_passed_on_and_answers_come_back() -> None:
    async def body() -> None:
        control = await ControlSocket.listen("127.0.0.1", verbs(), "counting", EPOCH, TOKEN)
        assert control.address is not None
        door = Door("counting", EPOCH, control.address, TOKEN)
        answers = await asyncio.gather(*(call(door, "echo", {"value": value}, 5) for value in range(20)))
        assert [answer["value"] for answer in answers] == list(range(20))
        with pytest.raises(BusyError, match="not now"):
            await call(door, "busy", {}, 5)
        with pytest.raises(TimeoutExpiredError, match=r"did not answer 'sleepy' within 0.2 s"):
            await call(door, "sleepy", {}, 0.2)
        assert await ask(door) is Contact.ANSWERS
        for topology, epoch in (("other", EPOCH), ("counting", EPOCH - 1), ("counting", EPOCH + 1)):
            other = Door(topology, epoch, control.address, driver_token("t0ken", topology, epoch))
            assert await ask(other) is Contact.REFUSED
            with pytest.raises(AuthenticationError):
                await call(other, "echo", {}, 5)
        await control.close(0)
        assert await ask(door) is Contact.REFUSED
        with pytest.raises(DriverUnreachableError, match=r"the driver of topology 'counting' at 127.0.0.1"):
            await call(door, "echo", {}, 5)

    asyncio.run(body())


def test_who_takes_connections_and_says_nothing_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        door = Door("counting", EPOCH, mute.getsockname()[:2], TOKEN)
        assert asyncio.run(ask(door, 0.2)) is Contact.SILENT


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400\r\n", b'{"ok": 1}\n', b"null\n"])
def test_who_speaks_something_else_is_no_driver(said: bytes) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        writer.close()

    async def body() -> None:
        async with await asyncio.start_server(other, "127.0.0.1", 0) as server:
            door = Door("counting", EPOCH, server.sockets[0].getsockname()[:2], TOKEN)
            assert await ask(door) is Contact.REFUSED

    asyncio.run(body())


def test_a_child_that_takes_too_long_ends_with_all_that_it_started() -> None:
    code = "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep(60)"
    result = asyncio.run(run_child([sys.executable, "-c", code], 1.5))
    assert result.code is None
    until(lambda: _is_over(int(result.output)), "the end of what it started")


def test_what_a_child_leaves_behind_ends_with_it() -> None:
    code = "import subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid)"
    result = asyncio.run(run_child([sys.executable, "-c", code], 30))
    assert result.code == 0
    until(lambda: _is_over(int(result.output)), "the end of what it started")


def _is_over(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def check(tmp_path: Path, text: str, seconds: float = 30.0, submission: Submission | None = None) -> Any:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "p.zip").write_bytes(package(tmp_path, "counting", text=text))
    try:
        return asyncio.run(check_package(tmp_path / "p.zip", tmp_path / "scratch", submission, seconds))
    finally:
        assert list((tmp_path / "scratch").iterdir()) == []


def test_a_check_knows_the_components_and_none_of_the_masters_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASPS_TOKEN", "t0ken")
    checked = check(tmp_path, f"import os\nassert 'PASPS_TOKEN' not in os.environ\nprint('noise')\n{TOPOLOGY}")
    assert (checked.name, [*checked.components]) == ("counting", ["lines", "count"])


def test_a_check_is_of_what_is_wanted_by_now(tmp_path: Path) -> None:
    wanted = Submission("later", "counting.py", workers=3, pools={"count": 6})
    checked = check(tmp_path, TOPOLOGY, submission=wanted)
    assert (checked.name, checked.workers, checked.components["count"]["pool"]) == ("later", 3, 6)


def test_pools_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedPackageError, match="1 to 4096, got 5000"):
        check(tmp_path, TOPOLOGY, submission=Submission("later", "counting.py", pools={"count": 5000}))


@pytest.mark.parametrize("by_its_code", [True, False])
def test_more_workers_than_can_be_are_refused(tmp_path: Path, by_its_code: bool) -> None:
    text = TOPOLOGY.replace("    lines =", "    config = {'topology.workers': 1000000}\n    lines =") if by_its_code else TOPOLOGY
    wanted = None if by_its_code else Submission("later", "counting.py", workers=1_000_000)
    with pytest.raises(RefusedPackageError, match=r"topology\.workers.*at most 100000, or null, got 1000000"):
        check(tmp_path, text, submission=wanted)


def test_a_file_that_never_ends_to_import_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedPackageError, match=r"was not made within 2 s; do what takes long in `initialize`"):
        check(tmp_path, f"import time\ntime.sleep(60)\n{TOPOLOGY}", 2.0)


def test_a_file_that_ends_the_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedPackageError, match="ended with code -9 and without an answer"):
        check(tmp_path, f"import os\nos.kill(os.getpid(), 9)\n{TOPOLOGY}")


HADOOP = """#!/bin/sh
# a file system of Hadoop in a directory: hadoop fs -put FROM gs://bucket/TO
set -e
root=$(dirname "$0")
[ "$2 $3" = "-D fs.permissions.umask-mode=077" ] && shift 2
case "$2" in
    -mkdir) mkdir -p "$root/${4#gs://}" ;;
    -put) cp "$3" "$root/${4#gs://}" ;;
    -get) cp "$root/${4#gs://}" "$5" ;;
    -rm) rm -f "$root/${5#gs://}" ;;
esac
"""


def test_packages_go_to_a_hadoop_file_system_by_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, given = tmp_path / "hadoop", tmp_path / "given.zip"
    command.write_text(HADOOP)
    command.chmod(0o755)
    given.write_bytes(b"package")
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    async def body() -> None:
        packages = open_packages("gs://bucket/some/where/", tmp_path / "cache")
        kept = await packages.keep(given, "counting", "ab" * 32)
        assert kept.startswith("gs://bucket/some/where/counting-")
        assert content(tmp_path / kept.removeprefix("gs://")) == b"package"
        for path in (tmp_path / "cache").iterdir():
            path.unlink()
        assert content(Path(await packages.local(kept))) == b"package"
        await packages.remove(kept)
        assert (content(tmp_path / kept.removeprefix("gs://")), [*(tmp_path / "cache").iterdir()]) == (None, [])
        with pytest.raises(BrokenError, match=r"package gs://bucket/some/where/counting-.* cannot be read: cp: "):
            await packages.local(kept)

    asyncio.run(body())


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
