"""How a topology of a cluster is controlled: as `pasps run` does it, with the predictor of the cluster."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.control.et_file import et_path, load_execution_times
from pasps.control.local_forecaster import AUTO
from pasps.control.settings import ElasticSettings
from pasps.topology.controller import TopologyController
from pasps.topology.elastic import ElasticConfig, checked_policy
from pasps.topology.run_directory import PREDICTOR_LOG_NAME, RunDirectory

_log = logging.getLogger(__name__)

DEFAULT_POLICY = "pasps"

Predictor = tuple[str | None, str | None]
"""Its address, if the cluster has one, and its token."""


def policy_of(blueprint: Blueprint) -> str:
    """Who decides on its replicas.

    Raises:
        ConfigError: there is no such policy.
    """
    return checked_policy(ElasticSettings.from_config(blueprint.config), DEFAULT_POLICY, blueprint)


def elastic_config(blueprint: Blueprint, file: Path, run: RunDirectory, predictor: Predictor) -> ElasticConfig:
    """Who decides, and where the course of the run is kept; `predictor` is that of the cluster.

    Raises:
        ConfigError: there is no such policy.
        InvalidError: the file of execution times is none.
    """
    settings = ElasticSettings.from_config(blueprint.config)
    if settings.predictor_url is None and settings.predictor != AUTO:  # which plays beside the loop, unless a service is named for it
        address, token = predictor
        settings = replace(settings, predictor_url=address, predictor_token=settings.predictor_token or token)
    times = load_execution_times(et_path(file), blueprint)
    for warning in times.warnings:
        _log.warning("%s", warning)
    return ElasticConfig(
        settings,
        policy_of(blueprint),
        times.seconds,
        samples=run.lines("metrics.jsonl").write,
        decisions=run.lines("decisions.jsonl").write,
        predictor_log=run.path / PREDICTOR_LOG_NAME,
    )


def elastic_view(controller: TopologyController) -> Mapping[str, Any] | None:
    """What is said of it in `status`."""
    return None if controller.elastic is None else asdict(controller.elastic.view())
