"""What `pasps run` adds to a topology: a policy, `pasps` unless another was chosen, and the course of the run in its directory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.et_file import et_path, load_execution_times
from pasps.control.explain import explained
from pasps.control.policies import policy_named
from pasps.control.settings import ElasticSettings
from pasps.report.run_files import Log
from pasps.simulation.forecasters import check_served
from pasps.topology.companion import ElasticView
from pasps.topology.controller import TopologyController
from pasps.topology.elastic import ElasticConfig, checked_policy
from pasps.topology.local_cluster import RunningTopology
from pasps.topology.run_directory import PREDICTOR_LOG_NAME, RunDirectory
from pasps.topology.topology_verbs import TopologyVerbs

_log = logging.getLogger(__name__)

DEFAULT_POLICY = "pasps"


class Elasticity:
    """An `Attachment`. Checks the configuration when it is made, so that a wrong one is refused before anything starts."""

    def __init__(self, blueprint: Blueprint, file: str) -> None:
        """Reads the topology's configuration, and the execution times beside its file if there are any.

        Raises:
            ConfigError: there is no such policy, or the predictor's address is none.
            InvalidError: the file of execution times is none, or the predictor that a run starts has no such model.
        """
        self._settings = ElasticSettings.from_config(blueprint.config)
        self.policy = checked_policy(self._settings, DEFAULT_POLICY, blueprint)
        if self._settings.predictor_url is None and policy_named(self.policy).forecasts:
            check_served(self._settings.predictor, self._settings.artifacts)
        times = load_execution_times(et_path(file), blueprint)
        for warning in times.warnings:
            _log.warning("%s", warning)
        self._benchmark = times.seconds
        self._view: Callable[[], ElasticView] | None = None

    def control(self, directory: RunDirectory) -> ElasticConfig:
        """Who decides, and where the course of the run is kept."""
        return ElasticConfig(
            self._settings,
            self.policy,
            self._benchmark,
            samples=directory.lines("metrics.jsonl").write,
            decisions=directory.lines("decisions.jsonl").write,
            predictor_log=directory.path / PREDICTOR_LOG_NAME,
        )

    def started(self, running: RunningTopology, verbs: TopologyVerbs, directory: RunDirectory) -> None:
        """See `Attachment`."""

        async def explain(bolt: str | None = None, at: str | None = None) -> str:
            records: Log[Record] = Log(directory.path, "decisions", decision_log.read)
            return await asyncio.to_thread(explained, records, bolt, at)

        async def join(master: TopologyController) -> None:
            verbs.add("explain", explain)
            self._view = master.elastic.view if master.elastic is not None else None

        running.on_controller(join)

    def frame_extra(self) -> Mapping[str, Any] | None:
        """See `Attachment`."""
        return None if self._view is None else asdict(self._view())
