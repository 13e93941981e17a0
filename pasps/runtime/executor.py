"""Executors: replicas of bolts that compute, what they share with all others, and the pump that gives them their turns.

A turn takes chunks from the inbox, gives them to user code (`ways`), and settles what came of them (`settler`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pasps.api.blueprint import ComponentPlan
from pasps.api.tuples import Tuple
from pasps.clock import Clock
from pasps.errors import Interrupt
from pasps.metrics import ReplicaCounts
from pasps.runtime.batch import Batch
from pasps.runtime.emitter import Emitter
from pasps.runtime.inbox import Inbox, TaskSlot
from pasps.runtime.meters import STEP_SECONDS, Blocking, Meter, Pace, Whole
from pasps.runtime.settler import Settler
from pasps.runtime.ways import Way

Schedule = Callable[["Executor"], None]
CallAt = Callable[[float, Callable[[], None]], None]
"""Have something called once a time is reached."""


class Executor:
    """One replica of a bolt or one task of a spout, in this worker. `step()` does at most about 2 ms of work."""

    __slots__ = ("_schedule", "blocking", "clock", "emitter", "meter", "plan", "queued", "rank", "replica")

    def __init__(self, plan: ComponentPlan, replica: int, rank: int, clock: Clock, schedule: Schedule) -> None:
        self.plan = plan
        self.replica = replica
        self.rank = rank
        self.clock = clock
        self.meter = Meter()
        self.blocking = Blocking()
        self.emitter: Emitter
        self.queued = False  # whether it stands in the worker's list already
        self._schedule = schedule

    def wake(self) -> None:
        """Ask for a turn."""
        if not self.queued:
            self.queued = True
            self._schedule(self)

    def step(self) -> None:
        """Work for at most about 2 ms or one tuple, whichever is longer; asks for another turn when there is more."""
        raise NotImplementedError

    def used(self, cpu: float, wall: float, awake: float | None) -> None:
        """Its last step took so many seconds; counted are those of CPU, unless its steps block. `awake`: see `Blocking.step`."""
        self.meter.seconds += self.blocking.step(cpu, wall, awake)

    def idle(self) -> bool:
        """Whether everything it took is acked or failed, and all it emitted has left."""
        raise NotImplementedError

    def call(self, hook: Callable[[], None]) -> None:
        """Run a lifecycle hook of an instance where its user code runs, and wait for it; raises what the hook raises."""
        hook()

    def hook(self, hook: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        """The same without waiting: `then` hears on the worker's loop what the hook raised; at once, except for a thread's."""
        then(raised_by(hook))

    def counts(self, worker: str, state: str) -> ReplicaCounts:
        """What it has done so far."""
        meter, ports = self.meter, self.emitter.ports
        return ReplicaCounts(
            self.plan.id,
            self.replica,
            worker,
            state,
            executed=dict(meter.executed),
            seconds=meter.seconds,
            emitted={name: port.emitted for name, port in ports.items()},
            copies=self.emitter.copies,
            acked=meter.acked,
            failed=meter.failed,
            errors=meter.errors,
            replayed=meter.replayed,
            blocks=self.blocking.blocks,
        )


class BoltExecutor(Executor):
    """A replica of a bolt with the tasks it hosts; subclasses say where and when user code runs."""

    __slots__ = ("_finishes", "_ticks", "in_hand", "inbox", "settler", "slots", "way")

    def __init__(self, plan: ComponentPlan, replica: int, rank: int, clock: Clock, schedule: Schedule, inbox: Inbox) -> None:
        super().__init__(plan, replica, rank, clock, schedule)
        self.inbox = inbox
        if not self.inbox.shared:
            self.inbox.takers.append(self)
        self.in_hand = 0  # tuples in calls that are under way between two steps
        self.slots: dict[int, TaskSlot] = {}
        self.settler: Settler
        self.way: Way
        self._ticks: list[Tuple] = []
        self._finishes: deque[TaskSlot] = deque()  # whose `finish` is to be called when all that is queued is done

    def receive(self, batch: Batch) -> None:
        """Queue a batch."""
        self.inbox.accept(batch)

    def may_take(self) -> bool:
        """Whether it can do something with one more tuple now."""
        return not self.emitter.parked and self.takes()

    def takes(self) -> bool:
        """Whether what waits in its inbox is for it too: a replica that has parked may still have a turn to come."""
        return not self.inbox.shared or self in self.inbox.takers

    def take(self, most: int) -> tuple[Batch, TaskSlot]:
        """The next rows of its inbox, and the task that they are for."""
        batch = self.inbox.take(most)
        if self.inbox.shared:
            # it was sent to the inbox, which goes by the name of one replica: the task is that of whoever takes it
            batch.task = self.replica
            slot = self.slots[self.replica]
            slot.finished = False
        else:
            slot = self.slots[batch.task]
        slot.open += len(batch.rows)
        return batch, slot

    def tick(self, tup: Tuple) -> None:
        """Give every task this tick before its next tuple; at most one waits."""
        self._ticks = [tup]
        self.wake()

    def idle(self) -> bool:
        """Whether everything it took is acked or failed, and all it emitted has left."""
        return self.quiet() and not self.kept()

    def quiet(self) -> bool:
        """Whether there is nothing for it to do, and all it emitted has left; it may keep tuples for a later ack."""
        return not (self.inbox.waits_for(self) or self.emitter.parked or self.finishing())

    def kept(self) -> int:
        """Tuples that are neither acked nor failed although their call is over."""
        return sum(slot.open for slot in self.slots.values()) - self.in_hand

    def counts(self, worker: str, state: str) -> ReplicaCounts:
        """What it has done so far, and has before it."""
        counts = super().counts(worker, state)
        counts.busy, counts.kept = self.in_hand, self.kept()
        if not self.inbox.shared:
            counts.queued, counts.received = self.inbox.count, dict(self.inbox.received)
        counts.finishing, counts.unfinished = self.finishing(), len(self.unfinished())
        return counts

    def hush(self) -> bool:
        """Whether `call` would find nothing under way; if not, no more is begun until `unhush`, so that it soon will."""
        return True

    def unhush(self) -> None:
        """Go on."""

    def late_calls(self, seconds: float) -> list[tuple[int, str]]:
        """Calls that run beside the loop and have not come back for longer than that, each said once: the task, and words for it."""
        return []

    def stop(self) -> None:
        """It is not used any more: what it has begun and been given ends, and no more comes. Does not wait."""

    def wait_stopped(self, seconds: float) -> None:
        """Wait for that, and for what its hooks led to."""

    def run_ticks(self) -> None:
        """Run the waiting tick, if there is one, on every task."""
        ticks, self._ticks = self._ticks, []
        for tup in ticks:
            for slot in list(self.slots.values()):
                if self.has(slot):
                    self.run_tick(slot, tup)

    def has(self, slot: TaskSlot) -> bool:
        """Whether the task runs here: its instance is not on its way to or from another host."""
        return slot.held is None and self.slots.get(slot.task) is slot

    def run_tick(self, slot: TaskSlot, tup: Tuple) -> None:
        """`process_tick` of one task, on the worker's loop."""
        if slot.collector is not None:
            self.settler.settle_alone(slot, self.way.call(slot, "process_tick", tup))

    # ---- the end

    def finish(self) -> None:
        """Have `finish` called on every instance here that needs it, behind all that is queued."""
        # made anew: who was asked before and is not done is among them, so asking twice asks nobody twice
        self._finishes = deque(self.unfinished())
        if self._finishes:
            self.wake()

    def unfinished(self) -> list[TaskSlot]:
        """Tasks whose instances have had no `finish` since their last input."""
        if not self.plan.finishes:
            return []
        return [slot for slot in self.slots.values() if slot.instance is not None and not slot.finished]

    def finishing(self) -> int:
        """Calls of `finish` that are asked for and not over."""
        return len(self._finishes)

    def run_finishes(self, until: float) -> None:
        """Call what was asked for, as long as there is room for what is emitted, and time."""
        while self._finishes and not self.emitter.parked:
            slot = self._finishes.popleft()
            if self.may_finish(slot):
                slot.finished = True
                self.settler.settle_alone(slot, self.way.call(slot, "finish"))
            if self.clock.now() > until:
                break

    def may_finish(self, slot: TaskSlot) -> bool:
        """Whether the task is still to be asked here; else it is asked where it is."""
        return self.has(slot) and slot.instance is not None and not slot.finished


def raised_by(hook: Callable[[], None]) -> BaseException | None:
    """Run a hook of the user's; what it raised."""
    try:
        hook()
    except Interrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the door of hooks: whoever asked decides
        return error
    return None


class InlineExecutor(BoltExecutor):
    """Runs chunks that fit the pace until its time is used up, its inbox is empty, or its output finds no room.

    A chunk that took longer than the flush deadline has its output released at once (`release_output`).
    """

    __slots__ = ("_flush_seconds", "_release_output", "pace")

    def __init__(
        self,
        plan: ComponentPlan,
        replica: int,
        rank: int,
        clock: Clock,
        schedule: Schedule,
        inbox: Inbox,
        pace: Pace | Whole,
        flush_seconds: float,
        release_output: Callable[[], None],
    ) -> None:
        super().__init__(plan, replica, rank, clock, schedule, inbox)
        self.pace = pace
        self._flush_seconds = flush_seconds
        self._release_output = release_output

    def step(self) -> None:
        """Work for at most about 2 ms or one tuple, whichever is longer; asks for another turn when there is more."""
        emitter, inbox = self.emitter, self.inbox
        if emitter.parked and not emitter.unpark():
            return
        if self._ticks:
            self.run_ticks()
        now, pace, meter = self.clock.now, self.pace, self.meter
        run, settle = self.way.run, self.settler.settle
        start = before = now()
        takes = self.takes()
        while inbox.count and takes and not emitter.parked:
            batch, slot = self.take(pace.size)
            count = len(batch.rows)
            sent = emitter.copies
            settle(slot, batch, run(slot, batch))
            meter.ran(batch.edge, count)
            after = now()
            pace.learn(count, after - before, emitter.copies - sent)
            if after - before > self._flush_seconds:
                self._release_output()
            before = after
            if after - start > STEP_SECONDS:
                break
        if self._finishes and not (inbox.count and takes):
            self.run_finishes(start + STEP_SECONDS)
        if self._finishes and not emitter.parked:
            self.wake()
        if inbox.count:
            inbox.call()
        elif inbox.dry is not None and takes:
            inbox.dry()


_ROUNDS = 8
"""A pass goes round so often at most, also where the clock stands still."""


class Pump:
    """Executors by rank. A pass that runs out of time goes on where it stopped, so that nobody at the end starves."""

    __slots__ = ("_clock", "_pass_seconds", "_rank", "_ready", "stepped")

    def __init__(self, ranks: int, clock: Clock, pass_seconds: float) -> None:
        self._ready: list[list[Executor]] = [[] for _ in range(ranks)]
        self._rank = 0
        self._clock = clock
        self._pass_seconds = pass_seconds
        self.stepped: set[Executor] = set()
        """Who had a turn since somebody last emptied this; for whoever reports on executors."""

    def schedule(self, executor: Executor) -> None:
        """Give the executor a turn."""
        self._ready[executor.rank].append(executor)

    def has_work(self) -> bool:
        """Whether anyone asked for a turn."""
        return any(self._ready)

    def run_pass(self) -> None:
        """Turns for everyone who asks, until nobody does or the time is up; those included whom an earlier one woke.

        It goes round again within its time, since what comes between two passes costs as much as several turns.
        """
        now, cpu = self._clock.now, self._clock.cpu
        time, spent = now(), cpu()
        end = time + self._pass_seconds
        ready = self._ready
        for _ in range(_ROUNDS):
            for rank in range(self._rank, len(ready)):
                if not ready[rank]:
                    continue
                turns, ready[rank] = ready[rank], []
                for done, executor in enumerate(turns, 1):
                    executor.queued = False
                    awake = None
                    if executor.blocking.watching:
                        # what this takes, and a wait for a core meanwhile, is no part of the step
                        before, awake = time, self._clock.awake()
                        time, spent = now(), cpu()
                        executor.blocking.asked(2 * (time - before))
                    executor.step()
                    # asked once a step: reading a thread's CPU time is a system call
                    before, spent = spent, cpu()
                    began, time = time, now()
                    executor.used(spent - before, time - began, None if awake is None else (self._clock.awake() or awake) - awake)
                    if awake is not None:
                        time, spent = now(), cpu()
                    self.stepped.add(executor)
                    if time > end and done < len(turns):
                        ready[rank][:0] = turns[done:]
                        self._rank = rank
                        return
                if time > end:
                    self._rank = rank + 1
                    return
            self._rank = 0
            if not any(ready):
                return
