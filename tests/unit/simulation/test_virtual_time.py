"""An event loop whose waits cost nothing."""

from __future__ import annotations

import asyncio

import pytest

from pasps.errors import BrokenError
from pasps.simulation.virtual_time import VirtualClock, run_virtually


def test_waits_are_in_order_and_take_their_virtual_time() -> None:
    clock, seen = VirtualClock(), []

    async def waits(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, round(clock.now(), 6)))

    async def main() -> None:
        await asyncio.gather(waits("a day", 86_400), waits("a second", 1), waits("a moment", 0.001))

    run_virtually(clock, main())
    assert seen == [("a moment", 0.001), ("a second", 1.0), ("a day", 86_400.0)]


def test_a_timeout_comes_in_virtual_time() -> None:
    clock = VirtualClock()

    async def main() -> None:
        async with asyncio.timeout(5):
            await asyncio.sleep(10)

    with pytest.raises(TimeoutError):
        run_virtually(clock, main())
    assert clock.now() == pytest.approx(5)


def test_what_is_left_when_the_main_task_is_over_is_cancelled() -> None:
    clock, seen = VirtualClock(), []

    async def for_ever() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            seen.append(clock.now())

    async def main() -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(for_ever())
        await asyncio.sleep(2.5)
        return task

    assert run_virtually(clock, main()).cancelled()
    assert seen == [2.5]


def test_waiting_for_what_never_comes_is_an_error_and_no_standstill() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(BrokenError, match="never comes"):
        run_virtually(VirtualClock(), main())
