"""Elasticity of one running topology: ticks the MAPE loop on the master's event loop, and keeps the run's course.

What is decided is in `control`; this joins it with the master, the predictor and the run directory.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pasps.activation import ActivationTable
from pasps.clock import Clock
from pasps.control import decision_log, run_log
from pasps.control.explain import headline
from pasps.control.forecaster import BASIC, NONE, Forecaster
from pasps.control.loop import LoopConfig, MapeLoop
from pasps.control.monitor import Machine, busy_share, shape_of
from pasps.control.policies import policy_named
from pasps.control.policies.options import ignored
from pasps.control.predictor_client import PredictorClient, ServiceUrl
from pasps.control.settings import ElasticSettings
from pasps.daemons.companion import ElasticView
from pasps.daemons.machine_load import machine_of
from pasps.daemons.predictor_process import TOKEN_VARIABLE, PredictorProcess
from pasps.daemons.topology_master import TopologyMaster
from pasps.errors import ConfigError, InvalidError, PaspsError
from pasps.metrics import Stats

_log = logging.getLogger(__name__)

SECOND = 1.0
_LAST_SECONDS = 0.5

Line = Callable[[bytes], None]
"""Takes one line of a file; never blocks for long and never raises."""


def _nowhere(line: bytes) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ElasticConfig:
    """How a topology is to be controlled and what is kept of it. `benchmark`: et_i by bolt; `predictor_log`: its stderr."""

    settings: ElasticSettings
    policy: str
    benchmark: Mapping[str, float] = field(default_factory=dict)
    samples: Line = _nowhere
    decisions: Line = _nowhere
    predictor_log: Path | None = None


class Elastic:
    """States: WAITING (until the spouts first begin) -> TICKING -> CLOSED. On the master's loop; attached to the master."""

    def __init__(self, master: TopologyMaster, config: ElasticConfig, clock: Clock) -> None:
        """Checks what was configured.

        Raises:
            ConfigError: no such policy, an option that it has not, or a URL that is none.
        """
        policy = policy_named(config.policy)
        settings = config.settings
        if settings.predictor == NONE:
            policy = policy.without_forecasts()
        self._master, self._config, self._clock = master, config, clock
        self._asks = policy.forecasts
        self._process = self._new_process() if self._needs_process() else None
        self._client = self._new_client()
        self._forecaster = Forecaster(self._client, settings.predictor, settings.forecast_seconds)
        options = policy.configured(settings.plan, settings.options)
        for key in ignored(policy.options, settings.plan):
            _log.warning("configuration key %r says nothing to policy %r", key, policy.name)
        loop_config = LoopConfig(shape_of(master.blueprint), policy, settings.plan, self._write, config.benchmark, options)
        self._loop = MapeLoop(loop_config, self._forecaster, master.actuator, clock)
        master.actuator.held = self._loop.held
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking = False
        self._corrects = policy.corrects
        self._places = policy.needs.replicas
        self._sampled = 0.0
        self._pressed_at = 0.0
        self._machine: Machine | None = None

    # ---- the predictor

    def _needs_process(self) -> bool:
        settings = self._config.settings
        return self._asks and settings.predictor_url is None and settings.predictor != BASIC

    def _new_process(self) -> PredictorProcess:
        return PredictorProcess(self._clock, log_path=self._config.predictor_log)

    def _new_client(self) -> PredictorClient | None:
        settings = self._config.settings
        if self._process is not None:
            return PredictorClient(self._process.url, settings.predictor, token=self._process.token)
        url = settings.predictor_url
        if not self._asks or url is None or settings.predictor == BASIC:
            return None
        try:
            ServiceUrl.parse(url)
        except InvalidError as error:
            raise ConfigError("pasps.predictor.url", f"is no address: {error}") from error
        token = settings.predictor_token or os.environ.get(TOKEN_VARIABLE)
        return PredictorClient(lambda: url, settings.predictor, token=token)

    # ---- the master's calls

    async def start(self) -> None:
        """The topology is up: start the predictor, without waiting for it."""
        if self._process is not None:
            self._process.start()

    def awake(self) -> None:
        """The spouts begin: from now on it ticks, also while they sleep again."""
        if not self._ticking:
            self._ticking = True
            self._keep(self._tick_for_ever())

    async def close(self) -> None:
        """Stop deciding, take the last sample, and end the predictor. The workers are still there."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._ticking:
                self._ticking = False
                with suppress(TimeoutError, PaspsError):  # a worker that is blocked must not hold up the end
                    async with asyncio.timeout(_LAST_SECONDS):
                        self._record(await self._master.cut(), self._loop.predicted())
        finally:
            if self._client is not None:
                await self._client.close()
            if self._process is not None:
                await self._process.close()

    def set_by_hand(self, component: str, count: int) -> int | None:
        """Somebody sets a bolt's replicas: leave it alone. Before the first tick that is only where it starts."""
        before = self._loop.held.get(component)
        if self._ticking:
            self._loop.held[component] = count
        return before

    def was_set(self, component: str, before: int, table: ActivationTable) -> None:
        """Somebody has set a bolt's replicas, which has them since that table. Before the first tick that is where it starts."""
        if self._ticking:
            bolts = {name: plan for name, plan in self._master.blueprint.components.items() if not plan.is_spout}
            self._loop.note_by_hand(component, before, {name: len(table.components[name].active) for name in bolts}, table.version)

    def hold(self, component: str, count: int | None) -> None:
        """Hold a bolt at that number, or (None) no longer."""
        if count is None:
            self._loop.held.pop(component, None)
        else:
            self._loop.held[component] = count

    def release(self, component: str) -> None:
        """Decide about this bolt again."""
        self.hold(component, None)

    def pressed(self, component: str) -> None:
        """Correct at once, however far off the next correction is: once between two ticks, and only where the policy corrects."""
        now = self._clock.now()
        if self._ticking and self._corrects and now >= self._pressed_at + min(SECOND, self._config.settings.plan.correction_seconds):
            self._pressed_at = now
            self._loop.hurry()
            self._keep(self._tick_now())

    async def _tick_now(self) -> None:
        with suppress(PaspsError):  # the topology ends, or the next tick, which is not far, says what is wrong
            await self._tick()

    def view(self) -> ElasticView:
        """What is known now."""
        last, loop = self._loop.last, self._loop
        return ElasticView(
            self._config.policy,
            self._config.settings.predictor if self._asks else None,
            self._forecaster.rung if self._asks else None,
            loop.arrived(),
            loop.predicted(),
            "" if last is None else headline(last),
            dict(loop.held),
        )

    # ---- ticking

    async def _tick_for_ever(self) -> None:
        period = min(SECOND, self._config.settings.plan.correction_seconds) if self._corrects else SECOND
        clock = self._clock
        at = clock.now()
        while True:
            try:
                await self._tick()
            except PaspsError as error:
                _log.warning("a control cycle was left out: %s", error)
            except Exception:  # noqa: BLE001 - the control cycle's door: the last table stands, the data goes on
                _log.exception("a control cycle failed")
            at = max(at + period, clock.now() - period)  # what was missed is not made up for
            await asyncio.sleep(max(0.0, at - clock.now()))

    async def _tick(self) -> None:
        stats = await self._master.stats()
        machine = self._machine_now()
        expected = self._loop.predicted()  # before it knows of this snapshot: what was expected of the time that ends with it
        moment = self._loop.tick(stats, machine)
        self._sample(stats, expected)
        if moment is not None:
            self._keep(self._loop.decide(moment))
        if self._corrects:
            self._keep(self._loop.refresh_forecast())

    def _machine_now(self) -> Machine:
        workforce = self._master.workforce
        hosts = workforce.hosts() if self._places else None
        return machine_of(len(self._master.publisher.table.workers), workforce.cores(), hosts)

    def _sample(self, stats: Stats, expected: float | None) -> None:
        """A sample a second, however often it ticks."""
        if stats.uptime_seconds >= self._sampled + SECOND - 0.5 * min(SECOND, self._config.settings.plan.correction_seconds):
            self._record(stats, expected)

    def _record(self, stats: Stats, expected: float | None) -> None:
        machine, before = self._machine_now(), self._machine
        busy = None if before is None else busy_share(before, machine)
        self._sampled, self._machine = stats.uptime_seconds, machine
        self._config.samples(run_log.written(run_log.sample_of(stats, self._clock.wall(), expected, busy)))

    def _write(self, record: decision_log.Record) -> None:
        self._config.decisions(decision_log.written(record))

    def _keep(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(_logged(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(coroutine: Any) -> None:
    try:
        await coroutine
    except Exception:  # noqa: BLE001 - the control cycle's door: the last table stands, the data goes on
        _log.exception("a control decision failed")


def checked_policy(settings: ElasticSettings, default: str) -> str:
    """The policy that is to decide: the configured one, else `default`.

    Raises:
        ConfigError: there is none of that name, or it does not take the options.
    """
    policy = policy_named(settings.policy or default)
    policy.configured(settings.plan, settings.options)
    return policy.name
