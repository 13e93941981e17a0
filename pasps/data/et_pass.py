"""One pass over one bolt, in the process of a Spark executor: all of its tuples, event by event, as at low load.

The runtime's worker steps one replica of it, with stand-ins for what feeds it. Called by `et_spark`; runs user code.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pasps.api.blueprint import Blueprint, Edge
from pasps.api.groupings import Grouping, Kind
from pasps.api.splitting import Pick, Row, Splitter, TargetView
from pasps.api.spout import Spout
from pasps.clock import Clock, SystemClock
from pasps.cores import usable_cores
from pasps.data.et_deliveries import Arrival, Output
from pasps.data.et_patience import SetAlarm, alarm
from pasps.data.et_worker import Catcher, LoneWorker
from pasps.errors import PaspsError
from pasps.garbage import collected_seldom
from pasps.runtime.batch import Batch, Links
from pasps.runtime.emitter import Lane, Port
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.spout_executor import Fates, SpoutExecutor
from pasps.worker.event_loop import new_event_loop
from pasps.worker.step_loop import StepLoop

_BEGINNING = (__file__, os.path.dirname(asyncio.__file__))
PATIENCE = 10
"""An event that takes so many times as long as a whole pass may is given up."""
_REST = 0.5
"""The part of the time between two events that is kept free, however long an event takes: so it is low load."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`events_per_second` are given while that leaves time between them; after `limit_seconds` no more are."""

    events_per_second: float
    limit_seconds: float


@dataclass(frozen=True, slots=True)
class PassRequest:
    """What to measure. `blueprint` is pickled; of what the bolt hands on `keep` tuples an edge are kept."""

    blueprint: bytes
    bolt: str
    arrivals: tuple[Arrival, ...]
    pace: Pace
    keep: int


@dataclass(frozen=True, slots=True)
class PassResult:
    """What came of it. `costs` are seconds of each tuple in order; of the runtime's own meters, as all counts here.

    `failure` says why there was no pass at all; `stuck`, that a call was never over; `error` is the first of user code.
    """

    costs: tuple[float, ...] = ()
    failed: int = 0
    errors: int = 0
    error: str | None = None
    emitted: Mapping[str, int] = field(default_factory=dict)
    output: Output = field(default_factory=Output)
    failure: str | None = None
    stuck: bool = False
    python: str = ""
    cores: int = 0


def run_pass(request: PassRequest) -> PassResult:
    """Measure. Never raises for what user code does; blocks for as long as it takes."""
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_Bench(request, SystemClock()).run())
    except PaspsError as error:
        return PassResult(failure=str(error))
    # the door of this process: whatever its module, `initialize` or a value raises is told, and that it called sys.exit
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return PassResult(failure=_told(error))


def _told(error: BaseException) -> str:
    """The traceback without the frames that every pass begins with."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_BEGINNING):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()


class _Bench:
    """The bolt in a worker, with its sources as spouts that have the ledger, and an event loop to step it."""

    def __init__(self, request: PassRequest, clock: Clock) -> None:
        self._request, self._clock = request, clock
        self._event = 0
        self._quiet: asyncio.Future[None] | None = None

    async def run(self) -> PassResult:
        """The whole pass."""
        request, loop = self._request, asyncio.get_running_loop()
        self._own_task = asyncio.current_task()
        blueprint: Blueprint = pickle.loads(request.blueprint)
        steps = StepLoop(loop)
        catcher = Catcher(blueprint, request.keep)
        catcher.event_of = lambda: self._event
        sources = list(dict.fromkeys(edge.source for edge in blueprint.components[request.bolt].inputs))
        worker = self._worker = LoneWorker(with_sources(blueprint, sources), [request.bolt, *sources], catcher, self._clock, steps)
        worker.after_step = self._after_step
        self._executor = worker.residents.executors[request.bolt, 0]
        self._costs = Costs(self._executor)
        steps.drive(worker)
        self._feed = Feed(worker, request.bolt, request.arrivals)
        try:
            with collected_seldom(), alarm(self._in_call) as set_alarm:
                done, stuck = await self._give_all(steps, catcher, set_alarm)
        finally:
            worker.close()
        until = None if done == len(request.arrivals) else _event_before(request.arrivals, done)
        meter, ports = self._executor.meter, self._executor.emitter.ports
        return PassResult(
            costs=tuple(self._costs.seconds),
            failed=meter.failed,
            errors=meter.errors,
            error=worker.errors.first,
            emitted={name: port.emitted for name, port in ports.items()},
            output=catcher.output(until),
            stuck=stuck,
            python=platform.python_version(),
            cores=usable_cores(),
        )

    def _in_call(self) -> bool:
        """Whether the bolt keeps the loop: in a step, or in a call of its own that is a task."""
        return self._worker.stepping or asyncio.current_task() not in (None, self._own_task)

    async def _give_all(self, steps: StepLoop, catcher: Catcher, set_alarm: SetAlarm) -> tuple[int, bool]:
        """Arrival by arrival; how many were worked off, and whether the next never was."""
        loop, pace = asyncio.get_running_loop(), self._request.pace
        patience = PATIENCE * pace.limit_seconds
        gap, began = 1 / pace.events_per_second, self._clock.now()
        due = began
        for done, arrival in enumerate(self._request.arrivals):
            now = self._clock.now()
            if now - began > pace.limit_seconds:
                return done, False
            due = max(due + gap, now + _REST * gap)
            self._quiet = None
            # for a call that keeps the loop, which then cannot tell the time
            set_alarm(patience)
            quiet = loop.create_future()
            # by a timer of the worker: the bolt has its turn in the same step, as after a spout in a topology
            self._worker.timers.call_at(due, partial(self._give, arrival, quiet))
            steps.wake()
            try:
                async with asyncio.timeout(patience):
                    await quiet
            except TimeoutError:
                return done, True
            catcher.settle()
        return len(self._request.arrivals), False

    def _give(self, arrival: Arrival, quiet: asyncio.Future[None]) -> None:
        self._event, self._quiet = arrival[0].event, quiet
        self._feed.give(arrival)

    def _after_step(self) -> None:
        """When nothing is left to do, the next event may come."""
        self._costs.note()
        if self._quiet is not None and not self._quiet.done() and not self._feed.waits() and self._executor.quiet():
            self._quiet.set_result(None)


class Costs:
    """The seconds of each tuple, in the order in which they were executed."""

    def __init__(self, executor: BoltExecutor) -> None:
        self.seconds: list[float] = []
        self._meter = executor.meter
        self._dealt = 0.0

    def note(self) -> None:
        """After a step: what it cost is dealt out evenly to the tuples that it executed."""
        executed = sum(self._meter.executed.values()) - len(self.seconds)
        if executed:
            self.seconds += [(self._meter.seconds - self._dealt) / executed] * executed
            self._dealt = self._meter.seconds


def _event_before(arrivals: tuple[Arrival, ...], done: int) -> int:
    return arrivals[done - 1][0].event if done else -1


# ---- what feeds the bolt


class _Source(Spout):
    """Emits nothing by itself."""

    def next_tuple(self) -> float:
        return 3600.0


def with_sources(blueprint: Blueprint, names: Sequence[str]) -> Blueprint:
    """The topology with these components as spouts that emit nothing by themselves."""
    plans = {
        name: replace(plan, shape="spout", make=_Source, inputs=(), execution="inline", concurrency=1, max_batch=1)
        if name in names
        else plan
        for name, plan in blueprint.components.items()
    }
    return replace(blueprint, components=plans)


class _Chosen:
    """A splitter that gives the task which was chosen already. `real` chooses too, because in a topology it just did."""

    fan: int | None = 1

    def __init__(self, real: Splitter | None) -> None:
        self.task = 0
        self._real = real

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """See `Splitter`."""
        if self._real is not None:
            self._real.split(rows)
        return [(self.task, None)]

    def refresh(self, view: TargetView) -> None:
        """See `Splitter`."""


class Feed:
    """Hands arrivals over: the same tasks, from the same tasks, tracked or not.

    They come by the collectors, ledgers and emitters of the stand-ins, as they come in a topology: short calls cost up to an eighth
    more behind a shorter way, since what ran just before is what they find in the caches.
    """

    def __init__(self, worker: LoneWorker, bolt: str, arrivals: Iterable[Arrival]) -> None:
        """The rows of all `arrivals` are unpickled here, so that this does not fill the caches between two events."""
        self._rows = {id(delivery): pickle.loads(delivery.rows) for arrival in arrivals for delivery in arrival}
        self._ways = {edge.index: _way(worker, edge) for edge in worker.blueprint.components[bolt].inputs}

    def give(self, arrival: Arrival) -> None:
        """All of one of the arrivals, once."""
        for delivery in arrival:
            spout, port, chosen = self._ways[delivery.edge]
            rows, chosen.task = self._rows.pop(id(delivery)), delivery.task
            if max(delivery.roots) > 1:  # what a spout emits has no more than one
                roots, links = _lineage(delivery.roots, spout.fates)
                spout.emitter.route(port, Batch(-1, -1, delivery.source, rows, roots, roots, links))
                continue
            ids = [(delivery.event, row) if tracked else None for row, tracked in enumerate(delivery.roots)]
            spout.emitter.source = delivery.source
            spout.collector.open()  # as if it were in `next_tuple`
            spout.collector.emit_batch(rows, ids, port.stream)
            spout.collector.close()
            spout.flush()

    def waits(self) -> bool:
        """Whether some of what was given found no room yet."""
        return any(spout.emitter.parked for spout, _, _ in self._ways.values())


def _way(worker: LoneWorker, edge: Edge) -> tuple[SpoutExecutor, Port, _Chosen]:
    """The stand-in for the source of an edge, and a port of its own for that edge alone, whose receiver is chosen already."""
    source, target = worker.blueprint.components[edge.source], worker.blueprint.components[edge.target]
    spout = worker.residents.spouts[source.first_task]
    (lane,) = (lane for lane in spout.emitter.ports[edge.stream].lanes if lane.edge == edge.index)
    # a grouping of the user's is not asked for the same tuples twice
    asks = edge.grouping.kind not in (Kind.DIRECT, Kind.CUSTOM, Kind.REGISTERED)
    chosen = _Chosen(lane.splitter if asks else None)
    own = Lane(replace(edge, grouping=Grouping.GLOBAL), chosen, lane.targets, target.first_task)
    name = f"edge {edge.index}"
    port = spout.emitter.ports[name] = Port(edge.source, name, tuple(source.streams[edge.stream].fields), False, [own])
    return spout, port, chosen


def _lineage(counts: Sequence[int], fates: Fates) -> tuple[list[int], list[Links | None]]:
    """For each tuple its root, or 0 and all of its roots; pending in the ledger."""
    of_each = [fates.track([object() for _ in range(count)], 0) for count in counts]
    links: list[Links | None] = [tuple(zip(own, own, strict=True)) if len(own) > 1 else None for own in of_each]
    return [own[0] if len(own) == 1 else 0 for own in of_each], links
