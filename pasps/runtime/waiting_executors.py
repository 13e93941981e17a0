"""Bolts that wait: `async def` on the worker's loop, or blocking code on a thread of its own.

Both take tuples from the inbox one call at a time; the outcome of each call is settled on the loop when it is over.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from typing import Any

from pasps.api.blueprint import ComponentPlan
from pasps.api.tuples import Tuple
from pasps.clock import Clock
from pasps.errors import ClosedError, Interrupt
from pasps.runtime.batch import Batch
from pasps.runtime.collector import AsyncCollector
from pasps.runtime.emitter import Delivery
from pasps.runtime.executor import BoltExecutor, CallAt, Schedule, raised_by
from pasps.runtime.inbox import Inbox, TaskSlot
from pasps.runtime.outcome import Call, Failure, Outcome, Records
from pasps.runtime.reports import line_of

_SWITCH_SECONDS = 0.0005
_ASK_SECONDS = 0.005
_SLOWER = 2.0
"""A replica that takes so many times as long as the quickest of its bolt in the worker is a slow one."""
_FORGET_SECONDS = 1.0
"""What is known of a slow replica that has no calls is believed by half after so long."""
_CALLS_REMEMBERED = 4
_LEAST_LOOK_SECONDS = 0.01
"""A replica that leaves what waits to quicker ones looks again no sooner than this: they may hang."""

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
Answer = list[Delivery] | BaseException
Then = Callable[[BaseException | None], None]


class Work:
    """A call of user code that is under way: of tuples (`batch`), or of `hook`. Filled where it runs, settled on the loop."""

    __slots__ = ("alone", "args", "batch", "begun", "hook", "outcome", "seconds", "slot", "told")

    def __init__(self, slot: TaskSlot, batch: Batch | None, hook: str = "", *args: Any) -> None:
        self.slot = slot
        self.batch = batch
        self.hook = hook
        self.args = args
        self.outcome: Outcome
        self.alone: Call
        self.begun = 0.0  # 0: it waits for its turn on the thread
        self.seconds = 0.0
        self.told = False  # that it takes long


class WaitingExecutor(BoltExecutor):
    """Starts calls while fewer than `most_calls` are under way; what `_finished` has is settled in the next step."""

    __slots__ = (
        "_call_at",
        "_calls",
        "_ended",
        "_finish_calls",
        "_finished",
        "_hushed",
        "_looks_again",
        "_most_rows",
        "_moved",
        "_tick_calls",
        "at_a_time",
        "each",
        "most_calls",
        "under_way",
    )

    def __init__(
        self,
        plan: ComponentPlan,
        replica: int,
        rank: int,
        clock: Clock,
        schedule: Schedule,
        inbox: Inbox,
        call_at: CallAt,
        at_a_time: int,
        ready: int = 0,
    ) -> None:
        """`at_a_time` calls run, `ready` more wait for their turn."""
        super().__init__(plan, replica, rank, clock, schedule, inbox)
        self.at_a_time = at_a_time
        self.most_calls = at_a_time + ready
        self.under_way = 0
        self._call_at = call_at
        self._most_rows = plan.max_batch
        self._calls: set[Work] = set()  # under way
        self._finished: deque[Work] = deque()
        self._tick_calls: deque[Work] = deque()
        self._hushed = False
        self._finish_calls = 0  # of those under way
        self.each = 0.0
        """Seconds that a tuple takes here, by the last few calls; 0 before the first."""
        self._ended = 0.0  # when the last call was over
        self._moved = 0.0  # when a call last began to run or was over
        self._looks_again = False  # whether a timer is set

    def step(self) -> None:
        """Settle what is finished, start what may start."""
        # while it is hushed, too: whoever hushed it waits for just these
        while self._finished:
            self._settle(self._finished.popleft())
        if self._hushed or (self.emitter.parked and not self.emitter.unpark()):
            return
        if self._ticks:
            self.run_ticks()
        while self._tick_calls and self.under_way < self.most_calls:
            work = self._tick_calls.popleft()
            if self.has(work.slot):  # else it has moved on meanwhile, and gets its ticks there
                self._begin(work)
        inbox = self.inbox
        while inbox.count and self.may_take():
            batch, slot = self.take(self._most_rows)
            self._begin(Work(slot, batch))
        if self._finishes and not inbox.waits_for(self):
            self._begin_finishes()
        if inbox.dry is not None and not inbox.count and self.may_take():
            inbox.dry()

    def may_take(self) -> bool:
        """Whether it can do something with one more tuple now."""
        return self.under_way < self.most_calls and not self._hushed and super().may_take() and self.worthwhile()

    def worthwhile(self) -> bool:
        """Whether the next tuple of an inbox that is shared is done sooner here than if it waited for one of the others.

        Whoever takes much longer than the others gets a tuple only when so many wait that it is not the last to be done; it is tried
        again after a while, since it may have become quicker, and others may hang.
        """
        takers = self.inbox.takers
        if len(takers) == 1 or not self.each:
            return True
        now = self.clock.now()
        known = [taker.pace(now) for taker in takers if isinstance(taker, WaitingExecutor) and taker.each and taker is not self]
        limit = min(known, default=self.each) * _SLOWER
        if self.each <= limit:
            return True
        quick = [each for each in known if each <= limit]
        waits = self.inbox.count / (len(quick) * self.at_a_time) + 1
        forgotten: float = 0.5 ** ((now - self._ended) / _FORGET_SECONDS)
        if self.each * forgotten < waits * sum(quick) / len(quick):
            return True
        if self.inbox.count and not self._looks_again:
            self._looks_again = True
            self._call_at(now + max(self.each, _LEAST_LOOK_SECONDS), self._look_again)
        return False

    def pace(self, now: float) -> float:
        """Seconds that a tuple takes here; of one that has no hand free, at least since when that is so, or for ever."""
        if self._hushed or self.emitter.parked:
            return inf
        return self.each if self.under_way < self.at_a_time else max(self.each, now - self._moved)

    def _look_again(self) -> None:
        self._looks_again = False
        if self.inbox.count:
            self.wake()

    def run_tick(self, slot: TaskSlot, tup: Tuple) -> None:
        """`process_tick` of one task, in its turn among the other calls."""
        if slot.collector is not None and all(work.slot is not slot for work in self._tick_calls):
            self._tick_calls.append(Work(slot, None, "process_tick", tup))

    def finishing(self) -> int:
        """Calls of `finish` that are asked for and not over."""
        return len(self._finishes) + self._finish_calls

    def _begin_finishes(self) -> None:
        """Each as the last call of its instance; whoever still has one under way comes when that is settled."""
        for _ in range(len(self._finishes)):
            if self.under_way >= self.most_calls or self.emitter.parked:
                return
            slot = self._finishes.popleft()
            if not self.may_finish(slot):
                continue
            if slot.running:
                self._finishes.append(slot)
                continue
            # before it begins: what comes for the task meanwhile takes the mark away, and it is asked once more
            slot.finished = True
            self._finish_calls += 1
            self._begin(Work(slot, None, "finish"))

    def _begin(self, work: Work) -> None:
        self.under_way += 1
        if self.under_way <= self.at_a_time:  # else it waits for its turn
            self._moved = self.clock.now()
        self._calls.add(work)
        self.in_hand += 0 if work.batch is None else len(work.batch.rows)
        work.slot.running += 1
        self.start(work)

    def _settle(self, work: Work) -> None:
        self.under_way -= 1
        self._moved = self.clock.now()
        self._calls.discard(work)
        work.slot.running -= 1
        self._finish_calls -= work.hook == "finish"
        if work.batch is None:
            self.settler.settle_alone(work.slot, work.alone)
            return
        self.in_hand -= len(work.batch.rows)
        self._ended, each = self._moved, work.seconds / len(work.batch.rows)
        self.each += (each - self.each) / _CALLS_REMEMBERED if self.each else each
        self.meter.ran(work.batch.edge, len(work.batch.rows))
        self.meter.seconds += work.seconds
        self.settler.settle(work.slot, work.batch, work.outcome)

    def used(self, cpu: float, wall: float, awake: float | None) -> None:
        """What its calls took is counted, on whatever thread, waiting included; not its steps on the loop."""

    def start(self, work: Work) -> None:
        """Begin the call; when it is over, `_finished` has it and the executor is woken."""
        raise NotImplementedError

    def quiet(self) -> bool:
        """Whether there is nothing for it to do, and all it emitted has left; it may keep tuples for a later ack."""
        return self.under_way == 0 and not self._tick_calls and super().quiet()

    def late_calls(self, seconds: float) -> list[tuple[int, str]]:
        """Calls that have not come back for longer than that, each said once: the task, and how long it is, and where."""
        found, now = [], self.clock.now()
        for work in self._calls.difference(self._finished):  # the loop may have stood still since they came back
            if work.begun and not work.told and now - work.begun > seconds:
                work.told = True
                found.append((work.slot.task_id, f"a call has not come back for {now - work.begun:.0f} s{self.whereabouts()}"))
        return found

    def whereabouts(self) -> str:
        """Where the running call is, as far as that can be seen."""
        return ""


class AsyncExecutor(WaitingExecutor):
    """Calls are coroutines on the worker's event loop."""

    __slots__ = ("_spawn",)

    def bind(self, spawn: Spawn) -> None:
        """How to start a coroutine."""
        self._spawn = spawn

    def start(self, work: Work) -> None:
        """Begin the call."""
        self._spawn(self._run(work)).add_done_callback(partial(self._never_begun, work))

    def _never_begun(self, work: Work, task: asyncio.Task[None]) -> None:
        """A call that was cancelled before it ran a line: asyncio ends it without asking `_run`, which lets no other be cancelled."""
        if not task.cancelled():
            return
        error = asyncio.CancelledError("cancelled before it began")
        if work.batch is None:
            work.alone = Failure(error)
        else:
            work.outcome = Outcome.failed(len(work.batch.rows), error)
        self._finished.append(work)
        self.wake()

    async def _run(self, work: Work) -> None:
        records = Records()
        AsyncCollector.enter(records)
        begun = work.begun = self.clock.now()
        # nothing of the user's comes out of these: a call that is cancelled has failed, like any other
        if work.batch is None:
            work.alone = await self.way.wait_call(work.slot, records, work.hook, *work.args)
        else:
            work.outcome = await self.way.wait(work.slot, work.batch, records)
        work.seconds = self.clock.now() - begun
        # what the call has started and left running may not emit behind its outcome
        records.over = True
        self._finished.append(work)
        self.wake()


class _Hook:
    """A lifecycle hook for the thread. `done` is set when it has run; `then` hears of it on the loop, when there is one."""

    __slots__ = ("done", "error", "hook", "then")

    def __init__(self, hook: Callable[[], None], then: Then | None) -> None:
        self.hook = hook
        self.then = then
        self.error: BaseException | None = None
        self.done = threading.Event()


class ThreadExecutor(WaitingExecutor):
    """Calls, and lifecycle hooks, run one after the other on a thread of the replica's own, which starts with the first.

    One call more than the running one is kept ready for the thread, so that it does not wait for the loop in between. When the running
    one takes long, what is ready goes back into an inbox that others take from.
    """

    __slots__ = ("_hooks", "_hooks_under_way", "_looks_behind", "_notify", "_questions", "_queue", "_ready", "_stopped", "_thread")

    def bind(self, notify: Callable[[BoltExecutor], None]) -> None:
        """How to wake the executor from another thread."""
        self._notify = notify
        self._queue: SimpleQueue[Work | _Hook | None] = SimpleQueue()
        self._looks_behind = False  # whether a timer is set
        self._ready: set[Work] = set()  # given to the thread, and not begun; whoever removes one has it
        self._thread: threading.Thread | None = None
        self._questions: deque[tuple[Callable[[], list[Delivery]], SimpleQueue[Answer]]] = deque()
        self._hooks: deque[_Hook] = deque()
        self._hooks_under_way = 0
        self._stopped = False

    def step(self) -> None:
        """Answer the thread, settle what is finished, start what may start."""
        self._answer()
        self._hear_of_hooks()
        super().step()

    # ---- what is kept ready

    def start(self, work: Work) -> None:
        """Begin the call."""
        # before the thread can see it: what it does not find here it takes for given back, and leaves alone
        self._ready.add(work)
        self._give(work)
        if self.inbox.shared and not self._looks_behind:
            self._look_behind_later()

    def _look_behind_later(self) -> None:
        self._looks_behind = True
        self._call_at(max(self.clock.now(), self._moved) + self._patience(), self._look_behind)

    def _look_behind(self) -> None:
        """Put what the thread has not begun back into the inbox, when it stands behind a call that takes long."""
        self._looks_behind = False
        if self._is_late():
            for work in list(self._ready):
                self._give_up(work)
            self.inbox.call()
            self.wake()
        elif self._ready:
            self._look_behind_later()

    def _patience(self) -> float:
        return max(_SLOWER * self.each, _LEAST_LOOK_SECONDS)

    def _is_late(self) -> bool:
        """Whether the running call takes much longer than others before it."""
        return self.under_way > 0 and self.clock.now() - self._moved >= self._patience()

    def _give_up(self, work: Work) -> None:
        batch = work.batch
        if batch is None or not self._claims(work):
            return
        self._take_out(work)
        # undoes what `take` and `_begin` counted, but for the credit, which is with the senders
        self.under_way -= 1
        self.in_hand -= len(batch.rows)
        self._calls.discard(work)
        work.slot.running -= 1
        work.slot.open -= len(batch.rows)
        self.inbox.take_back(batch)

    def _take_out(self, work: Work) -> None:
        """Take it out of the queue, which would keep its tuples for as long as the call before it lasts."""
        others: list[Work | _Hook | None] = []
        with suppress(Empty):
            while True:
                others.append(self._queue.get_nowait())
        for job in others:
            if job is not work:
                self._queue.put(job)

    def _claims(self, work: Work) -> bool:
        """Whether nobody has begun it or taken it over, as the loop and the thread both may; they are told apart by a set's `remove`."""
        try:
            self._ready.remove(work)
        except KeyError:
            return False
        return True

    def _hear_of_hooks(self) -> None:
        while self._hooks:
            hook = self._hooks.popleft()
            self._hooks_under_way -= 1
            if hook.then is not None:
                hook.then(hook.error)

    def _give(self, job: Work | _Hook) -> None:
        if self._thread is None:
            # a call that returns has to get the interpreter back from the loop; Python's own 5 ms is half of a short wait
            sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_SECONDS))
            name = f"{self.plan.id}[{self.replica}]"
            self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
            self._thread.start()
        self._queue.put(job)

    def may_take(self) -> bool:
        """Whether it can do something with one more tuple now: one to have ready, only when no other could begin it at once."""
        if not super().may_take():
            return False
        takers = self.inbox.takers
        if not self.under_way or not self.inbox.shared:
            return True
        return not self._is_late() and not any(isinstance(taker, ThreadExecutor) and taker.free() for taker in takers)

    def free(self) -> bool:
        """Whether its thread has nothing to do, and a tuple would be worthwhile there."""
        return not self.under_way and super().may_take()

    def quiet(self) -> bool:
        """Whether there is nothing for it to do, and all it emitted has left; it may keep tuples for a later ack."""
        return self._hooks_under_way == 0 and super().quiet()

    # ---- hooks

    def call(self, hook: Callable[[], None]) -> None:
        """Run the hook on the replica's thread, after what was given to it, and wait for it; raises what the hook raises.

        The loop waits, too: where that matters, `hush` first.
        """
        job = _Hook(hook, None)
        self._give(job)
        while not job.done.wait(_ASK_SECONDS):
            self._answer()  # a call before it may want to know something of the loop
        if job.error is not None:
            raise job.error

    def hook(self, hook: Callable[[], None], then: Then) -> None:
        """Run the hook on the replica's thread, after what was given to it; `then` hears on the loop what it raised."""
        self._hooks_under_way += 1
        self._give(_Hook(hook, then))

    def hush(self) -> bool:
        """Whether nothing is under way; if not, no more is begun until `unhush`."""
        self._hushed = self.under_way > 0 or self._hooks_under_way > 0
        return not self._hushed

    def unhush(self) -> None:
        """Go on."""
        self._hushed = False
        self.wake()

    # ---- what the thread asks

    def ask(self, question: Callable[[], list[Delivery]]) -> list[Delivery]:
        """On the thread: have the loop choose, and wait for it."""
        answer: SimpleQueue[Answer] = SimpleQueue()
        self._questions.append((question, answer))
        self._notify(self)
        if self._stopped:  # nobody may step this executor any more
            self._answer()
        found = answer.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def _answer(self) -> None:
        while self._questions:
            try:
                question, answer = self._questions.popleft()
            except IndexError:  # the thread answers itself, once stopped
                return
            try:
                answer.put(ClosedError(f"component {self.plan.id!r} is closed") if self._stopped else question())
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a grouping of the user's: raised where the question was asked
                answer.put(error)

    def _loop(self) -> None:
        now = self.clock.now
        while (job := self._queue.get()) is not None:
            if isinstance(job, _Hook):
                job.error = raised_by(job.hook)
                job.done.set()
                if job.then is not None:
                    self._hooks.append(job)
                    self._notify(self)
                continue
            if not self._claims(job):
                continue
            begun = job.begun = now()
            if job.batch is None:
                job.alone = self.way.call(job.slot, job.hook, *job.args)
            else:
                job.outcome = self.way.run(job.slot, job.batch)
            job.seconds = now() - begun
            # last: from here on the loop settles it, with whatever is in it
            self._finished.append(job)
            self._notify(self)

    def whereabouts(self) -> str:
        """The line of user code that its thread is in."""
        frame = sys._current_frames().get(self._thread.ident or 0) if self._thread is not None else None  # noqa: SLF001 - no other way
        return f", {line_of(frame)}" if frame is not None else ""

    def stop(self) -> None:
        """End the thread once it has done what it was given; does not wait for it."""
        # first: a question that is put after the answers below finds it set, and its own thread answers it
        self._stopped = True
        self._answer()
        if self._thread is not None:
            self._queue.put(None)

    def wait_stopped(self, seconds: float) -> None:
        """Wait for the thread to end after `stop`, and run what its hooks led to."""
        if self._thread is not None:
            self._thread.join(seconds)
        self._hear_of_hooks()
