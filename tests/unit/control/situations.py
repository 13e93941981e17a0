"""Situations, snapshots and a loop with fakes around it, for the tests of the control core. Everything a test does not name is quiet."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pasps.control.decision_log import Act, Outcome, Record, Restarted
from pasps.control.local_forecaster import LocalForecaster
from pasps.control.loop import Forecasts, LoopConfig, MapeLoop
from pasps.control.model import shares
from pasps.control.monitor import Machine
from pasps.control.plan import Plan
from pasps.control.policies import Policy
from pasps.control.situation import (
    BoltInterval,
    BoltShape,
    Estimates,
    ExecutionTime,
    Forecast,
    Interval,
    Moment,
    PolicySettings,
    Situation,
    SpoutInterval,
    TopologyShape,
)
from pasps.metrics import ComponentStats, EdgeStats, Histogram, Latency, ReplicaStats, Stats
from pasps.testing import FakeClock

NO_LATENCY = Latency(0, 0.0, 0.0, 0.0, 0.0)


# ---- what a policy gets


def bolt(name: str, *sources: str, pool: int = 8, **changes: Any) -> BoltShape:
    return BoltShape(name, pool, sources, **changes)


def shape(*bolts: BoltShape, spouts: Iterable[str] = ("s",)) -> TopologyShape:
    return TopologyShape(tuple(spouts), bolts)


def did(processed: int = 0, et: float = 0.0, **changes: Any) -> BoltInterval:
    """A bolt that finished so many, each in `et` seconds."""
    given: dict[str, Any] = {"received": {}, "queued": 0, "active": 1, "seconds": processed * et, **changes}
    return BoltInterval(processed=processed, **given)


def interval(
    spouts: Mapping[str, SpoutInterval], bolts: Mapping[str, BoltInterval], seconds: float = 30.0, ended: float = 100.0, **changes: Any
) -> Interval:
    return Interval(7, ended - seconds, ended, spouts, bolts, **changes)


def due(events: float, **changes: Any) -> SpoutInterval:
    """A spout that emitted what became due."""
    return SpoutInterval(events, **{"emitted": int(events), **changes})


def known(of: TopologyShape, times: Mapping[str, float | None], selectivity: Mapping[str, Mapping[str, float]] | None = None) -> Estimates:
    """Estimates by execution time; edges that are not named pass everything on, spouts have equal parts."""
    edges = {b.id: {source: (selectivity or {}).get(b.id, {}).get(source, 1.0) for source in b.sources} for b in of.bolts}
    nothing = interval({name: due(0) for name in of.spouts}, {b.id: did() for b in of.bolts})
    execution = {name: ExecutionTime(time, "unknown" if time is None else "live") for name, time in times.items()}
    return Estimates(edges, shares(of, nothing, edges, {}), execution, dict.fromkeys(times, 1))


def forecast(*predictions: float, made_at: float = 100.0) -> Forecast:
    return Forecast(made_at, predictions, "lr")


def situation(of: TopologyShape, what: Interval, estimates: Estimates, ahead: Forecast | None = None, **changes: Any) -> Situation:
    """A decision at the end of an interval, unless `moment` says otherwise; settings by their names."""
    names = {"interval_seconds": what.seconds, **{k: changes.pop(k) for k in list(changes) if k in PolicySettings.__dataclass_fields__}}
    moment: Moment = changes.pop("moment", "cycle")
    return Situation(moment, of, what, estimates, ahead, PolicySettings(**names), **changes)


def planner(policy: Policy) -> Callable[[Situation], Plan]:
    """The policy's function with the options that the situation's settings give it."""
    return lambda now: policy.plan(now, policy.configured(now.settings))


# ---- what the monitor gets


def spout_stats(name: str, due: int, backlog: int | None = None, held_back: int = 0, **changes: Any) -> ComponentStats:
    """A spout that has emitted what is due but for its backlog; without one it does not know it."""
    first = changes.pop("first", due - (backlog or 0))
    given: dict[str, Any] = {
        "emitted": first + changes.get("replayed", 0),
        "executed": 0, "acked": first, "failed": 0, "queued": 0, "active": 1, "pool": 1, "execute_seconds": 0.0, "errors": 0,
        "replicas": {}, "edges": (), "backlog": backlog, "emitted_first": first, "due": due,
        "knows_backlog": backlog is not None, "held_back": held_back, **changes,
    }  # fmt: skip
    return ComponentStats(component=name, **given)


def bolt_stats(name: str, received: Mapping[str, int], executed: int, et: float = 0.0, **changes: Any) -> ComponentStats:
    """A bolt with cumulative counters, by source; all was done by replica 0."""
    given: dict[str, Any] = {
        "emitted": executed, "acked": executed, "failed": 0, "queued": 0, "active": 1, "pool": 8, "execute_seconds": et, "errors": 0,
        "replicas": {0: ReplicaStats(0, "w0", "ACTIVE", executed, executed, executed, 0, 0, et)},
        "edges": tuple(EdgeStats(source, "default", count, count) for source, count in received.items()), **changes,
    }  # fmt: skip
    return ComponentStats(component=name, executed=executed, **given)


def snapshot(uptime: float, *components: ComponentStats, complete: bool = True, version: int = 1) -> Stats:
    spouts = [component for component in components if not component.edges]
    first, replayed = sum(s.emitted_first for s in spouts), sum(s.replayed for s in spouts)
    return Stats(
        {component.component: component for component in components},
        NO_LATENCY, first, replayed, first, 0, 0, version, complete, uptime, sum(s.due for s in spouts), Histogram(),
    )  # fmt: skip


MACHINE = Machine(2, 2)


# ---- a loop, and fakes for those around it


Answer = float | Forecast | Exception | None


class FakeForecasts:
    """Answers `forecast` at once, or, once `block` was called, when `release` is. `answer` is a rate, or what is given or raised."""

    def __init__(self, answer: Answer = 10.0) -> None:
        self.answer = answer
        self.asked: list[tuple[tuple[float, ...], float, float]] = []
        self.at_once = self.most_at_once = 0
        self._gate: asyncio.Event | None = None

    def block(self) -> None:
        self._gate = asyncio.Event()

    def release(self) -> None:
        assert self._gate is not None
        self._gate.set()

    async def forecast(self, samples: Any, seconds: float, now: float) -> Forecast | None:
        self.asked.append((tuple(samples), seconds, now))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self._gate is not None:
                await self._gate.wait()
        finally:
            self.at_once -= 1
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, float):
            return Forecast(now, (self.answer,) * math.ceil(seconds), "fake")
        return None if self.answer is None else replace(self.answer, made_at=now)


class FakeActuator:
    """Does what it is asked, at once, and writes down the calls. `postpones` what may not move; or raises `error`.

    Restarts take no time either, and are refused for the reason `called_off`, if there is one.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, int], frozenset[str]]] = []
        self.restarts: list[dict[str, int]] = []
        self.called_off = ""
        self.version = 1
        self.postpones: set[str] = set()
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.active: dict[str, int] = {}

    async def set_replicas(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        self.calls.append((dict(wanted), stay))
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        acts = {}
        for name, count in wanted.items():
            before = self.active.get(name, 1)
            if name in stay & self.postpones:
                acts[name] = Act(before, count, before, Outcome.POSTPONED)
            else:
                self.active[name] = count
                acts[name] = Act(before, count, count, Outcome.DONE)
        self.version += 1
        return acts, self.version

    async def restart(self, wanted: Mapping[str, int]) -> tuple[dict[str, Act], int, Restarted | None]:
        self.restarts.append(dict(wanted))
        if self.called_off:
            failed = {name: Act(self.active.get(name, 1), count, 1, Outcome.FAILED, self.called_off) for name, count in wanted.items()}
            return failed, self.version, None
        acts = {name: Act(self.active.get(name, 1), count, count, Outcome.DONE) for name, count in wanted.items()}
        self.active.update(wanted)
        self.version += 1
        return acts, self.version, Restarted(30.0, 8.5, replayed=12, dropped=40)


@dataclass
class Course:
    """A topology s -> a, as its counters: what a test sets holds from then on."""

    rate: float = 10.0
    et: float = 0.1
    queued: int = 0
    complete: bool = True
    backlog: int | None = 0
    held_back: int = 0
    restarts: int = 0
    crowded: bool = False
    uptime: float = 0.0
    total: float = 0.0
    pool: int = 8
    active: dict[str, int] = field(default_factory=dict)
    busy_seconds: float = 0.0
    all_seconds: float = 0.0

    def advance(self, seconds: float) -> Stats:
        self.uptime += seconds
        self.total += self.rate * seconds
        count = round(self.total)
        a = bolt_stats("a", {"s": count}, count, self.et, queued=self.queued, pool=self.pool, active=self.active.get("a", 1))
        s = spout_stats("s", count, self.backlog, self.held_back, restarts=self.restarts)
        return snapshot(round(self.uptime, 6), s, a, complete=self.complete)

    def machine(self) -> Machine:
        """Two cores: half busy, or, since it is crowded, fully."""
        self.all_seconds += 2.0
        self.busy_seconds += 2.0 if self.crowded else 1.0
        return Machine(2, 2, self.busy_seconds, self.all_seconds)


CHAIN = shape(bolt("a", "s"))


class Bench:
    """A loop over a `Course`, driven tick by tick; every moment is decided at once. `ladder` forecasts in the fake's place."""

    def __init__(
        self,
        policy: Policy,
        of: TopologyShape = CHAIN,
        answer: Answer = 10.0,
        ladder: Forecasts | LocalForecaster | None = None,
        **settings: Any,
    ) -> None:
        self.forecasts, self.actuator, self.clock, self.course = FakeForecasts(answer), FakeActuator(), FakeClock(), Course()
        self.actuator.active = self.course.active
        self.records: list[Record] = []
        self.moments: list[tuple[float, Moment]] = []
        config = LoopConfig(of, policy, PolicySettings(**settings), self.records.append)
        self.loop = MapeLoop(config, ladder or self.forecasts, self.actuator, self.clock)

    def tick(self, seconds: float = 1.0) -> Moment | None:
        stats = self.course.advance(seconds)
        self.clock.advance(seconds)
        moment = self.loop.tick(stats, self.course.machine())
        if moment is not None:
            self.moments.append((stats.uptime_seconds, moment))
        return moment

    async def step(self, seconds: float = 1.0) -> Moment | None:
        moment = self.tick(seconds)
        if moment is not None:
            await self.loop.decide(moment)
        return moment

    def run(self, ticks: int, seconds: float = 1.0) -> None:
        async def go() -> None:
            for _ in range(ticks):
                await self.step(seconds)

        asyncio.run(go())


def planning(policy: Policy, **changes: Any) -> Policy:
    """The policy with other needs; `plan` is a function of the situation alone."""
    given = {"plan": _ignoring(changes.pop("plan"))} if "plan" in changes else {}
    return replace(policy, **given, needs=replace(policy.needs, **changes))


def _ignoring(plan: Callable[[Situation], Plan]) -> Callable[[Situation, Any], Plan]:
    return lambda situation, options: plan(situation)
