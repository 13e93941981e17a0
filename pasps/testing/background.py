"""What goes on beside the steps of a run: coroutines on a private event loop in fake time, and threads that ring when done."""

from __future__ import annotations

import asyncio
import heapq
import selectors
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from pasps.runtime.executor import BoltExecutor
from pasps.testing.clock import FakeClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _FakeTimeLoop(asyncio.SelectorEventLoop):
    """Its time is the fake clock's; it never waits, since it is stopped before it is run."""

    def __init__(self, clock: FakeClock) -> None:
        self.selector = selectors.DefaultSelector()
        self._fake = clock
        self.timers: list[float] = []
        self.ready = 0  # callbacks that the next step will run
        self.helpers = 0  # calls under way on other threads
        super().__init__(self.selector)

    def time(self) -> float:
        """The fake clock's time."""
        return self._fake.peek()

    def call_at(self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> asyncio.TimerHandle:
        """Keep in mind when something is due."""
        heapq.heappush(self.timers, when)
        return super().call_at(when, callback, *args, context=context)

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> asyncio.Handle:
        """Keep in mind that something is ready."""
        self.ready += 1
        return super().call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Keep in mind that a thread works for a coroutine."""
        future = super().run_in_executor(executor, func, *args)
        self.helpers += 1
        future.add_done_callback(self._helped)
        return future

    def _helped(self, _: object) -> None:
        self.helpers -= 1


class Coroutines:
    """The coroutines of a run's async bolts, by worker. The loop is made with the first one."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._loop: _FakeTimeLoop | None = None
        self._tasks: dict[str, set[asyncio.Task[None]]] = {}

    def spawn(self, worker: str, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a coroutine; it runs in the next `step`."""
        if self._loop is None:
            self._loop = _FakeTimeLoop(self._clock)
        task = self._loop.create_task(coroutine)
        tasks = self._tasks.setdefault(worker, set())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    def under_way(self) -> bool:
        """Whether any is not over."""
        return any(self._tasks.values())

    def step(self) -> None:
        """Run everything that is ready once."""
        if self._loop is not None:
            self._loop.call_soon(self._loop.stop)
            self._loop.ready = 0
            self._loop.run_forever()

    def ready(self) -> bool:
        """Whether the next step has something to run."""
        return self._loop is not None and self._loop.ready > 0

    def next_at(self) -> float | None:
        """When a timer of theirs is due."""
        if self._loop is None:
            return None
        timers, now = self._loop.timers, self._clock.peek()
        while timers and timers[0] <= now:
            heapq.heappop(timers)
        return timers[0] if timers else None

    def wait(self, seconds: float) -> bool:
        """Wait in real time for a socket or thread that a coroutine awaits; False when there is none, or it took too long."""
        loop = self._loop
        if loop is None or not (loop.helpers or len(loop.selector.get_map()) > 1):  # one is the loop's own
            return False
        return bool(loop.selector.select(seconds))

    def drop(self, worker: str) -> None:
        """A worker died: its coroutines are never gone on with."""
        for task in self._tasks.pop(worker, set()):
            task.cancel()
        self.step()

    def close(self) -> None:
        """End all, and the loop."""
        for worker in list(self._tasks):
            self.drop(worker)
        if self._loop is not None:
            self.step()
            self._loop.close()
            self._loop = None


class Bell:
    """Rung by the threads of thread bolts; answered between two steps."""

    def __init__(self) -> None:
        self._rung: deque[BoltExecutor] = deque()
        self._condition = threading.Condition()

    def ring(self, executor: BoltExecutor) -> None:
        """Any thread: a call is finished."""
        with self._condition:
            self._rung.append(executor)
            self._condition.notify()

    def answer(self) -> bool:
        """Wake who rang; whether anybody had."""
        woken = False
        while self._rung:
            self._rung.popleft().wake()
            woken = True
        return woken

    def wait(self, seconds: float) -> bool:
        """Wait in real time until somebody rings; False when nobody did."""
        with self._condition:
            return self._condition.wait_for(lambda: bool(self._rung), seconds)
