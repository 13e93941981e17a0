"""The sample: the first events of a topology's spouts, as they hand them to their bolts. In this process; runs the spouts' code."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.api.spout import Spout
from pasps.clock import Clock, Deadline
from pasps.data.et_deliveries import Output
from pasps.data.et_patience import GivenUp, SetAlarm, alarm
from pasps.data.et_worker import Catcher, LoneWorker
from pasps.errors import EndOfInput, InvalidError
from pasps.runtime.batch import Batch
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.spouts import TraceSpout

Given = Mapping[str, Sequence[tuple[str, Sequence[Any]]]]
"""By spout: stream and values of each event, in order; such a spout is not run."""
Wait = Callable[[float], object]
"""Waits for so many seconds."""
_FIRST_WAIT, _LONGEST_WAIT = 0.001, 0.05


@dataclass(frozen=True, slots=True)
class Limits:
    """At most so many events of all spouts together, and at most so many seconds to wait for them."""

    events: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sample:
    """What each spout handed on, by how many events of each; `problems` say what went wrong, for people."""

    outputs: Mapping[str, Output]
    events: int
    by_spout: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class LeapingClock:
    """A clock that can be put forward: what a trace says is due in an hour is due at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._leapt = 0.0
        self.cpu, self.awake = clock.cpu, clock.awake

    def now(self) -> float:
        """See `Clock`."""
        return self._clock.now() + self._leapt

    def wall(self) -> float:
        """See `Clock`."""
        return self._clock.wall() + self._leapt

    def leap(self, seconds: float) -> None:
        """Put it forward."""
        self._leapt += max(0.0, seconds)


def take_sample(blueprint: Blueprint, given: Given, limits: Limits, clock: Clock, wait: Wait) -> Sample:
    """Events of all spouts in turn, those of `given` from there; each is acked at once. Blocks for at most `limits.seconds`.

    A spout that has just emitted is asked again at once, whatever it said; one that had nothing waits for as long as it said.
    For a `TraceSpout` time leaps to its next event. A call of `next_tuple` that is not over in time is interrupted, on the main thread.

    Raises:
        InvalidError: a spout cannot be started.
    """
    blueprint = _with_given(blueprint, given)
    spouts = [name for name, plan in blueprint.components.items() if plan.is_spout]
    catcher = Catcher(blueprint, limits.events)
    try:
        worker = LoneWorker(blueprint, spouts, catcher, clock)
    except Exception as error:  # whatever its `initialize` raises
        told = str(error) if isinstance(error, InvalidError) else "".join(traceback.format_exception(error)).rstrip()
        raise InvalidError(f"a spout cannot be started for the sample; give events with --events\n{told}") from error
    try:
        asking = _Asking(worker, catcher, limits, clock)
        with alarm(asking.in_call) as set_alarm:
            return asking.sample(wait, set_alarm)
    finally:
        worker.deactivate()
        worker.close()


class _Asking:
    """Asks the tasks of all spouts in turn."""

    def __init__(self, worker: LoneWorker, catcher: Catcher, limits: Limits, clock: Clock) -> None:
        self._worker, self._catcher, self._limits, self._clock = worker, catcher, limits, clock
        self._tasks = [_Task(spout, clock) for spout in worker.residents.spouts.values()]
        catcher.event_of = self._emitted
        self._problems: list[str] = []
        self._calling = False

    def in_call(self) -> bool:
        """Whether a spout is in `next_tuple`."""
        return self._calling

    def _emitted(self) -> int:
        """Emissions of all spouts so far: the number of the one that is being handed over."""
        return sum(port.emitted for task in self._tasks for port in task.spout.emitter.ports.values())

    def sample(self, wait: Wait, set_alarm: SetAlarm) -> Sample:
        self._worker.activate()
        deadline = Deadline(self._clock, self._limits.seconds)
        left = deque(self._tasks)
        while left and self._emitted() < self._limits.events:
            moment = min(task.ask_at for task in left)
            ahead = moment - self._clock.now()
            if deadline.expired() or ahead > (deadline.remaining() or 0.0):
                break
            if ahead > 0:
                wait(ahead)
            set_alarm(deadline.remaining() or 0.0)
            for task in [task for task in left if task.ask_at <= moment]:
                if not self._ask(task):
                    left.remove(task)
                if self._emitted() >= self._limits.events:
                    break
        by_spout: dict[str, int] = {}
        for task in self._tasks:
            emitted = sum(port.emitted for port in task.spout.emitter.ports.values())
            by_spout[task.spout.plan.id] = by_spout.get(task.spout.plan.id, 0) + emitted
        return self._result(by_spout)

    def _result(self, by_spout: dict[str, int]) -> Sample:
        whole = self._catcher.output(None)
        edges = {edge.index: edge.source for edge in self._worker.blueprint.edges}
        mine = {name: tuple(each for each in whole.deliveries if edges[each.edge] == name) for name in by_spout}
        outputs = {name: Output(deliveries, whole.until, whole.cuts) for name, deliveries in mine.items()}
        if self._catcher.problem is not None:
            self._problems.append(f"events were left out, for a value of theirs cannot be pickled: {self._catcher.problem}")
        if self._worker.errors.first is not None:
            self._problems.append(f"a spout raised when it was told of an event\n{self._worker.errors.first}")
        return Sample(outputs, sum(by_spout.values()), by_spout, tuple(self._problems))

    def _ask(self, task: _Task) -> bool:
        """Whether it may be asked again."""
        try:
            self._calling = True
            going_on = task.ask(self._limits.events - self._emitted())
        except GivenUp:
            late = f"spout {task.spout.plan.id!r} was still in next_tuple after {self._limits.seconds:g} s, and was interrupted"
            self._problems.append(f"{late}; give events of it with --events")
            going_on = False
        except Exception as error:  # noqa: BLE001 - the spout's door: what it emitted before counts
            text = "".join(traceback.format_exception(error)).rstrip()
            self._problems.append(f"spout {task.spout.plan.id!r} raised, and was asked no more\n{text}")
            going_on = False
        finally:
            self._calling = False
        self._catcher.settle()
        return going_on


class _Task:
    """One task of a spout."""

    def __init__(self, spout: SpoutExecutor, clock: Clock) -> None:
        self.spout = spout
        self.ask_at = clock.now()
        self._clock = clock
        self._wait = _FIRST_WAIT
        self._leaping: LeapingClock | None = None
        if isinstance(spout.instance, TraceSpout):
            self._leaping = LeapingClock(spout.instance.clock)
            # of this instance alone
            setattr(spout.instance, "clock", self._leaping)  # noqa: B010 - mypy knows it as the class's

    def ask(self, most: int) -> bool:
        """One call of `next_tuple`; False when it has raised EndOfInput. Hands at most `most` events on, and acks all of them."""
        delay: float | None = None
        ended = False
        collector = self.spout.collector
        collector.open()
        try:
            delay = self.spout.instance.next_tuple()
        except EndOfInput:
            ended = True
        finally:
            collector.close()
        emitted = self._hand_on(most)
        entries = self.spout.fates.ledger.fail_all()
        collector.open()
        self.spout.fates.tell_acked([tup_id for tup_id, _ in entries])
        collector.close()
        if emitted:
            self.ask_at, self._wait = self._clock.now(), _FIRST_WAIT
        elif self._leaping is not None and delay is not None:
            self._leaping.leap(delay)
            self.ask_at = self._clock.now()
        else:
            self.ask_at = self._clock.now() + (self._wait if delay is None else max(_FIRST_WAIT, float(delay)))
            self._wait = min(_LONGEST_WAIT, 2 * self._wait)
        return not ended

    def _hand_on(self, most: int) -> int:
        """One by one, so that each has a number of its own."""
        spout, handed = self.spout, 0
        for port, rows, tup_ids in spout.collector.take():
            for row, tup_id in zip(rows, [None] * len(rows) if tup_ids is None else tup_ids, strict=True):
                handed += 1
                if handed > most:
                    continue
                roots = spout.fates.track([tup_id], int(tup_id is None)) if spout.tracking else None
                spout.emitter.route(port, Batch(-1, -1, spout.task_id, [row], roots, roots))
        return handed


class _Rows(Spout):
    """Stands in for a spout whose events are given."""

    def __init__(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> None:
        self._rows = rows
        self._next = 0

    def next_tuple(self) -> None:
        if self._next == len(self._rows):
            raise EndOfInput
        stream, values = self._rows[self._next]
        self.emit(values, tup_id=self._next, stream=stream)
        self._next += 1


def _with_given(blueprint: Blueprint, given: Given) -> Blueprint:
    plans = {
        name: replace(plan, make=partial(_Rows, given[name]), pool=1, par=1) if name in given else plan
        for name, plan in blueprint.components.items()
    }
    return replace(blueprint, components=plans)
