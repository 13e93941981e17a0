"""A lane: some processes that fit, who waits for them, and what happens when one of them hangs or dies."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from predictor_service.errors import ClientGoneError, FitProcessLostError, FitTimeoutError, UnavailableError
from predictor_service.fit_process import FitProcess, ForkServer
from predictor_service.forecast import Forecast
from predictor_service.job import Job
from predictor_service.metrics import LaneStatistics

_TRIES = 2
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 10.0

_ENDING = "the service is ending; ask again when it is back"

_log = logging.getLogger(__name__)

ClientGone = Callable[[], Awaitable[bool]]
"""Whether the one who asked has closed its connection since."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a fit may take, and may wait for a process; how many may wait."""

    fit_seconds: float
    most_waiting: int


class Lane:
    """`size` processes of one niceness, each replaced when it ends. For the server's event loop only."""

    def __init__(self, name: str, size: int, niceness: int, limits: Limits, fork_server: ForkServer) -> None:
        self.name = name
        self.size = size
        self._ended = 0
        self._niceness = niceness
        self._limits = limits
        self._fork_server = fork_server
        self._processes: set[FitProcess] = set()
        # the one that was used last is the one whose caches are warm
        self._idle: asyncio.LifoQueue[FitProcess | None] = asyncio.LifoQueue()
        self._waiting = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Have the processes started; returns at once."""
        for _ in range(self.size):
            self._start_process()

    def close(self) -> None:
        """End the processes; who waits or has a fit under way gets UnavailableError."""
        # first: a process that ends from here on is not replaced
        self._closed = True
        for task in list(self._starting):
            task.cancel()
        for process in list(self._processes):
            process.kill()
        # one for each who waits, who takes it for the end
        for _ in range(self._waiting):
            self._idle.put_nowait(None)

    def statistics(self) -> LaneStatistics:
        """The lane now."""
        return LaneStatistics(self.name, self.size, len(self._processes), self._waiting, self._ended)

    async def fit(self, job: Job, client_gone: ClientGone) -> Forecast:
        """Wait for a process and fit; a fit whose process ends is tried once more.

        Raises:
            ModelError, ArtifactError: what the model did wrong, or what is wrong with the artifact.
            FitTimeoutError: it took too long.
            UnavailableError: too many wait, it waited too long, or its process ended each time.
            ClientGoneError: so said `client_gone` after the wait.
        """
        for _ in range(_TRIES):
            process = await self._take(client_gone)
            try:
                async with asyncio.timeout(self._limits.fit_seconds):
                    forecast = await process.fit(job)
            except FitProcessLostError:
                continue
            except TimeoutError as late:
                # its answer to this job would be taken for that to the next: another is made in its place; so too below
                process.kill()
                raise FitTimeoutError(
                    f"model {job.model!r} was stopped after {self._limits.fit_seconds:g} s with {len(job.samples)} samples; "
                    "send fewer samples, use a cheaper model, or start the service with a longer --fit-timeout"
                ) from late
            except asyncio.CancelledError:
                process.kill()
                raise
            except BaseException:
                self._idle.put_nowait(process)
                raise
            self._idle.put_nowait(process)
            return forecast
        raise UnavailableError(self._why_lost(job.model))

    async def _take(self, client_gone: ClientGone) -> FitProcess:
        if self._closed:
            raise UnavailableError(_ENDING)
        # while somebody waits, what is idle is theirs: they are woken for it and have not taken it yet
        while not self._waiting and not self._idle.empty():
            process = self._idle.get_nowait()
            if process is not None and not process.ended:
                return process
        if self._waiting >= self._limits.most_waiting:
            raise UnavailableError(
                f"{self._waiting} fits wait for the {self.size} processes of lane {self.name!r} already; "
                "ask again later, use a cheaper model, or start the service with more --workers"
            )
        process = await self._wait_for_process()
        try:
            if await client_gone():
                raise ClientGoneError("the client did not wait for its turn")
        except BaseException:
            self._idle.put_nowait(process)
            raise
        return process

    async def _wait_for_process(self) -> FitProcess:
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.fit_seconds):
                while True:
                    process = await self._idle.get()
                    if process is None:
                        raise UnavailableError(_ENDING)
                    # those that have ended stay in the queue until somebody comes upon them
                    if not process.ended:
                        return process
        except TimeoutError as late:
            what = "is free" if self._processes else "has started"
            raise UnavailableError(
                f"no process of lane {self.name!r} {what} after {self._limits.fit_seconds:g} s; ask again later"
            ) from late
        finally:
            self._waiting -= 1

    def _start_process(self) -> None:
        task = asyncio.get_running_loop().create_task(self._keep_starting())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _keep_starting(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                process = await self._fork_server.spawn(self._niceness, self._on_end)
            except (FitProcessLostError, OSError) as error:
                _log.warning("lane %s: %s; trying again in %g s", self.name, error, pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            # else it ended before it was one of `_processes`, and `_on_end` has left it to this loop
            if not process.ended:
                self._processes.add(process)
                self._idle.put_nowait(process)
                return

    def _on_end(self, process: FitProcess) -> None:
        if process not in self._processes:
            return  # it never became ready: who started it knows
        self._processes.discard(process)
        if not self._closed:
            self._ended += 1
            _log.warning("lane %s: process %d ended; another takes its place", self.name, process.pid)
            self._start_process()

    def _why_lost(self, model: str) -> str:
        if self._closed:
            return _ENDING
        return f"the process that fitted model {model!r} ended {_TRIES} times, perhaps for want of memory; send fewer samples or ask again"
