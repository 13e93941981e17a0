"""A worker that is stepped no more must not look alive."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from pasps.runtime.worker import Worker
from pasps.worker.step_loop import StepLoop


class Breaks:
    """Stands for a worker out of whose step something is raised."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def step(self) -> bool:
        raise self.error


async def stepped(loop: asyncio.AbstractEventLoop, error: BaseException) -> tuple[StepLoop, list[BaseException]]:
    failed: list[BaseException] = []
    steps = StepLoop(loop, failed.append)
    steps.drive(cast("Worker", cast("Any", Breaks(error))))
    steps.wake()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return steps, failed


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError(), GeneratorExit(), BaseException()], ids=repr)
def test_whatever_is_raised_out_of_a_step_is_told(error: BaseException) -> None:
    async def main() -> None:
        steps, failed = await stepped(asyncio.get_running_loop(), error)
        assert failed == [error]
        assert not steps.broken

    asyncio.run(main())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_what_leaves_the_loop_is_left_to_whoever_runs_it(error: BaseException) -> None:
    loop = asyncio.new_event_loop()
    failed: list[BaseException] = []
    steps = StepLoop(loop, failed.append)
    steps.drive(cast("Worker", cast("Any", Breaks(error))))
    steps.wake()
    with pytest.raises(type(error)):
        loop.run_forever()
    loop.close()
    assert steps.broken
    assert failed == []
