"""The life of the child process, with stand-ins that start in milliseconds; the service itself is in test_predictor_ladder."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from pasps.clock import SystemClock
from pasps.errors import PredictorError
from pasps.topology import predictor_process
from pasps.topology.predictor_process import TOKEN_VARIABLE, PredictorProcess
from tests.integration.predictor_servers import says, serving
from tests.integration.running import until as until_blocking
from tests.integration.tcp_peers import until

pytestmark = pytest.mark.integration

READY = "import sys\nprint('predictor listening on', sys.argv[1], flush=True)\n"
OBEDIENT = READY + "sys.stdin.read()\n"
STUBBORN = (
    """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.write(2, b"asked\\n"))
"""
    + READY
    + "while True:\n    time.sleep(600)\n"
)
SILENT = "import time\ntime.sleep(600)\n"
BROKEN = "import sys\nsys.exit('no such wheel')\n"
CHATTY = """
import sys, time
print("predictor listening", end="", flush=True)
time.sleep(0.1)
print(" on", sys.argv[1] + "\\n" + "x" * 3_000_000, flush=True)
open({file!r}, "w").close()
time.sleep(600)
"""
PARENT = (
    "import subprocess, sys\nprint(subprocess.Popen(['sleep', '600']).pid, file=sys.stderr, flush=True)\n" + READY + "sys.stdin.read()\n"
)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), 100)

    asyncio.run(bounded())


@asynccontextmanager
async def started(script: str, **options: Any) -> AsyncIterator[PredictorProcess]:
    async with serving(says({"status": "ready"})) as server:
        child = PredictorProcess(SystemClock(), command=("-c", script, server.url), **options)
        child.start()
        try:
            yield child
        finally:
            await child.close()


async def ready(child: PredictorProcess) -> int:
    await until(lambda: child.state == "READY" and child.pid is not None, "a predictor process that is ready")
    assert child.pid is not None
    return child.pid


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def refusal(child: PredictorProcess) -> PredictorError:
    with pytest.raises(PredictorError) as raised:
        child.url()
    return raised.value


@pytest.fixture(autouse=True)
def _nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor_process, "NEEDED", ("os",))  # stand-ins need nothing


@pytest.fixture(autouse=True)
def _no_children() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    until_blocking(lambda: not set(psutil.Process().children(recursive=True)) - before, "the end of all that was started")


def test_it_is_started_in_the_background_and_ended_by_close() -> None:
    async def main() -> None:
        async with started(OBEDIENT) as child:
            assert child.state == "STARTING"
            assert refusal(child).quiet
            pid = await ready(child)
            assert child.url() == psutil.Process(pid).cmdline()[-1]
            assert os.getpgid(pid) == pid  # Ctrl-C in the terminal does not reach it
            assert child.token in psutil.Process(pid).environ()[TOKEN_VARIABLE]
            assert child.token not in " ".join(psutil.Process(pid).cmdline())
        assert gone(pid)
        assert child.state == "CLOSED"
        assert refusal(child).reason == "the predictor process is closed"
        await child.close()

    run(main)


def test_it_is_ready_when_its_libraries_are_loaded_and_after_a_restart_as_soon_as_it_listens() -> None:
    async def main() -> None:
        async with serving(says({"status": "starting"})) as server:
            child = PredictorProcess(SystemClock(), command=("-c", OBEDIENT, server.url))
            child.start()
            await until(lambda: len(server.calls) == 2, "two looks at its health")
            assert child.state == "STARTING"
            assert refusal(child).quiet
            server.manner = says({"status": "ready"})
            first = await ready(child)
            server.manner = says({"status": "starting"})
            os.kill(first, signal.SIGKILL)
            await until(lambda: child.state == "DOWN", "its end")
            assert await ready(child) != first
            await child.close()

    run(main)


def test_one_that_dies_is_started_again_and_what_it_had_started_is_ended(tmp_path: Path) -> None:
    async def main() -> None:
        log = tmp_path / "predictor.log"
        async with started(PARENT, log_path=log) as child:
            first = await ready(child)
            grandchild = int(log.read_text())
            os.kill(first, signal.SIGKILL)
            await until(lambda: child.state == "DOWN" and gone(grandchild), "the end of both")
            assert refusal(child).reason.startswith(f"the predictor process {first} was ended by SIGKILL")
            assert not refusal(child).quiet
            assert await ready(child) != first
        await until(lambda: gone(int(log.read_text().split()[1])), "the end of the second one's child")

    run(main)


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor_process, "END_SECONDS", 2.0)  # it has to hear of it first

    async def main() -> None:
        log = tmp_path / "predictor.log"
        async with started(STUBBORN, log_path=log) as child:
            pid = await ready(child)
            await child.close()
            assert gone(pid)
            assert "asked\n" in log.read_text(), "it was not given a chance"

    run(main)


def test_one_that_does_not_get_ready_is_given_up_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor_process, "START_SECONDS", 0.1)

    async def main() -> None:
        async with started(SILENT) as child:
            await until(lambda: child.pid is not None, "a process")
            first = child.pid
            await until(lambda: child.state == "DOWN", "the end of patience")
            assert refusal(child).reason == f"the predictor process {first} was not ready after 0.1 s"
            await until(lambda: child.pid not in (None, first), "the next process")

    run(main)


def test_closed_while_it_is_being_given_up_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor_process, "START_SECONDS", 0.2)
    monkeypatch.setattr(predictor_process, "END_SECONDS", 0.3)

    async def main() -> None:
        async with started(STUBBORN.replace(READY, "")) as child:
            await until(lambda: child.state == "DOWN", "the end of patience")
            assert child.pid is not None
            await child.close()
            assert child.pid is None

    run(main)


def test_one_that_ends_at_once_is_tried_less_and_less_often_and_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(predictor_process, "FIRST_PAUSE_SECONDS", 0.02)
    caplog.set_level(logging.INFO, predictor_process.__name__)

    async def main() -> None:
        log = tmp_path / "predictor.log"
        async with started(BROKEN, log_path=log) as child:
            await until(lambda: len(caplog.records) == 3, "three ends")
            assert f"ended with exit code 1, its last words: 'no such wheel'; see {log}" in refusal(child).reason
        said = [record.getMessage().partition("; it is started again in ")[2] for record in caplog.records]
        assert said[:3] == ["0.02 s", "0.04 s", "0.08 s"]
        assert not [record for record in caplog.records if record.levelno > logging.INFO]  # the ladder warns

    run(main)


def test_a_program_that_cannot_be_started_is_a_reason_and_no_exception(tmp_path: Path) -> None:
    async def main() -> None:
        async with started(OBEDIENT, log_path=tmp_path / "no such directory" / "log") as child:
            await until(lambda: child.state == "DOWN", "the failure")
            assert "could not be started" in refusal(child).reason

    run(main)


def test_what_is_not_installed_is_said_once_with_the_cure_and_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(predictor_process, "NEEDED", ("os", "no_such_library"))

    async def main() -> None:
        async with started(OBEDIENT) as child:
            assert child.state == "MISSING"
            assert child.pid is None
            assert refusal(child).reason == "the predictor needs no_such_library, not installed here; pip install 'pasps[predictor]'"
            assert refusal(child).quiet
        [record] = caplog.records
        assert record.levelno == logging.WARNING
        assert "pip install 'pasps[predictor]'" in record.getMessage()

    run(main)


def test_one_that_says_a_lot_is_never_held_up(tmp_path: Path) -> None:
    async def main() -> None:
        end = tmp_path / "end"
        async with started(CHATTY.format(file=str(end))) as child:
            await ready(child)
            await until(end.exists, "the end of three megabytes")

    run(main)


def test_closed_before_it_was_ready_nothing_is_left() -> None:
    async def main() -> None:
        for turns in range(4):
            async with started(SILENT):
                for _ in range(turns):
                    await asyncio.sleep(0)

    run(main)


STARTER = """
import asyncio, sys
from pasps.clock import SystemClock
from pasps.topology import predictor_process
predictor_process.NEEDED = ()
async def main():
    child = predictor_process.PredictorProcess(SystemClock(), command=("-c", sys.argv[1], "http://127.0.0.1:1"))
    child.start()
    while child.pid is None:
        await asyncio.sleep(0.01)
    print(child.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def test_no_orphan_is_left_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, OBEDIENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.kill()
    until_blocking(lambda: gone(pid), "the end of the orphan")
