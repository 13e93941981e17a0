"""Steps a worker on an event loop: again at once while it has work, else when something happens or is due."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

from pasps.runtime.executor import BoltExecutor
from pasps.runtime.worker import Worker
from pasps.worker.link import EXIT_FAILED

_log = logging.getLogger("pasps.worker")


def fail(error: BaseException) -> None:
    """End the process: what it holds is not to be trusted, and its controller starts another."""
    _log.critical("the worker ends", exc_info=error)
    logging.shutdown()
    os._exit(EXIT_FAILED)


class StepLoop:
    """Everything here runs on the event loop, except `notify`, which may be called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fail: Callable[[BaseException], None] = fail) -> None:
        """`fail` is called with an exception that was raised out of a step; the worker is not stepped any more."""
        self.broken = False
        """Whether a step ended in the middle, by an interrupt."""
        self._loop = loop
        self._fail = fail
        self._worker: Worker
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._notified = False
        self._finished: list[BoltExecutor] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def drive(self, worker: Worker) -> None:
        """The worker to step, from the next `wake` on."""
        self._worker = worker

    def wake(self) -> None:
        """Step soon: something happened."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._step)

    def _due(self) -> None:
        self._timer = None
        if not self._scheduled:  # straight away: an idle spout is asked fifty times a second, and a turn of the loop costs
            self._step()

    def _step(self) -> None:
        self._scheduled = False
        try:
            more = self._worker.step()
        except (SystemExit, KeyboardInterrupt):  # these leave the loop; asyncio keeps all others to itself, and goes on without us
            self.broken = True
            raise
        except BaseException as error:  # noqa: BLE001 - the daemon's door; nothing of the user's raises out of a step
            self._fail(error)
            return
        if more:
            self.wake()
            return
        due = self._worker.next_at()
        if self._timer is not None:
            if self._timer.when() == due:
                return
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._due)

    def notify(self, executor: BoltExecutor) -> None:
        """From a bolt's own thread: it has finished a call. Many of them make one wake-up."""
        self._finished.append(executor)
        if not self._notified:
            self._notified = True
            self._loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        self._notified = False  # first: whoever finishes from here on notifies anew
        executors, self._finished = self._finished, []
        for executor in executors:
            executor.wake()
        self.wake()

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a call of an async bolt."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._spawned)
        return task

    def _spawned(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.wake()
