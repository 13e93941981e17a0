"""Bolts that wait: `async def` on the worker's loop, or blocking code on a thread of its own.

Both take tuples from the inbox one call at a time and settle each call on the loop when it is over.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from queue import SimpleQueue
from typing import Any

from pasps.api.tuples import Tuple
from pasps.runtime.call import Call, settle_call, work_for
from pasps.runtime.collector import AsyncCollector
from pasps.runtime.executor import BoltExecutor, Seat
from pasps.runtime.origin import Origin
from pasps.runtime.task_slot import TaskSlot

_SWITCH_SECONDS = 0.0005
_Hook = tuple[Callable[[], None], SimpleQueue[BaseException | None]]


def _run_hook(hook: Callable[[], None], done: SimpleQueue[BaseException | None]) -> None:
    try:
        hook()
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        done.put(error)
    else:
        done.put(None)


Spawn = Callable[[Coroutine[Any, Any, None]], None]


class WaitingExecutor(BoltExecutor):
    """Starts calls while fewer than `most_calls` are under way; `finished` ones are settled in the next step."""

    __slots__ = ("_batched", "_finished", "_most_rows", "_tick_calls", "most_calls", "origins", "under_way")

    def __init__(self, seat: Seat, batched: bool, most_rows: int, most_calls: int) -> None:
        super().__init__(seat)
        self.origins: dict[int, Origin] = {}
        self.most_calls = most_calls
        self.under_way = 0
        self._batched = batched
        self._most_rows = most_rows
        self._finished: deque[Call] = deque()
        self._tick_calls: deque[Call] = deque()

    def step(self) -> None:
        """Settle what is finished, start what may start."""
        while self._finished:
            self._settle(self._finished.popleft())
        if self.emitter.parked and not self.emitter.unpark():
            return
        if self._ticks:
            self.run_ticks()
        while self._tick_calls and self.under_way < self.most_calls:
            self._begin(self._tick_calls.popleft())
        while self.inbox.count and self.under_way < self.most_calls and not self.emitter.parked:
            batch = self.inbox.take(self._most_rows)
            slot = self.slots[batch.task]
            tups = self.origins[batch.edge].tuples(batch)
            slot.open += len(tups)
            self._begin(Call(slot, batch, tups, work_for(self.plan.shape, slot, batch, tups, self._batched)))

    def run_tick(self, slot: TaskSlot, tup: Tuple) -> None:
        """`process_tick` of one task, in its turn among the other calls."""
        handler = getattr(slot.instance, "process_tick", None)
        if handler is not None and all(call.slot is not slot for call in self._tick_calls):
            self._tick_calls.append(Call(slot, None, [], lambda: handler(tup)))

    def _begin(self, call: Call) -> None:
        self.under_way += 1
        call.slot.running += 1
        self.start(call)

    def _settle(self, call: Call) -> None:
        self.under_way -= 1
        call.slot.running -= 1
        if call.batch is not None:
            self.meter.ran(call.batch.edge, len(call.tups))
            self.meter.seconds += call.seconds
        settle_call(self.settler, call, self.plan.shape, self._batched, self.flags)

    def used(self, seconds: float) -> None:
        """What its calls took is counted, on whatever thread, waiting included; not its steps on the loop."""

    def start(self, call: Call) -> None:
        """Begin the call; when it is over, `_finished` has it and the executor is woken."""
        raise NotImplementedError

    def idle(self) -> bool:
        """Whether everything it took is acked or failed, and all it emitted has left."""
        return self.under_way == 0 and not self._tick_calls and super().idle()


class AsyncExecutor(WaitingExecutor):
    """Calls are coroutines on the worker's event loop."""

    __slots__ = ("_spawn",)

    def bind(self, spawn: Spawn) -> None:
        """How to start a coroutine."""
        self._spawn = spawn

    def start(self, call: Call) -> None:
        """Begin the call."""
        self._spawn(self._run(call))

    async def _run(self, call: Call) -> None:
        AsyncCollector.enter(call.records)
        begun = self.clock.now()
        try:
            result = call.work()
            call.outcome = await result if isinstance(result, Awaitable) else result
        except Exception as error:  # noqa: BLE001 - the step's door: the tuple fails, the worker goes on
            call.outcome = error
        call.seconds = self.clock.now() - begun
        call.records.over = True
        self._finished.append(call)
        self.wake()


class ThreadExecutor(WaitingExecutor):
    """Calls, and lifecycle hooks, run one after the other on a thread of the replica's own, which starts with the first.

    One call more than the running one is kept ready for the thread, so that it does not wait for the loop in between.
    """

    __slots__ = ("_notify", "_queue", "_thread")

    def bind(self, notify: Callable[[BoltExecutor], None]) -> None:
        """How to wake the executor from another thread."""
        self._notify = notify
        self._queue: SimpleQueue[Call | _Hook | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, call: Call) -> None:
        """Begin the call."""
        self._ensure_thread()
        self._queue.put(call)

    def _ensure_thread(self) -> None:
        if self._thread is None:
            # a call that returns has to get the interpreter back from the loop; Python's own 5 ms is half of a short wait
            sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_SECONDS))
            name = f"{self.plan.id}[{self.replica}]"
            self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
            self._thread.start()

    def call(self, hook: Callable[[], None]) -> None:
        """Run the hook on the replica's thread, after what was given to it, and wait for it."""
        if self.under_way:  # the loop must not wait for blocking code
            hook()
            return
        self._ensure_thread()
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._queue.put((hook, done))
        error = done.get()
        if error is not None:
            raise error

    def _loop(self) -> None:
        now = self.clock.now
        while (call := self._queue.get()) is not None:
            if isinstance(call, tuple):
                _run_hook(*call)
                continue
            collector = call.slot.collector
            if collector is not None:
                collector.out = call.records
                collector.append = call.records.append
            begun = now()
            try:
                call.outcome = call.work()
            except Exception as error:  # noqa: BLE001 - the step's door: the tuple fails, the worker goes on
                call.outcome = error
            call.seconds = now() - begun
            self._finished.append(call)
            self._notify(self)

    def stop(self) -> None:
        """End the thread once it has done what it was given; does not wait for it."""
        if self._thread is not None:
            self._queue.put(None)
