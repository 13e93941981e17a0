"""One spout task: asks for tuples when there is room, keeps the ledger of those that are tracked, tells the spout their fate.

Its step starts a tuple's walk; `settle_acks` and the time-out end it. Whatever the spout's code raises is reported, and it goes on.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import repeat
from operator import is_, itemgetter
from typing import Any, TypeVar

import msgspec

from pasps.api.blueprint import ComponentPlan
from pasps.clock import Clock
from pasps.errors import EndOfInput, Interrupt, InvalidError, shown
from pasps.ids import IdSource
from pasps.metrics import Histogram
from pasps.runtime.ack_ledger import AckLedger, Entry, Repeats
from pasps.runtime.batch import Batch, Row
from pasps.runtime.collector import SpoutCollector, whole_number
from pasps.runtime.emitter import Delivery, Port
from pasps.runtime.executor import Executor, Schedule
from pasps.runtime.meters import STEP_SECONDS, Meter

_T = TypeVar("_T")

_TUP_ID, _EMITTED = itemgetter(0), itemgetter(1)

SpoutReport = Callable[[BaseException | str], None]
"""Tell of an exception of the spout's, or in words of what its user should know."""

_MOST_FAILED = 1_000_000
_TIMEOUTS_TOLD_SECONDS = 60.0
"""So long between two reports of time-outs."""


def number_of(value: Any) -> float | None:
    """`value` as a finite float where it is a number; None for everything else, bools and texts above all."""
    if isinstance(value, bool) or not hasattr(type(value), "__float__"):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def refuse_coroutine(component: str, method: str, returned: Any) -> None:
    """Raise InvalidError when `returned` is what an `async def` gives: nobody would ever await it."""
    if inspect.iscoroutine(returned):
        returned.close()
        raise InvalidError(f"component {component!r}: {method}() of a spout must be a plain method, got a coroutine; drop the async")


class Fates:
    """Calls `ack` and `fail` of the spout, each where the spout has one; what they raise is reported, and the others are told."""

    __slots__ = (
        "_clock", "_component", "_failed", "_ids", "_meter", "_owner", "_repeats", "_report", "_timeouts", "due_at", "histogram",
        "ledger", "on_ack", "on_fail",
    )  # fmt: skip

    def __init__(self, component: str, owner: int, clock: Clock, ids: IdSource, meter: Meter, report: SpoutReport) -> None:
        self.ledger = AckLedger()
        self.histogram = Histogram()
        self.on_ack: Callable[[Any], None] | None = None
        self.on_fail: Callable[[Any], None] | None = None
        self.due_at: Callable[[Any], float | None] | None = None
        self._component = component
        self._owner = owner
        self._clock = clock
        self._ids = ids
        self._meter = meter
        self._report = report
        self._failed: set[Hashable] = set()  # ids whose next emission is a replay
        self._repeats = Repeats()
        self._timeouts = TimeoutsSeen()

    def track(self, tup_ids: list[Any], untracked: int) -> list[int]:
        """Roots for these tuples, pending from now on; 0 for the `untracked` ones, whose id is None."""
        roots = self._ids.roots(len(tup_ids), self._owner)
        if not untracked:
            self.ledger.add(roots, tup_ids, self._clock.now())
            return roots
        roots = [root if tup_id is not None else 0 for root, tup_id in zip(roots, tup_ids, strict=True)]
        tracked = [(root, tup_id) for root, tup_id in zip(roots, tup_ids, strict=True) if root]
        self.ledger.add([root for root, _ in tracked], [tup_id for _, tup_id in tracked], self._clock.now())
        return roots

    def count_replays(self, tup_ids: list[Any]) -> None:
        """These were emitted: again, if they had failed."""
        if self._failed:
            self._compare(self._count_replays, tup_ids)

    def _count_replays(self, tup_ids: list[Any]) -> None:
        again = self._failed.intersection(tup_ids)
        self._failed -= again
        self._meter.replayed += len(again)

    def settle(self, roots: list[int], deltas: list[int] | None) -> bool:
        """Acks for these roots; True when any tuple was done with them."""
        together = self.ledger.ack_together(roots, deltas)
        if together is not None and self.due_at is None:
            tup_ids, emitted = together
            self.histogram.add(self._clock.now() - emitted, len(tup_ids))
            self.tell_acked(tup_ids)
            return True
        done = self.ledger.ack(roots, deltas) if together is None else [(tup_id, together[1]) for tup_id in together[0]]
        if self.ledger.late:
            late, self.ledger.late = self.ledger.late, []
            now = self._clock.now()
            self._timeouts.came_late([now - emitted for emitted in late])
        if not done:
            return False
        if self.due_at is not None:
            self._measure_from_due(self.due_at, done)
        else:
            now = self._clock.now()
            # tuples of one emission share their time, so a batch has few of them
            for emitted, count in Counter(map(_EMITTED, done)).items():
                self.histogram.add(now - emitted, count)
        self.tell_acked(done if self.on_ack is None and not self._repeats else list(map(_TUP_ID, done)))
        return True

    def _measure_from_due(self, due_at: Callable[[Any], float | None], done: list[Entry]) -> None:
        """Before the spout hears of the acks, since it may forget the tuples then."""
        now, wall = self._clock.now(), self._clock.wall()
        for tup_id, emitted in done:
            seconds = now - emitted
            try:
                due = due_at(tup_id)
                if due is not None:
                    refuse_coroutine(self._component, "due_at", due)
                    when = number_of(due)
                    if when is None:
                        what = f"due_at({shown(tup_id)}): expected seconds since the epoch or None, got {shown(due)}"
                        raise InvalidError(f"component {self._component!r}: {what}")
                    seconds = max(0.0, wall - when)
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the step's door: reported, this tuple counts from its emission
                self._report(error)
            self.histogram.add(seconds)

    def tell_acked(self, tup_ids: list[Any]) -> None:
        """These are done."""
        self._meter.acked += len(tup_ids)
        if self._repeats:
            self._compare(self._repeats.acked, tup_ids)
        if self.on_ack is not None:
            self._tell("ack", self.on_ack, tup_ids)

    def tell_failed(self, entries: list[Entry], lost: bool = False) -> None:
        """These will not be done; what is emitted with their ids from now on is a replay, unless the spout hears of nothing.

        `lost`: with a worker or a connection, which takes everything that is pending: that says nothing of these tuples.
        """
        tup_ids = list(map(_TUP_ID, entries))
        self._meter.failed += len(tup_ids)
        # noted before `fail` hears of it, which may emit it again at once
        if self.on_ack is not None or self.on_fail is not None:  # else it knows of none to emit again, and they would be kept for ever
            self._compare(self._note_failed, tup_ids)
        if not lost:
            self._compare(self._tell_of_repeats, tup_ids)
        if self.on_fail is not None:
            self._tell("fail", self.on_fail, tup_ids)

    def _note_failed(self, tup_ids: list[Any]) -> None:
        self._failed.update(tup_ids)
        while len(self._failed) > _MOST_FAILED:
            self._failed.pop()

    def _compare(self, use: Callable[[list[Any]], _T], tup_ids: list[Any]) -> _T | None:
        """Where ids of users are compared, which runs user code: what it raises is reported, and the tuples go their way."""
        try:
            return use(tup_ids)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            self._report(error)
            return None

    def _tell_of_repeats(self, tup_ids: list[Any]) -> None:
        now = self._clock.now()
        found = self._repeats.failed(tup_ids, now)
        if found is None:
            return
        tup_id, repeat = found
        others = self._repeats.others()
        too = f", and so often at least have {others} others" if others else ""
        self._report(
            f"the tuple with the id {shown(tup_id)} has failed {repeat.count} times "
            f"in {now - repeat.since:.3g} s and was never acked in between{too}; the errors of the bolts may say why. A spout may count "
            "tries in fail(), and put aside what fails too often"
        )

    def expire(self, timeout_seconds: float) -> list[Entry]:
        """One time-out has passed: what nobody settled in time. It is said, once in a while, how far the time-out is too short."""
        text = self._timeouts.text(timeout_seconds, self._clock.now())
        if text is not None:
            self._report(text)
        expired = self.ledger.rotate()
        self._timeouts.expired(len(expired))
        return expired

    def _tell(self, method: str, hook: Callable[[Any], Any], tup_ids: list[Any]) -> None:
        for tup_id in tup_ids:
            try:
                returned = hook(tup_id)
                if returned is not None:
                    refuse_coroutine(self._component, method, returned)
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the step's door: reported, the others are still told
                self._report(error)


class TimeoutsSeen:
    """How many tuples timed out, and how long those took that were done after all; put into words once in a while. Pure."""

    __slots__ = ("_count", "_late", "_late_seconds", "_longest", "_told_at")

    def __init__(self) -> None:
        self._told_at = {True: -math.inf, False: -math.inf}  # by whether any was done late, which says more
        self._begin()

    def _begin(self) -> None:
        self._count = self._late = 0
        self._late_seconds = self._longest = 0.0

    def expired(self, count: int) -> None:
        """So many timed out now."""
        self._count += count

    def came_late(self, seconds: list[float]) -> None:
        """These were done after they had timed out, so long after they were emitted."""
        self._late += len(seconds)
        self._late_seconds += sum(seconds)
        self._longest = max(self._longest, *seconds)

    def text(self, timeout_seconds: float, now: float) -> str | None:
        """What to tell, if anything. Asked once each time-out, before `expired`: so late acks had a time-out's time to come."""
        if not (self._count or self._late) or now - self._told_at[self._late > 0] < _TIMEOUTS_TOLD_SECONDS:
            return None
        limit = f"topology.message.timeout.secs is {timeout_seconds:g}"
        if self._late:
            mean = self._late_seconds / self._late
            told = (
                f"the time-out is shorter than the work takes: {limit}, and {self._late} tuples that had timed out were done after "
                f"{mean:.3g} s in the mean, {self._longest:.3g} s at most; what times out is done again, which makes it worse. Raise "
                "the time-out, let fewer tuples be in flight (topology.max.spout.pending), or make the bolts faster"
            )
        else:
            told = (
                f"{self._count} tuples timed out, and nothing was heard of them since: {limit}. A bolt may keep them without ack or "
                "fail, or the work takes longer than two time-outs"
            )
        self._told_at[self._late > 0] = now
        self._begin()
        return told


_FIRST_WAIT = 0.0005
_LONGEST_WAIT = 0.020
_QUIET_SECONDS = 5.0
_QUIET_WAIT = 0.050  # after so long without a tuple: see docs/decisions/0007
_LONGEST_ERROR_WAIT = 1.0
_LONGEST_TIMER = 3600.0
"""A spout may ask for any number of seconds; the loop's clock takes no more than some days."""
_COMPLAIN_SECONDS = 10.0
"""So long between two complaints of the same hook that every cut asks."""
MOST_POSITION_BYTES = 512 * 1024
"""A store takes about a megabyte for the positions of a topology, written as text."""


class SpoutExecutor(Executor):
    """States: ASLEEP (before activate and after deactivate), RUNNING, FINISHED (raised EndOfInput; a failure wakes it again).

    `next_tuple` is not called while anything it emitted is parked, while `max_pending` tuples are pending,
    or before the time that it asked for. What `ack` and `fail` emit waits for none but the first of these.
    """

    __slots__ = (
        "_backlog", "_call_at", "_complain_at", "_emitted_at", "_error_wait", "_kept", "_kept_saves", "_report",
        "_timer_at", "_untracked_done", "_wait", "_wake_at", "awake", "collector", "fates", "finished", "instance",
        "max_pending", "most", "reopened", "task_id", "tracking",
    )  # fmt: skip

    def __init__(
        self,
        plan: ComponentPlan,
        task: int,
        rank: int,
        clock: Clock,
        schedule: Schedule,
        ids: IdSource,
        report: SpoutReport,
        call_at: Callable[[float, Callable[[], None]], None],
    ) -> None:
        super().__init__(plan, task, rank, clock, schedule)
        self.task_id = plan.first_task + task
        self.fates = Fates(plan.id, self.task_id, clock, ids, self.meter, report)
        self.instance: Any = None
        self.collector: SpoutCollector
        self.awake = False
        self.finished = False
        self.reopened = False
        """A failure has woken it from its end, and it was not asked since: it may have something to emit again."""
        self.tracking = True
        self.max_pending: int | None = None
        self.most = 512
        self._report = report
        self._call_at = call_at
        self._wait = _FIRST_WAIT
        self._error_wait = _FIRST_WAIT
        self._wake_at = 0.0
        self._timer_at = 0.0
        self._emitted_at = clock.now()
        self._untracked_done: list[Any] = []  # with ackers off: ids that are acked as soon as their emission has left
        self._backlog: int | None = None
        self._kept: bytes | None = None  # the last position that can be kept, packed
        self._kept_saves = 0
        self._complain_at: dict[str, float] = {}

    # ---- emitting

    def step(self) -> None:
        """Ask the spout for up to 2 ms of tuples and hand them over."""
        if self.emitter.parked:
            self.emitter.unpark()
        collector = self.collector
        if (collector.count or self._untracked_done) and not self.emitter.parked:
            self._hand_over()  # what `ack` and `fail` emitted, whether or not it is asked for more
        if not self.awake or self.finished or self.note_held_back():
            return
        now = self.clock.now()
        if now < self._wake_at:
            self._call_when_due()
            return
        before = collector.sent + collector.count
        delay = self._ask(now + STEP_SECONDS)
        emitted = collector.sent + collector.count - before
        if emitted:
            self._emitted_at = now
            self._hand_over()
        if self.finished or (self.emitter.parked and self.note_held_back()):
            return
        if delay is None and emitted:
            self._wait = _FIRST_WAIT
            self.wake()
            return
        if delay is None:
            delay = self._wait
            longest = _LONGEST_WAIT if now - self._emitted_at < _QUIET_SECONDS else _QUIET_WAIT
            self._wait = min(longest, 2 * self._wait)
        if delay <= 0.0:
            self.wake()
            return
        self._wake_at = self.clock.now() + delay
        self._call_when_due()

    def _ask(self, until: float) -> float | None:
        """Call `next_tuple` until the time or the batch is full, or the spout has nothing; returns the wait it asked for.

        What it emitted before it raised has been emitted: it stays so, and is tracked.
        """
        collector, now = self.collector, self.clock.now
        first = before = collector.sent + collector.count
        self.reopened = False
        collector.open()
        try:
            next_tuple = self.instance.next_tuple
            while not self._full():
                returned = next_tuple()
                made = collector.sent + collector.count
                if returned is not None:
                    delay = self._seconds(returned)
                    if delay is None and made == before:
                        return self._after_error()
                    if delay is None or delay > 0.0 or made == before:
                        return delay
                if made == before:
                    break
                call, before = made - before, made
                self._error_wait = _FIRST_WAIT
                # one more as large as this must not find that there is no room for it
                if made - first + call > self.most or now() >= until:
                    break
        except EndOfInput:
            self.finished = True
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door: reported, asked again later
            self._report(error)
            return self._after_error()
        finally:
            collector.close()
        return None

    def _after_error(self) -> float:
        self._error_wait = min(_LONGEST_ERROR_WAIT, 4 * self._error_wait)
        return self._error_wait

    def _seconds(self, returned: Any) -> float | None:
        """What `next_tuple` returned, as seconds; what is no number of seconds is reported, and counts as None."""
        refuse_coroutine(self.plan.id, "next_tuple", returned)
        seconds = number_of(returned)
        if seconds is None:
            problem = f"next_tuple() returns None, or seconds until it wants to be asked again, got {shown(returned)}"
            self._report(InvalidError(f"component {self.plan.id!r}: {problem}; a row goes out by self.emit(row)"))
            return None
        return max(0.0, seconds)

    def _full(self) -> bool:
        most = self.max_pending
        return most is not None and len(self.fates.ledger) + self.collector.count >= most

    def note_held_back(self) -> bool:
        """Whether there is no room for more; counted. Cuts ask too, since a spout that waits for room takes no steps."""
        held_back = bool(self.emitter.parked) or self._full()
        self.meter.held_back += held_back
        return held_back

    def _call_when_due(self) -> None:
        """One timer at a time, however often it is woken in between."""
        when = min(self._wake_at, self.clock.now() + _LONGEST_TIMER)
        if not self._timer_at or self._timer_at > when:
            self._timer_at = when
            self._call_at(when, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer_at = 0.0
        self.wake()

    def _hand_over(self) -> None:
        """Flush, and tell the spout of what nobody tracks. What it emits when it hears of that is for the next step."""
        self.flush()
        done, self._untracked_done = self._untracked_done, []
        if done:
            self.collector.open()
            try:
                self.fates.tell_acked(done)
            finally:
                self.collector.close()
            if self.collector.count or self._untracked_done:
                self.wake()

    def flush(self) -> None:
        """Hand over what the spout emitted, in order."""
        for port, rows, tup_ids in self.collector.take():
            if tup_ids is None:
                self.emitter.route(port, Batch(-1, -1, self.emitter.source, rows))
                continue
            untracked = sum(map(is_, tup_ids, repeat(None)))  # by identity: whatever ids of users say of None
            self.fates.count_replays(tup_ids)
            if not self.tracking or untracked == len(rows):
                self.emitter.route(port, Batch(-1, -1, self.emitter.source, rows))
                if untracked < len(rows):
                    self._untracked_done += [tup_id for tup_id in tup_ids if tup_id is not None]
                continue
            roots = self.fates.track(tup_ids, untracked)
            self.emitter.route(port, Batch(-1, -1, self.emitter.source, rows, roots, roots))

    def emit_now(self, port: Port, row: Row, tup_id: Any, deliveries: list[Delivery]) -> None:
        """Hand one row over to receivers that are chosen already, after what was emitted before it."""
        self.flush()
        self.fates.count_replays([tup_id])
        port.emitted += 1
        if tup_id is None or not self.tracking:
            self.emitter.deliver(port, deliveries, Batch(-1, -1, self.emitter.source, [row]))
            if tup_id is not None:
                self._untracked_done.append(tup_id)
                self.wake()
            return
        roots = self.fates.track([tup_id], 0)
        self.emitter.deliver(port, deliveries, Batch(-1, -1, self.emitter.source, [row], roots, roots))

    # ---- the fate of what was emitted

    def settle_acks(self, roots: list[int], deltas: list[int] | None) -> None:
        """Acks from the ack box or from a peer."""
        self.collector.open()
        try:
            told = self.fates.settle(roots, deltas)
        finally:
            self.collector.close()
        # what was emitted in `ack` goes out with the next step, also when the spout sleeps or has ended
        if told and (self.collector.count or (self.awake and not self.finished and self.max_pending is not None)):
            self.wake()

    def settle_fails(self, roots: list[int]) -> None:
        """Failures from the ack box or from a peer."""
        self._failed(self.fates.ledger.fail(roots))

    def expire(self, timeout_seconds: float) -> None:
        """One message time-out has passed."""
        self._failed(self.fates.expire(timeout_seconds))

    def fail_all(self) -> None:
        """A worker or a connection was lost: whatever is pending may be with it."""
        self._failed(self.fates.ledger.fail_all(), lost=True)

    def _failed(self, entries: list[Entry], lost: bool = False) -> None:
        if not entries:
            return
        self.collector.open()
        try:
            self.fates.tell_failed(entries, lost)
        finally:
            self.collector.close()
        # a cut that is taken before it is asked again must not see the end of its input with nothing in flight
        self.reopened = self.reopened or self.finished
        self.finished = False
        self._wake_at = 0.0  # there is something to emit again, whatever it asked for before
        if self.awake or self.collector.count:  # what was emitted in `fail` goes out even if the spout is asleep
            self.wake()

    # ---- lifecycle

    def activate(self) -> None:
        """Begin, or go on."""
        if not self.awake:
            self.awake = True
            self._wake_at = 0.0
            self._lifecycle("activate")
            self.wake()

    def deactivate(self) -> None:
        """Ask for no more tuples; what was emitted is still accounted for."""
        if self.awake:
            self.awake = False
            self._lifecycle("deactivate")

    def _lifecycle(self, name: str) -> None:
        try:
            refuse_coroutine(self.plan.id, name, getattr(self.instance, name)())
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a hook of the user's: reported
            self._report(error)

    def idle(self) -> bool:
        """Whether everything it emitted is settled and has left."""
        return not len(self.fates.ledger) and not self.emitter.parked and not self.collector.count and not self._untracked_done

    # ---- what it says of itself

    def backlog(self) -> int | None:
        """What the spout says is due; what it said last, while it says nothing that can be used. That is told, once in a while."""
        try:
            told = self.instance.backlog()
            number = None
            if told is not None:
                refuse_coroutine(self.plan.id, "backlog", told)
                number = whole_number(told)
                if number is None or number < 0:
                    problem = f"backlog() returns a whole number of events, at least 0, or None, got {shown(told)}"
                    raise InvalidError(f"component {self.plan.id!r}: {problem}; what it returned before stands")
            self._backlog = number
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a hook of the user's: reported, the cut goes on
            self._complain("backlog", error)
        return self._backlog

    def position(self) -> bytes | None:
        """The newest position that can be kept, for whoever keeps it outside of this worker, to be read by `read_position`; None while
        there is none."""
        collector = self.collector
        if collector.saves != self._kept_saves:
            self._kept_saves = collector.saves
            value = collector.position
            try:
                data = _pack(_plain(value))
                if len(data) > MOST_POSITION_BYTES:
                    problem = f"a position has {MOST_POSITION_BYTES} bytes at most when it is packed, got {len(data)}: {shown(value)}"
                    raise InvalidError(f"component {self.plan.id!r}: {problem}; save where to go on, and not what lies before it")
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a value of the user's: reported, the position before it stands
                self._complain("save_position", error if issubclass(type(error), InvalidError) else self._unkept(value, error))
            else:
                self._kept = data
        return self._kept

    def _unkept(self, value: Any, error: BaseException) -> InvalidError:
        problem = f"save_position takes None, numbers, text, bytes, and lists, tuples and dicts of these, got {shown(value)}"
        found = InvalidError(f"component {self.plan.id!r}: {problem} ({shown(error)}); the position before it stands")
        found.__cause__ = error
        return found

    def _complain(self, hook: str, error: BaseException) -> None:
        """Report it, unless the same was reported a moment ago: every cut asks, and would drown what else goes wrong."""
        now = self.clock.now()
        if now >= self._complain_at.get(hook, now):
            self._complain_at[hook] = now + _COMPLAIN_SECONDS
            self._report(error)


# ---- positions: MessagePack and no pickles, for whoever can write where they are kept must not have code run where they are read

_TUPLE = 1
"""The extension that a tuple is: without it, lists would come back."""
_pack = msgspec.msgpack.Encoder().encode


def _plain(value: Any) -> Any:
    """What is packed for a value of the user's. Raises TypeError for what would not come back as it is."""
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value
    if isinstance(value, tuple):
        return msgspec.msgpack.Ext(_TUPLE, _pack([_plain(item) for item in value]))
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {(tuple(map(_plain, key)) if type(key) is tuple else _plain(key)): _plain(item) for key, item in value.items()}
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", ()):
        return _plain(value.item())
    raise TypeError(f"{type(value).__name__} is none of these")


def _unpack_extension(code: int, data: memoryview) -> Any:
    if code != _TUPLE:
        raise ValueError(f"extension {code} is of no position")
    return tuple(read_position(bytes(data)))


_unpack = msgspec.msgpack.Decoder(ext_hook=_unpack_extension).decode


def read_position(data: bytes) -> Any:
    """The value that was saved; whatever the bytes are, no code of theirs is run.

    Raises:
        ValueError: it is no position.
    """
    return _unpack(data)
