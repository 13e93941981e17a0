"""Elasticity of one topology: who decides on its replicas, as configured, and the control loop beside its controller while it runs.

What is done each tick, and what is decided, is in `control`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint
from pasps.clock import Clock
from pasps.config import OPTIONS_PREFIX
from pasps.control import decision_log, run_log
from pasps.control.et_file import et_path, load_execution_times
from pasps.control.explain import headline
from pasps.control.forecaster import BASIC, NONE, Forecaster
from pasps.control.local_forecaster import AUTO, local_forecaster
from pasps.control.loop import LoopConfig, MapeLoop
from pasps.control.monitor import Machine, shape_of
from pasps.control.policies import policy_named
from pasps.control.policies.options import cautions, model_of
from pasps.control.predictor_client import PredictorClient, ServiceUrl
from pasps.control.settings import ElasticSettings
from pasps.control.ticking import Ticking
from pasps.cores import usable_cores
from pasps.errors import ConfigError, InvalidError, PaspsError
from pasps.metrics import Stats
from pasps.topology.actuator import TableActuator
from pasps.topology.predictor_process import TOKEN_VARIABLE, PredictorProcess
from pasps.topology.run_directory import PREDICTOR_LOG_NAME, RunDirectory
from pasps.topology.workforce import Workforce

_log = logging.getLogger(__name__)

DEFAULT_POLICY = "pasps"
"""Of a run and of a cluster; in a script nobody decides whom the configuration does not name."""
_LAST_SECONDS = 0.5

Line = Callable[[bytes], None]
"""Takes one line of a file; never blocks for long and never raises."""
Service = tuple[str | None, str | None]
"""Where a predictor service is, if there is one, and its token."""


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

    def kept_in(self, run: RunDirectory) -> ElasticConfig:
        """The same, with the course of the run kept there."""
        samples, decisions = run.lines("metrics.jsonl").write, run.lines("decisions.jsonl").write
        return replace(self, samples=samples, decisions=decisions, predictor_log=run.path / PREDICTOR_LOG_NAME)


def policy_of(blueprint: Blueprint) -> str:
    """Who decides on the replicas of this topology: the configured policy, else the default one.

    Raises:
        ConfigError: there is none of that name, it does not take the options or the topology, or the predictor's address is none.
    """
    settings = ElasticSettings.from_config(blueprint.config)
    policy = policy_named(settings.policy or DEFAULT_POLICY)
    policy.configured(settings.plan, settings.options, shape_of(blueprint))
    _check_address(settings.predictor_url)
    return policy.name


def elastic_config(blueprint: Blueprint, file: Path | str, predictor: Service | None = None) -> ElasticConfig:
    """As the topology is configured, with the execution times beside its file if there are any.

    `predictor` is the service that serves all topologies here, if there is one: asked where the configuration names no other.

    Raises:
        ConfigError: see `policy_of`.
        InvalidError: the file of execution times is none.
    """
    settings = ElasticSettings.from_config(blueprint.config)
    policy = policy_of(blueprint)
    # AUTO plays beside the loop, unless a service is named for it
    if predictor is not None and settings.predictor_url is None and settings.predictor != AUTO:
        address, token = predictor
        settings = replace(settings, predictor_url=address, predictor_token=settings.predictor_token or token)
    times = load_execution_times(et_path(file), blueprint)
    for warning in times.warnings:
        _log.warning("%s", warning)
    return ElasticConfig(settings, policy, times.seconds)


def named_config(blueprint: Blueprint) -> ElasticConfig | None:
    """As the topology is configured if that names a policy; None: its replicas change by hand alone.

    Raises:
        ConfigError: there are options of a policy, and none is named.
    """
    settings = ElasticSettings.from_config(blueprint.config)
    if settings.policy is None and settings.options:
        name = OPTIONS_PREFIX + next(iter(settings.options))
        raise ConfigError(name, "is an option of a policy, and none was chosen", cure="name one by pasps.policy")
    return None if settings.policy is None else ElasticConfig(settings, settings.policy)


def _check_address(url: str | None) -> None:
    try:
        if url is not None:
            ServiceUrl.parse(url)
    except InvalidError as error:
        raise ConfigError("pasps.predictor.url", f"is no address: {error}") from error


@dataclass(frozen=True, slots=True)
class ElasticView:
    """What people see of a topology's elasticity. Rates are events a second: what became due in the last one, and what is expected in
    the next."""

    policy: str
    predictor: str | None
    source: str | None
    arrived: float | None
    predicted: float | None
    decision: str
    held: Mapping[str, int]


class Elastic:
    """States: WAITING (until the spouts first begin) -> TICKING -> CLOSED. The controller's, on its loop."""

    def __init__(
        self,
        blueprint: Blueprint,
        config: ElasticConfig,
        actuator: TableActuator,
        workforce: Workforce,
        cut: Callable[[], Awaitable[Stats]],
        clock: Clock,
    ) -> None:
        """Checks what was configured. `cut` asks all workers for their counters, as long as there are any.

        Raises:
            ConfigError: no such policy, an option that it has not, a topology that it can do nothing for, or a URL that is none.
        """
        settings, policy = config.settings, policy_named(config.policy)
        shape = shape_of(blueprint)
        options = policy.configured(settings.plan, settings.options, shape)
        policy = policy.with_options(options)
        settings = replace(settings, predictor=model_of(options, settings.predictor))
        config = replace(config, settings=settings)
        if settings.predictor == NONE:
            policy = policy.without_forecasts()
        self._bolts = [name for name, plan in blueprint.components.items() if not plan.is_spout]
        self._config, self._clock = config, clock
        self._asks = policy.forecasts
        beside = self._asks and settings.predictor == AUTO and settings.predictor_url is None
        self._local = local_forecaster(policy.needs, settings.plan) if beside else None
        self._process = self._new_process() if self._needs_process() else None
        self._client = self._new_client()
        self._forecaster = Forecaster(self._client, settings.predictor, settings.forecast_seconds)
        for text in cautions(policy.name, options, settings.plan, settings.options):
            _log.warning("%s", text)
        loop_config = LoopConfig(shape, policy, settings.plan, self._write, config.benchmark, options)
        self._loop = MapeLoop(loop_config, self._local or self._forecaster, actuator, clock)
        actuator.held = self._loop.held
        pace = settings.plan.correction_seconds if policy.corrects else None
        self._source = _Source(actuator, workforce, cut, places=policy.needs.replicas)
        self._ticking = Ticking(self._loop, self._source, clock, self._sample, pace)
        self._task: asyncio.Task[None] | None = None

    # ---- the predictor

    def _needs_process(self) -> bool:
        settings = self._config.settings
        return self._asks and self._local is None and settings.predictor_url is None and settings.predictor != BASIC

    def _new_process(self) -> PredictorProcess:
        return PredictorProcess(self._clock, log_path=self._config.predictor_log, artifacts=self._config.settings.artifacts)

    def _new_client(self) -> PredictorClient | None:
        settings = self._config.settings
        if self._process is not None:
            return PredictorClient(self._process.url, settings.predictor, token=self._process.token)
        url = settings.predictor_url
        if not self._asks or url is None or settings.predictor == BASIC:
            return None
        _check_address(url)
        token = settings.predictor_token or os.environ.get(TOKEN_VARIABLE)
        return PredictorClient(lambda: url, settings.predictor, token=token)

    # ---- what the controller says

    async def start(self) -> None:
        """The topology is up: start the predictor, without waiting for it."""
        if self._process is not None:
            self._process.start()

    def awake(self) -> None:
        """The spouts begin: from now on it ticks, also while they sleep again."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._ticking.run())

    async def close(self) -> None:
        """Stop deciding, take the last sample, and end the predictor. The workers are still there."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)  # first: a tick may begin a decision
        try:
            await self._ticking.close()
            if task is not None:
                with suppress(TimeoutError, PaspsError):  # a worker that is blocked must not hold up the end
                    async with asyncio.timeout(_LAST_SECONDS):
                        self._ticking.sample(await self._source.stats())
        finally:
            if self._client is not None:
                await self._client.close()
            if self._process is not None:
                await self._process.close()

    def set_by_hand(self, component: str, count: int) -> int | None:
        """Somebody sets a bolt's replicas: leave it alone. Before the first tick that is only where it starts."""
        before = self._loop.held.get(component)
        if self._task is not None:
            self._loop.held[component] = count
        return before

    def was_set(self, component: str, before: int, table: ActivationTable) -> None:
        """Somebody has set a bolt's replicas, which has them since that table. Before the first tick that is where it starts."""
        if self._task is not None:
            self._loop.note_by_hand(component, before, {name: len(table.components[name].active) for name in self._bolts}, table.version)

    def hold(self, component: str, count: int | None) -> None:
        """Hold a bolt at that number, or (None) no longer."""
        if count is None:
            self._loop.held.pop(component, None)
        else:
            self._loop.held[component] = count

    def release(self, component: str) -> None:
        """Decide about this bolt again."""
        self.hold(component, None)

    def pressed(self) -> None:
        """A worker says that more comes to some bolt than its replicas there take."""
        if self._task is not None:
            self._ticking.press()

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

    # ---- what is kept

    def _sample(self, sample: run_log.Sample) -> None:
        self._config.samples(run_log.written(sample))

    def _write(self, record: decision_log.Record) -> None:
        self._config.decisions(decision_log.written(record))


class _Source:
    """Snapshots of a topology that runs."""

    def __init__(self, actuator: TableActuator, workforce: Workforce, cut: Callable[[], Awaitable[Stats]], *, places: bool) -> None:
        """`places`: the policy looks at where workers are."""
        self._actuator, self._workforce, self._cut, self._places = actuator, workforce, cut, places

    async def stats(self) -> Stats:
        """See `StatsSource`."""
        return await self._cut()

    def machine(self) -> Machine:
        """See `StatsSource`."""
        hosts = self._workforce.hosts() if self._places else None
        return machine_of(len(self._actuator.table.workers), self._workforce.cores(), hosts)


def machine_of(workers: int, cores_by_host: Mapping[str, int], hosts: Mapping[str, str] | None = None) -> Machine:
    """What workers run on that are on these hosts. How busy other machines are is not known here. `hosts` of workers, if asked for."""
    here = set(cores_by_host) <= {socket.gethostname()}
    machine = machine_now(workers) if here else Machine(workers, sum(cores_by_host.values()))
    return machine if hosts is None else replace(machine, hosts=hosts, host_cores=cores_by_host)


def machine_now(workers: int) -> Machine:
    """The cumulative CPU times of all cores, and what a plan must know of the machine."""
    try:
        times = psutil.cpu_times()
    except (OSError, ValueError, TypeError):  # what psutil lets through of counters that are not there, or others than it knows
        return Machine(workers, usable_cores())
    # only Linux counts waiting for a disk, and guests, which are in what users take already
    everything = sum(times) - sum(getattr(times, name, 0.0) for name in ("guest", "guest_nice"))
    return Machine(workers, usable_cores(), everything - times.idle - getattr(times, "iowait", 0.0), everything)
