"""The MAPE loop: monitor, analyze, plan, execute, and a record of it. Knows no process and no socket; its owner calls `tick`.

A decision's walk begins here: `tick` takes a snapshot, `decide` makes a plan of it and gives it to the actuator.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from pasps.clock import Clock
from pasps.control.coarse_samples import CoarseSamples
from pasps.control.decision_log import BY_HAND, Act, Outcome, Record, Restarted
from pasps.control.execution_times import NOTHING_EXECUTED
from pasps.control.forecaster import Forecaster
from pasps.control.local_forecaster import LocalForecaster
from pasps.control.model import estimate, never_resting
from pasps.control.monitor import SAMPLES, Machine, Monitor
from pasps.control.plan import BoltPlan, Plan, Reconfigure, Step
from pasps.control.plan_checks import check_plan, remembered
from pasps.control.policies.options import written as written_options
from pasps.control.policies.policy import Policy
from pasps.control.situation import INPUT, Estimates, Forecast, Interval, Moment, PolicySettings, Situation, TopologyShape
from pasps.errors import InvalidError
from pasps.metrics import Stats

_log = logging.getLogger(__name__)

_RECENT = 60
_ARRIVALS = 10
_REST = 10.0
"""Between the cycles, asking for a forecast may take this small a part of the time: one in ten."""
_PAUSE = 0.8
"""Nor does anybody ask sooner after it was asked, however often the policy corrects: samples are of seconds."""
_NEAR = 0.4
"""A moment this part of a second (of its pace, if that is shorter) ahead is taken as here: ticks are not on the dot."""


class Forecasts(Protocol):
    """Who forecasts: the ladder around a predictor."""

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """Events of each second from `now` until `seconds` after it answers; None: nobody can tell.

        Never raises, and keeps its own deadline.
        """


@runtime_checkable
class SeriesForecasts(Protocol):
    """Who forecasts several series at once, and says how sure it is, for policies that need either."""

    async def forecast_series(
        self, series: Mapping[str, Sequence[float]], seconds: float, now: float, quantiles: Sequence[float]
    ) -> Mapping[str, Forecast]:
        """Of each series as `Forecasts.forecast`, with those quantiles of its running sums where they are known.

        A series of which nobody can tell anything is left out. `INPUT` is the input's name, others are those of bolts.
        """


class Actuator(Protocol):
    """Who makes a plan true."""

    async def set_replicas(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        """Publish one table with these active replicas; the tasks of the bolts in `stay` must not change worker.

        Returns what was done for each bolt, and the version of the table that stands.
        """

    async def restart(self, wanted: Mapping[str, int]) -> tuple[dict[str, Act], int, Restarted | None]:
        """Start all workers anew, with these active replicas, as Storm's rebalance does; back when the spouts emit again.

        Returns the same, and what it took; None: the workers go on as they were, and what was done says why. When it is cancelled
        because the topology ends, it returns what had become of it by then, so that this is written down.
        """


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """What the loop is made of. `benchmark`: et_i by bolt; `log` gets each record, on the loop's thread, and must not block.

    `options` are those of the policy (see `Policy.configured`); None: as the settings say.
    """

    shape: TopologyShape
    policy: Policy
    settings: PolicySettings
    log: Callable[[Record], None]
    benchmark: Mapping[str, float] = field(default_factory=dict)
    options: Any = None


class MapeLoop:
    """One for each topology. A decision that fails leaves the table as it is; the next one is made all the same.

    `tick` returns the moment that is due, and its owner then runs `decide`; ticks go on meanwhile, so that no second is missed.
    """

    def __init__(self, config: LoopConfig, forecasts: Forecasts | LocalForecaster, actuator: Actuator, clock: Clock) -> None:
        """`forecasts`: asked beside decisions, as who may take a while; or one that learns here, tick by tick, and answers at once."""
        self.held: dict[str, int] = {}
        """Bolts that were set by hand, and to what: planned for and written down, but left alone."""
        self.last: Record | None = None
        self._config = config
        self._options = config.policy.configured(config.settings) if config.options is None else config.options
        self._written_options = written_options(self._options)
        self._down_plans = getattr(self._options, "scale_down_plans", None) or 0
        self._local = forecasts if isinstance(forecasts, LocalForecaster) else None
        self._forecasts: Forecasts | None = None if isinstance(forecasts, LocalForecaster) else forecasts
        coarse = config.policy.needs.sample_seconds, config.policy.needs.samples
        if coarse != (1, SAMPLES) and isinstance(forecasts, Forecaster):
            self._forecasts = CoarseSamples(forecasts, *coarse)
        self._actuator, self._clock = actuator, clock
        self._needs = needs = config.policy.needs
        self._monitor = Monitor(config.shape, max(needs.history_seconds, SAMPLES if needs.per_bolt_series else 0))
        self._estimates = Estimates()
        self._series = forecasts if isinstance(forecasts, SeriesForecasts) else None
        if self._series is None and self._local is None and (needs.per_bolt_series or needs.quantiles):
            raise InvalidError(f"policy {config.policy.name!r} needs forecasts of several series or quantiles; nobody here makes them")
        self._newest: Forecast | None = None
        self._of_bolts: Mapping[str, Forecast] = {}
        self._expected: float | None = None
        self._recent: deque[Mapping[str, int]] = deque(maxlen=max(_RECENT, self._down_plans))
        self._memory: Any = None
        self._told = -math.inf
        """When the last second of the history ended that is written down."""
        self._steps: deque[tuple[float, Step]] = deque()
        """What the last plan laid down for later, and when."""
        self._reconfigure: Reconfigure = "pool"
        """How that plan is carried out."""
        self._problem = ""
        self._began: float | None = None
        self._cycle_at = self._correct_at = self._ask_at = 0.0
        warm_up = needs.warm_up
        self._warm_up = min(config.settings.interval_seconds, math.inf if warm_up is None else warm_up)
        self._number = 0
        self._deciding = self._asking = False
        self._owed = False
        """A cycle was held for want of a whole snapshot: it is made up for with the first whole one."""
        self._uptime = self._ticked_at = 0.0
        self._said = ""
        self._undone: set[tuple[str, Outcome]] = set()

    # ---- monitor

    def tick(self, stats: Stats, machine: Machine) -> Moment | None:
        """Take a snapshot; returns what is to be decided now. Called at least once a second."""
        settings = self._config.settings
        self._uptime = now = stats.uptime_seconds
        self._ticked_at = self._clock.now()
        self._problem = self._monitor.take(stats, machine, settings.interval_seconds)
        if self._local is not None and self._monitor.kept and self._config.policy.forecasts:
            self._learn(self._local, stats)
        if self._began is None:
            self._began = now
            self._cycle_at = self._correct_at = now + self._warm_up
        if self._deciding:
            return None
        cycle = now >= self._cycle_at - _near(settings.interval_seconds) or (self._owed and not self._problem)
        correction = self._config.policy.corrects and now >= self._correct_at - _near(settings.correction_seconds)
        if cycle:
            self._owed = bool(self._problem)
            self._cycle_at = _following(self._began, settings.interval_seconds, now)
        if cycle or correction:
            self._correct_at = _following(self._began, settings.correction_seconds, now)
        step = bool(self._steps) and now >= self._steps[0][0] - _near(1.0)
        return "cycle" if cycle else "correction" if correction else "timetable" if step else None

    def _learn(self, local: LocalForecaster, stats: Stats) -> None:
        at, due = self._monitor.course
        local.learn(INPUT, at, due)
        if self._needs.per_bolt_series:
            for bolt in self._config.shape.bolts:
                local.learn(bolt.id, at, sum(edge.received for edge in stats.components[bolt.id].edges))

    def hurry(self) -> None:
        """Something has changed: the next tick is time for a correction, if the policy corrects. The pace goes on as it was."""
        if self._began is not None and self._uptime >= self._began + self._warm_up:
            self._correct_at = self._uptime

    def arrived(self) -> float | None:
        """Events that became due in the last whole second; None before there was one."""
        samples = self._monitor.samples(1)
        return samples[-1] if samples else None

    def predicted(self) -> float | None:
        """Events expected in the second to come: what a plan was just made for, or else what the newest forecast says of it."""
        policy = self._config.policy
        if self._newest is None or policy.corrects or not policy.forecasts:
            return self._expected
        return self._newest.total(self._uptime, 1.0)

    def note_by_hand(self, bolt: str, before: int, active: Mapping[str, int], version: int) -> None:
        """Write down that somebody changed a bolt, so that who asks for the reason of its replicas is told now and later.

        `active` are the replicas of all bolts since then, in the table of that `version`.
        """
        self._number += 1
        after, now = active[bolt], self._clock.now()
        plans = {name: BoltPlan(before if name == bolt else count, count, count, count) for name, count in active.items()}
        acts = {bolt: Act(before, after, after, Outcome.DONE)}
        uptime, policy = self._uptime + now - self._ticked_at, self._config.policy.name
        self._config.log(Record(self._number, self._clock.wall(), uptime, BY_HAND, policy, None, Plan(plans), acts, version))

    # ---- analyze

    async def refresh_forecast(self) -> None:
        """Ask for a newer forecast, unless nobody needs one, one is asked for already, or asking took long a short while ago."""
        unwanted = self._local is not None or not self._config.policy.forecasts
        if unwanted or self._asking or self._problem or self._clock.now() < self._ask_at:
            return
        await self._ask()

    async def _ask(self) -> None:
        self._asking = True
        began = self._clock.now()
        try:
            await self._ask_for(self._needs.horizon(self._config.settings.interval_seconds))
        finally:
            self._asking = False
            ended = self._clock.now()
            # a model that takes long to fit must not take the cores from the bolts
            self._ask_at = max(ended + _REST * (ended - began), began + _PAUSE)

    async def _ask_for(self, seconds: float) -> None:
        needs, samples, now = self._needs, self._monitor.samples(), self._uptime
        assert self._forecasts is not None
        if self._series is None or not (needs.per_bolt_series or needs.quantiles):
            self._newest = await self._forecasts.forecast(samples, seconds, now)
            return
        series: dict[str, Sequence[float]] = {INPUT: samples}
        if needs.per_bolt_series and self._monitor.history:
            for bolt in self._config.shape.bolts:
                series[bolt.id] = [second.bolts[bolt.id].received / second.seconds for second in self._monitor.history][-SAMPLES:]
        found = await self._series.forecast_series(series, seconds, now, needs.quantiles)
        self._newest = found.get(INPUT)
        self._of_bolts = {name: forecast for name, forecast in found.items() if name != INPUT}

    def _ask_here(self, local: LocalForecaster, moment: Moment) -> None:
        needs, now = self._needs, self._uptime
        seconds = needs.horizon(self._config.settings.interval_seconds, correction=moment == "correction")
        self._newest = local.forecast(INPUT, seconds, now, needs.quantiles)
        if needs.per_bolt_series:
            found = {bolt.id: local.forecast(bolt.id, seconds, now, needs.quantiles) for bolt in self._config.shape.bolts}
            self._of_bolts = {name: forecast for name, forecast in found.items() if forecast is not None}

    # ---- plan and execute

    async def decide(self, moment: Moment) -> None:
        """Make one decision and carry it out, unless the one before is still under way."""
        if self._deciding:
            return
        self._deciding = True
        try:
            await self._decide(moment)
        except Exception as error:  # noqa: BLE001 - the control cycle's door: the last table stands
            held = f"the decision failed: {type(error).__name__}: {error}"
            if not self._is_said(held):
                _log.exception("a control decision failed")
            self._write(moment, self._uptime, None, Plan({}, held=held), _Done())
        finally:
            self._deciding = False

    async def _decide(self, moment: Moment) -> None:
        """1. forecast, 2. hold what cannot be judged, 3. estimate, 4. plan, 5. execute, 6. write down."""
        if moment == "timetable":
            await self._take_step()
            return
        policy = self._config.policy
        # who corrects asks beside its decisions all the time, and must not wait for a predictor that hangs
        wanted = policy.forecasts and not self._problem
        if wanted and self._local is not None:
            self._ask_here(self._local, moment)
        elif wanted and not self._asking and (self._newest is None or not policy.corrects):
            await self._ask()  # first: it may take seconds, and the plan is to be made of the newest numbers
        uptime = self._uptime
        interval = None if self._problem else self._monitor.interval(self._config.settings.interval_seconds)
        if interval is None:
            self._write(moment, uptime, None, Plan({}, held=self._problem or "there is no interval yet to decide from"), _Done())
            return
        self._estimates = estimate(self._config.shape, interval, self._estimates, self._config.benchmark)
        situation = self._situation(moment, interval)
        plan = self._plan(situation)
        self._memory = plan.memory
        if not plan.held:
            self._recent.append({name: bolt.allowed for name, bolt in plan.bolts.items()})
            self._expected = plan.rate
            self._steps = deque((uptime + step.after_seconds, step) for step in plan.timetable)
            self._reconfigure = plan.reconfigure
        done = await self._execute(moment, plan)
        self._write(moment, uptime, situation, plan, done.since(interval))

    async def _take_step(self) -> None:
        """What the last plan laid down for now; of several that are due the last one counts."""
        if not self._steps:
            return  # two ticks have seen it due before anything was done about it
        interval = self._monitor.interval(self._config.settings.interval_seconds)
        if interval is None or self._problem:
            return  # it stays due: the next tick may know more
        due = self._steps[0]
        while self._steps and self._steps[0][0] <= self._uptime + _near(1.0):
            due = self._steps.popleft()
        active = {name: interval.bolts[name].active for name in due[1].replicas}
        bolts = {name: BoltPlan(active[name], count, count, count) for name, count in due[1].replicas.items()}
        plan = Plan(bolts, reconfigure=self._reconfigure)
        done = await self._execute("timetable", plan)
        if done.acts:
            self._write("timetable", self._uptime, None, plan, done.since(interval))

    def _situation(self, moment: Moment, interval: Interval) -> Situation:
        needs, seconds = self._needs, self._config.settings.interval_seconds
        return Situation(
            moment,
            self._config.shape,
            interval,
            self._estimates,
            self._newest if self._config.policy.forecasts else None,
            self._config.settings,
            self._monitor.samples(_ARRIVALS),
            tuple(self._recent)[-(self._down_plans or _ARRIVALS) :],
            history=tuple(self._monitor.history)[-needs.history_seconds :] if needs.history_seconds else (),
            bolt_forecasts=self._of_bolts,
            replicas=self._monitor.replicas(seconds) if needs.replicas else {},
            workers=self._monitor.workers(seconds) if needs.replicas else {},
            memory=self._memory,
        )

    def _plan(self, situation: Situation) -> Plan:
        try:
            plan = self._config.policy.plan(situation, self._options)
            if not isinstance(plan, Plan) or not plan.bolts.keys() <= {bolt.id for bolt in self._config.shape.bolts}:
                raise InvalidError(f"expected a Plan for bolts of this topology, got {plan!r}")
            check_plan(plan, {bolt.id for bolt in self._config.shape.bolts})
            memory = remembered(plan.memory, len(self._config.shape.bolts))
        except Exception as error:  # noqa: BLE001 - the control cycle's door: anybody's policy; the last table stands
            held = f"policy {self._config.policy.name!r} raised {type(error).__name__}: {error}"
            if not self._is_said(held):
                _log.exception("policy %r raised; replicas stay as they are", self._config.policy.name)
            return Plan({}, held=held, memory=situation.memory)
        return plan if memory is plan.memory else replace(plan, memory=memory)

    async def _execute(self, moment: Moment, plan: Plan) -> _Done:
        wanted: dict[str, int] = {}
        acts: dict[str, Act] = {}
        pools = {bolt.id: bolt.pool for bolt in self._config.shape.bolts}
        for name, change in ({} if plan.held else plan.changes).items():
            bolt = plan.bolts[name]
            if name in self.held:
                acts[name] = Act(bolt.active, bolt.replicas, bolt.active, Outcome.HELD)
            elif change:
                wanted[name] = min(max(1, bolt.replicas), pools[name])
        if not wanted:
            return _Done(acts)
        if (self._config.settings.reconfigure or plan.reconfigure) == "restart":
            done, version, restart = await self._actuator.restart(wanted)
            if restart is not None:
                # what was measured before says little of what runs now: it has as much to see first as at the start
                self._began = None
            return _Done({**acts, **done}, version, restart)
        stay = frozenset() if moment != "correction" else frozenset(name for name in wanted if not _saturated(plan, name))
        done, version = await self._actuator.set_replicas(wanted, stay)
        return _Done({**acts, **done}, version)

    def _is_said(self, held: str) -> bool:
        """Whether the last decision was held for the same reason, whatever the details."""
        return held.partition(":")[0] == self._said.partition(":")[0]

    def _write(self, moment: Moment, uptime: float, situation: Situation | None, plan: Plan, done: _Done) -> None:
        """A cycle is always written down; a correction when something was done, or could not be for the first time since the cycle."""
        changed, self._said = not self._is_said(plan.held), plan.held
        if plan.held and changed:
            _log.warning("replicas stay as they are: %s", plan.held)
        outcomes = {(name, act.outcome) for name, act in done.acts.items() if act.outcome is not Outcome.HELD}
        news = outcomes - self._undone or (plan.held and changed)
        before = self._undone if moment == "correction" else set()
        self._undone = before | {(name, outcome) for name, outcome in outcomes if outcome is not Outcome.DONE}
        if moment == "correction" and not news:
            return
        self._number += 1
        for name, act in done.acts.items():
            if act.before != act.after:
                _log.info("bolt %s: %d -> %d active, table %d, %s %d", name, act.before, act.after, done.version, moment, self._number)
        now, policy = self._clock.wall(), self._config.policy.name
        seen = 0 if situation is None else len(situation.history)
        if situation is not None and situation.history:
            # only what is new; a replay puts it together again
            told, self._told = self._told, situation.history[-1].ended
            situation = replace(situation, history=tuple(second for second in situation.history if second.ended > told))
        notes, options = _notes(situation), self._written_options
        self.last = Record(
            self._number, now, uptime, moment, policy, situation, plan, done.acts, done.version, notes,
            options=options, history=seen, restart=done.restart,
        )  # fmt: skip
        self._config.log(self.last)


def _near(pace_seconds: float) -> float:
    return _NEAR * min(1.0, pace_seconds)


def _following(began: float, pace_seconds: float, now: float) -> float:
    """The first moment of that pace after `now`; counted from the beginning, so that nothing drifts."""
    passed = math.floor((now + _near(pace_seconds) - began) / pace_seconds)
    return began + (passed + 1) * pace_seconds


@dataclass(frozen=True, slots=True)
class _Done:
    """What was done of a plan, the table's version after it, and how all workers were started anew for it, if they were."""

    acts: Mapping[str, Act] = field(default_factory=dict)
    version: int = 0
    restart: Restarted | None = None

    def since(self, interval: Interval) -> _Done:
        """The same; where nothing was published, with the version that stood before."""
        return self if self.version else replace(self, version=interval.versions[1])


def _saturated(plan: Plan, name: str) -> bool:
    """Whether a bolt has more to do than its active replicas can carry even when they never rest."""
    bolt = plan.bolts[name]
    return bolt.replicas > bolt.active and bolt.terms is not None and never_resting(bolt.terms) > bolt.active


def _notes(situation: Situation | None) -> tuple[str, ...]:
    """What whoever reads the record should know of its numbers."""
    if situation is None:
        return ()
    times = situation.estimates.execution.items()
    notes = [f"{name}: {time.note}" for name, time in times if time.note not in ("", NOTHING_EXECUTED)]
    if situation.interval.lower_bound:
        notes.append("the input is a lower bound: a spout was held back and does not tell its backlog")
    if situation.interval.left_out:
        notes.append(f"the input before {situation.interval.began:.1f} s is left out: {situation.interval.left_out}")
    forecast = situation.forecast
    if forecast is not None and forecast.source != "predictor" and forecast.why:
        notes.append(f"forecast: {forecast.source}, {forecast.why}")
    return tuple(notes)
