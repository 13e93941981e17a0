"""A simulated run: the model under the real loop, policy and forecaster, driven by the same ticks as a live one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from pasps.activation import moves, with_active
from pasps.control.decision_log import Act, Outcome, Record, Restarted
from pasps.control.forecaster import NONE
from pasps.control.loop import Forecasts, LoopConfig, MapeLoop
from pasps.control.monitor import Machine
from pasps.control.policies import Policy, policy_named
from pasps.control.policies.options import model_of
from pasps.control.run_log import Sample
from pasps.control.settings import RestartSettings
from pasps.control.situation import PolicySettings
from pasps.control.ticking import Ticking
from pasps.errors import GroupingError
from pasps.garbage import collected_seldom
from pasps.metrics import Latency, Stats
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.forecasters import forecasts_of
from pasps.simulation.graph import Graph
from pasps.simulation.lead import Orders
from pasps.simulation.model import MOST_CALLS, Detail, Machinery, Model, detail_for
from pasps.simulation.virtual_time import EPOCH, VirtualClock, run_virtually

TAIL_SECONDS = 30.0
"""So long after the trace's end it is waited for what is left: a message time-out."""
_LOOK_SECONDS = 1.0
_SOONEST_SECONDS = 0.001
Sink = Callable[[Sample], None]


def _nowhere(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Order:
    """Who decides, and with what. `benchmark`: et_i by bolt that the loop knows beforehand, as from `.et.json`.

    `lead_seconds`: how long replicas take to come, which are paid from when they are asked for and given back at once.
    `artifacts` is the directory of trained models, for a predictor such as `bigru@mine`.
    """

    policy: str
    predictor: str = NONE
    settings: PolicySettings = field(default_factory=PolicySettings)
    forecast_seconds: float = 5.0
    benchmark: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    restart: RestartSettings = field(default_factory=RestartSettings)
    machinery: Machinery = field(default_factory=Machinery)
    seed: int = 1
    tail_seconds: float = TAIL_SECONDS
    most_calls: float = MOST_CALLS
    epoch: float = EPOCH
    lead_seconds: float = 0.0
    artifacts: str | None = None


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it. `latency` in seconds; `replicas` says when which bolt had how many, changes only.

    `saved` as in a report: the mean of 1 - active and draining replicas over all pools. `exact`: each event was simulated for itself.
    `restarts` of all workers took with them what was on its way: `replayed` events came again, `lost` ones were not tracked.
    """

    policy: str
    predictor: str
    saved: float
    latency: Latency
    changes: int
    decisions: int
    events: int
    done: int
    seconds: float
    most_waiting: int
    exact: bool
    replicas: tuple[tuple[float, Mapping[str, int]], ...] = ()
    restarts: int = 0
    replayed: int = 0
    lost: int = 0


async def _up_to_now(model: Model, clock: VirtualClock) -> None:
    """Go on with the model. One that goes no further never comes back: whoever runs it says why, and ends all that waits."""
    try:
        model.run(clock.now())
    except GroupingError:
        await asyncio.Event().wait()


class ModelSource:
    """See `pasps.control.ticking.StatsSource`: the model, as of the clock's time."""

    def __init__(self, model: Model, clock: VirtualClock, orders: Orders | None = None) -> None:
        self._model, self._clock, self._orders = model, clock, Orders() if orders is None else orders

    async def stats(self) -> Stats:
        """Goes on with the model up to now. Replicas that were asked for count as those that are there."""
        await _up_to_now(self._model, self._clock)
        stats, ordered = self._model.stats(), self._orders.ordered
        if not ordered:
            return stats
        asked = {name: structs.replace(stats.components[name], active=count) for name, count in ordered.items()}
        return replace(stats, components={**stats.components, **asked})

    def machine(self) -> Machine:
        """Cores that are busy with nothing but the model's workers."""
        graph = self._model.graph
        everything = graph.cores * self._model.time
        return Machine(graph.workers, graph.cores, min(everything, self._model.busy_seconds), everything)


class ModelActuator:
    """See `pasps.control.loop.Actuator`: one table for all, which holds after the time that it takes until all workers route by it."""

    def __init__(self, model: Model, clock: VirtualClock, restart: RestartSettings, orders: Orders | None = None) -> None:
        """`orders`: of replicas that take a while to come."""
        self._model, self._clock, self._seconds, self._restart = model, clock, model.cost.activation, restart
        self._orders = Orders() if orders is None else orders
        self.restarting = False
        """Whether no replica works, so that none comes."""

    async def set_replicas(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        """Never fails; what would move keyed tasks in between is postponed."""
        if self._orders.lead_seconds:
            return self._ordered(wanted, stay)
        table = changed = self._model.table
        acts: dict[str, Act] = {}
        for name, count in wanted.items():
            before = len(table.components[name].active)
            if before == count:
                continue
            following = with_active(changed, name, count)
            if name in stay and any(move.component == name for move in moves(table, following)):
                acts[name] = Act(before, count, before, Outcome.POSTPONED)
                continue
            changed = following
            acts[name] = Act(before, count, count, Outcome.DONE)
        if changed is table:
            return acts, table.version
        await asyncio.sleep(self._seconds)
        await _up_to_now(self._model, self._clock)
        self._model.apply(replace(changed, version=table.version + 1))
        return acts, table.version + 1

    async def restart(self, wanted: Mapping[str, int]) -> tuple[dict[str, Act], int, Restarted | None]:
        """Never fails. Where replicas take a while to come, it begins when they are there."""
        there, version = self._there(), self._model.table.version
        before = there | self._orders.ordered
        acts = {name: Act(before[name], count, count, Outcome.DONE) for name, count in wanted.items() if before[name] != count}
        if not acts:
            return acts, version, None
        self.restarting = True
        try:
            if self._orders.lead_seconds:
                await asyncio.sleep(self._orders.gather(wanted, there))
            took = await self._anew(wanted)
            self._orders.gathered(wanted)
        finally:
            self.restarting = False
        return acts, self._model.table.version, took

    async def _anew(self, wanted: Mapping[str, int]) -> Restarted:
        model, wait = self._model, self._restart.wait_seconds
        await _up_to_now(model, self._clock)
        model.sleep()
        await asyncio.sleep(wait)
        await _up_to_now(model, self._clock)
        replayed, dropped = model.end_workers()
        silence = max(model.cost.restart, self._restart.silence_seconds)
        await asyncio.sleep(silence)
        await _up_to_now(model, self._clock)
        model.begin(replace(model.graph.table({**self._there(), **wanted}), version=model.table.version + 1))
        return Restarted(wait, silence, replayed, dropped)

    def _ordered(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        there, table = self._there(), self._model.table
        before = there | self._orders.ordered
        moved = {
            name
            for name, count in wanted.items()
            if name in stay and any(move.component == name for move in moves(table, with_active(table, name, count)))
        }
        now = {name: count for name, count in wanted.items() if name not in moved}
        self._orders.order(now, there, self._clock.now())
        self.arrive()
        acts = {name: Act(before[name], count, count, Outcome.DONE) for name, count in now.items()}
        acts |= {name: Act(before[name], wanted[name], before[name], Outcome.POSTPONED) for name in moved}
        return acts, self._model.table.version

    def arrive(self) -> None:
        """Whatever has come by now works from now on, and what was given back does not; what comes in a restart works after it."""
        changes = {} if self.restarting else self._orders.come(self._clock.now(), self._there())
        if changes:
            table = self._model.table
            for name, count in changes.items():
                table = with_active(table, name, count)
            self._model.run(self._clock.now())
            self._model.apply(replace(table, version=self._model.table.version + 1))

    def _there(self) -> dict[str, int]:
        return {bolt.id: len(self._model.table.components[bolt.id].active) for bolt in self._model.graph.bolts}


class _Tally:
    """Adds up a run's course, so that none of it must be kept."""

    def __init__(self, samples: Sink, records: Callable[[Record], None]) -> None:
        self.saved_time = self.seconds = 0.0
        self.changes = self.decisions = self.most_waiting = 0
        self.replicas: list[tuple[float, Mapping[str, int]]] = []
        self._samples, self._records = samples, records
        self._last: Sample | None = None

    def sample(self, sample: Sample) -> None:
        """One a second."""
        last, self._last = self._last, sample
        if last is not None:
            seconds = sample.uptime - last.uptime
            pools = sum(bolt.pool for bolt in last.bolts.values())
            working = sum(bolt.active + bolt.draining for bolt in last.bolts.values())
            self.saved_time += seconds * (1.0 - working / pools) if pools else 0.0
            self.seconds += seconds
        self.most_waiting = max(self.most_waiting, sample.backlog + sum(bolt.queued for bolt in sample.bolts.values()))
        active = {name: bolt.active for name, bolt in sample.bolts.items()}
        if not self.replicas or self.replicas[-1][1] != active:
            self.replicas.append((sample.uptime, active))
        self._samples(sample)

    def record(self, record: Record) -> None:
        """One a decision."""
        self.decisions += 1
        self.changes += sum(abs(act.after - act.before) for act in record.acts.values())
        self._records(record)


def simulate(
    graph: Graph,
    arrivals: Arrivals,
    order: Order,
    samples: Sink = _nowhere,
    records: Callable[[Record], None] = _nowhere,
    progress: Callable[[float], None] = _nowhere,
    detail: Detail | None = None,
    forecasts: Forecasts | None = None,
    policy: Policy | None = None,
) -> Simulated:
    """Run the whole trace, and on until all is done or the tail is over. Blocks; the same for the same arguments.

    `progress` is told the share that is over, every virtual second. `policy` decides in place of the order's, which has its name;
    `forecasts` are asked in place of its predictor.

    Raises:
        InvalidError: no such predictor.
        ConfigError: no such policy, or it does not take the options or the topology.
        GroupingError: a grouping that was not made here raised.
    """
    policy = policy_named(order.policy) if policy is None else policy
    configured = policy.configured(order.settings, order.options, graph.shape)
    policy = policy.with_options(configured)
    if order.predictor == NONE:
        policy = policy.without_forecasts()
    clock = VirtualClock(order.epoch)
    detail = detail_for(graph, arrivals, order.most_calls) if detail is None else detail
    model = Model(graph, arrivals, detail, order.seed, order.machinery)
    tally = _Tally(samples, records)
    config = LoopConfig(graph.shape, policy, order.settings, tally.record, order.benchmark, configured)
    predictor = model_of(configured, order.predictor) if policy.forecasts else NONE  # who asks nobody needs no model that can be had
    asked = forecasts or forecasts_of(predictor, arrivals, order.forecast_seconds, policy.needs, order.settings, order.artifacts)
    orders = Orders(order.lead_seconds)
    actuator = ModelActuator(model, clock, order.restart, orders)
    loop = MapeLoop(config, asked, actuator, clock)
    correction = order.settings.correction_seconds if policy.corrects else None
    source = ModelSource(model, clock, orders)
    ticking = Ticking(loop, source, clock, tally.sample, correction)

    async def listen() -> None:
        """Workers that say at once when a queue grows; with parcels a queue is too coarse for it."""
        while detail.exact and correction is not None:
            await asyncio.sleep(graph.report_seconds)
            await _up_to_now(model, clock)
            if model.pressed():
                ticking.press()

    async def wait_for_orders() -> None:
        """What was asked for comes when it does, between two ticks too."""
        while order.lead_seconds:
            at = None if actuator.restarting else orders.next()
            await asyncio.sleep(min(_LOOK_SECONDS, _LOOK_SECONDS if at is None else max(_SOONEST_SECONDS, at - clock.now())))
            actuator.arrive()

    async def main() -> None:
        begin = asyncio.get_running_loop().create_task
        task, *beside = begin(ticking.run()), begin(listen()), begin(wait_for_orders())
        while not model.over and clock.now() < arrivals.seconds + order.tail_seconds:
            await asyncio.sleep(_LOOK_SECONDS)
            if model.spoilt is not None:
                raise model.spoilt
            progress(min(1.0, clock.now() / arrivals.seconds))
        model.run(clock.now())
        task.cancel()
        for each in beside:
            each.cancel()
        await asyncio.sleep(0)  # what was begun with the last tick begins, before it is given up
        await ticking.close()
        ticking.sample(await source.stats())

    with collected_seldom():
        run_virtually(clock, main())
    return Simulated(
        order.policy,
        predictor,
        tally.saved_time / tally.seconds if tally.seconds else 0.0,
        Latency.of(model.latency),
        tally.changes,
        tally.decisions,
        model.due,
        model.done,
        clock.now(),
        tally.most_waiting,
        detail.exact,
        tuple(tally.replicas),
        model.restarts,
        model.replayed,
        model.lost,
    )
