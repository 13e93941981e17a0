"""What becomes of a spout task's tracked tuples: the ledger, who is told, how long it took. Owned by the spout executor."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeVar

from pasps.clock import Clock
from pasps.errors import Interrupt, InvalidError, shown
from pasps.ids import IdSource
from pasps.metrics import Histogram
from pasps.runtime.ack_ledger import AckLedger, Entry, Repeats, ReplayTracker
from pasps.runtime.meter import Meter

_T = TypeVar("_T")

_TUP_ID, _EMITTED = itemgetter(0), itemgetter(1)

SpoutReport = Callable[[BaseException | str], None]
"""Tell of an exception of the spout's, or in words of what its user should know."""

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
        "_clock", "_component", "_ids", "_meter", "_owner", "_repeats", "_report", "_timeouts", "due_at", "histogram", "ledger", "on_ack",
        "on_fail", "replays",
    )  # fmt: skip

    def __init__(self, component: str, owner: int, clock: Clock, ids: IdSource, meter: Meter, report: SpoutReport) -> None:
        self.ledger = AckLedger()
        self.replays = ReplayTracker()
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
        """These were emitted: how many of them again."""
        self._meter.replayed += self._compare(self.replays.count, tup_ids) or 0

    def settle(self, roots: list[int], deltas: list[int] | None) -> bool:
        """Acks for these roots; True when any tuple was done with them."""
        done = self.ledger.ack(roots, deltas)
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
        if self.on_ack is not None or self.on_fail is not None:  # else it knows of none to emit again, and they would be kept for ever
            self._compare(self.replays.failed, tup_ids)
        if not lost:
            self._compare(self._tell_of_repeats, tup_ids)
        if self.on_fail is not None:
            self._tell("fail", self.on_fail, tup_ids)

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
