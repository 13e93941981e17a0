"""A lane beside processes that do as they are told: who waits, who is refused, and what is tried again. No process, no time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from predictor_service.errors import ClientGoneError, FitProcessLostError, FitTimeoutError, ModelError, UnavailableError
from predictor_service.fit_process import FitProcess, ForkServer
from predictor_service.forecast import Forecast
from predictor_service.job import Job
from predictor_service.lane import Lane, Limits

JOB = Job("rf", [1.0], 1, 1.0, 15.0)
DONE = Forecast([1.0])

Manner = Callable[["Process"], Awaitable[Forecast]]


class Process(FitProcess):
    """Fits in the manner that is next; `ended` is told as a real one's end is."""

    def __init__(self, manners: deque[Manner], on_end: Callable[[FitProcess], None]) -> None:
        super().__init__(on_end)
        self.manners = manners
        self.on_end = on_end

    async def fit(self, job: Job) -> Forecast:
        return await (self.manners.popleft() if self.manners else succeeds)(self)

    def kill(self) -> None:
        if not self.ended:
            self.ended = True
            asyncio.get_running_loop().call_soon(self.on_end, self)


class Processes(ForkServer):
    """Makes them; the first `failures` do not come up."""

    def __init__(self, *manners: Manner, failures: int = 0) -> None:
        super().__init__()
        self.manners = deque(manners)
        self.made: list[Process] = []
        self.failures = failures

    async def spawn(self, niceness: int, on_end: Callable[[FitProcess], None]) -> FitProcess:
        if self.failures:
            self.failures -= 1
            raise FitProcessLostError("no room")
        self.made.append(Process(self.manners, on_end))
        return self.made[-1]


async def succeeds(process: Process) -> Forecast:
    return DONE


async def dies(process: Process) -> Forecast:
    process.kill()
    raise FitProcessLostError("gone")


async def fails(process: Process) -> Forecast:
    raise ModelError("no use")


async def hangs(process: Process) -> Forecast:
    await asyncio.Event().wait()
    raise AssertionError


async def present() -> bool:
    return False


async def absent() -> bool:
    return True


async def settled() -> None:
    """Until everything that can happen by itself has happened."""
    for _ in range(10):
        await asyncio.sleep(0)


def run(
    body: Callable[[Lane, Processes], Coroutine[Any, Any, None]], *manners: Manner, seconds: float = 60.0, waiting: int = 2, size: int = 1
) -> None:
    async def scene() -> None:
        processes = Processes(*manners)
        lane = Lane("heavy", size, 10, Limits(seconds, waiting), processes)
        lane.start()
        await settled()
        await body(lane, processes)
        lane.close()
        await settled()

    asyncio.run(scene())


def test_a_fit_gets_its_forecast_and_the_process_is_used_again() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        assert [await lane.fit(JOB, present) for _ in range(3)] == [DONE] * 3
        assert len(processes.made) == 1

    run(body)


def test_a_fit_whose_process_ends_is_tried_once_more() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        assert await lane.fit(JOB, present) is DONE
        assert len(processes.made) == 2
        assert lane.statistics().ended == 1

    run(body, dies)


def test_a_fit_that_ends_two_processes_is_given_up_and_the_next_works() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        with pytest.raises(UnavailableError, match="ended 2 times"):
            await lane.fit(JOB, present)
        assert await lane.fit(JOB, present) is DONE

    run(body, dies, dies)


def test_a_fit_over_its_deadline_costs_its_process_and_nothing_else() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        with pytest.raises(FitTimeoutError, match="model 'rf' was stopped after 0 s with 1 samples"):
            await lane.fit(JOB, present)
        assert processes.made[0].ended
        await settled()
        assert lane.statistics().ready == 1
        assert not processes.made[1].ended

    run(body, hangs, seconds=0.0)


def test_a_models_error_leaves_the_process_in_its_place() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        with pytest.raises(ModelError):
            await lane.fit(JOB, present)
        assert await lane.fit(JOB, present) is DONE
        assert len(processes.made) == 1

    run(body, fails)


def test_a_process_that_ended_while_idle_is_not_given_a_fit() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        processes.made[0].kill()
        assert await lane.fit(JOB, present) is DONE
        assert lane.statistics().ready == 1

    run(body)


def test_no_more_wait_than_may() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        tasks = [asyncio.create_task(lane.fit(JOB, present)) for _ in range(3)]
        await settled()
        assert lane.statistics().waiting == 2
        with pytest.raises(UnavailableError, match="2 fits wait for the 1 processes of lane 'heavy' already"):
            await lane.fit(JOB, present)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert lane.statistics().waiting == 0

    run(body, hangs)


def test_who_waits_is_served_in_order() -> None:
    order: list[int] = []

    async def body(lane: Lane, processes: Processes) -> None:
        async def ask(number: int) -> None:
            await lane.fit(JOB, present)
            order.append(number)

        await asyncio.gather(*(ask(number) for number in range(4)))

    run(body, waiting=3)
    assert order == [0, 1, 2, 3]


def test_nothing_is_fitted_for_a_client_that_left_while_it_waited() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        first = asyncio.create_task(lane.fit(JOB, absent))  # it need not wait, so it is not asked
        second = asyncio.create_task(lane.fit(JOB, absent))
        third = asyncio.create_task(lane.fit(JOB, present))
        assert await first is DONE
        with pytest.raises(ClientGoneError):
            await second
        assert await third is DONE

    async def takes_its_time(process: Process) -> Forecast:
        await settled()
        return DONE

    run(body, takes_its_time)


def test_a_cancelled_fit_ends_its_process() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        task = asyncio.create_task(lane.fit(JOB, present))
        await settled()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert processes.made[0].ended
        assert await lane.fit(JOB, present) is DONE

    run(body, hangs)


def test_who_waits_when_the_service_ends_is_told_so() -> None:
    async def body(lane: Lane, processes: Processes) -> None:
        tasks = [asyncio.create_task(lane.fit(JOB, present)) for _ in range(3)]
        await settled()
        tasks[0].cancel()
        lane.close()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer) for answer in answers[1:]] == [UnavailableError, UnavailableError]
        with pytest.raises(UnavailableError, match="the service is ending"):
            await lane.fit(JOB, present)
        assert lane.statistics().ended == 0

    run(body, hangs)


def test_a_fit_waits_for_the_first_process_no_longer_than_for_a_busy_one() -> None:
    async def body() -> None:
        lane = Lane("light", 1, 0, Limits(0.0, 2), Processes(failures=1))
        lane.start()
        with pytest.raises(UnavailableError, match="no process of lane 'light' has started after 0 s"):
            await lane.fit(JOB, present)
        lane.close()
        await settled()

    asyncio.run(body())
