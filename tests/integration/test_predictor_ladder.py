"""The real predictor service under the ladder: killed, stopped and let go on, and its parent killed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pasps.clock import Deadline, SystemClock
from pasps.control.forecaster import Forecaster
from pasps.control.predictor_client import PredictorClient
from pasps.control.situation import Forecast
from pasps.errors import PredictorError
from pasps.topology.predictor_process import PredictorProcess
from tests.integration.running import until as until_blocking
from tests.integration.tcp_peers import HOST

pytestmark = pytest.mark.integration

SAMPLES = tuple(10.0 + second for second in range(100))
HORIZON = 5
DEADLINE_SECONDS = 0.5
PATIENCE_SECONDS = 100.0


class Loop:
    """What a control loop does with its predictor, as often as a test wants."""

    def __init__(self, folder: Path) -> None:
        self.child = PredictorProcess(SystemClock(), log_path=folder / "predictor.log")
        self.client = PredictorClient(self.child.url, "lr", token=self.child.token)
        self.ladder = Forecaster(self.client, "lr", DEADLINE_SECONDS)
        self.uptime = 0.0

    async def cycle(self, after: float = 0.01) -> Forecast:
        self.uptime += after
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = await self.ladder.forecast(SAMPLES, HORIZON - DEADLINE_SECONDS, self.uptime)
        assert found is not None
        return found

    async def wait_forecast(self) -> int:
        """Cycles until a forecast is the predictor's own; its process."""
        deadline = Deadline(SystemClock(), PATIENCE_SECONDS)
        while (found := await self.cycle()).source != "predictor":
            assert not deadline.expired(), found.why
            await asyncio.sleep(0.05)
        assert found.predictions == pytest.approx([110.0 + second for second in range(HORIZON)], rel=1e-6)
        assert self.child.pid is not None
        return self.child.pid

    async def close(self) -> None:
        await self.client.close()
        await self.child.close()


def family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def all_gone(processes: list[psutil.Process]) -> bool:
    return not [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def test_it_is_used_again_after_it_was_killed_and_after_it_was_stopped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pasps.control")

    def said(level: int) -> list[str]:
        found = [record.getMessage() for record in caplog.records if record.levelno == level and record.name.startswith("pasps.control")]
        caplog.clear()
        return found

    async def main() -> None:
        loop = Loop(tmp_path)
        loop.child.start()
        try:
            first = await loop.wait_forecast()
            assert said(logging.WARNING) == []
            with pytest.raises(PredictorError, match=rf"the predictor at http://{HOST}:\d+ answered 401 Unauthorized"):
                await PredictorClient(loop.child.url, "lr").predict(SAMPLES, HORIZON)  # without its token

            killed = family(first)
            os.kill(first, signal.SIGKILL)
            assert (await loop.cycle()).source == "last good"
            assert await loop.wait_forecast() != first
            assert len(said(logging.WARNING)) == 1
            until_blocking(lambda: all_gone(killed), lambda: f"the end of {killed}")

            second = loop.child.pid
            assert second is not None
            os.kill(second, signal.SIGSTOP)
            late = await loop.cycle()
            assert (late.source, late.why) == ("last good", "the predictor did not answer within 0.5 s")
            assert (await loop.cycle(after=3.0 * HORIZON)).source == "basic"
            os.kill(second, signal.SIGCONT)
            assert await loop.wait_forecast() == second
            assert len(said(logging.WARNING)) == 2
            ended = family(second)
        finally:
            await loop.close()
        until_blocking(lambda: all_gone(ended), lambda: f"the end of {ended}")

    asyncio.run(main())


PARENT = """
import asyncio, pathlib, sys
from tests.integration.test_predictor_ladder import Loop
async def main():
    loop = Loop(pathlib.Path(sys.argv[1]))
    loop.child.start()
    print(await loop.wait_forecast(), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def test_no_process_of_it_is_left_when_its_parent_is_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root) as parent:
        assert parent.stdout is not None
        processes = family(int(parent.stdout.readline()))
        parent.kill()
    until_blocking(lambda: all_gone(processes), lambda: f"the end of {processes}")
