"""The answer to `status`: all that is known of a topology that runs, as a record that goes through JSON and comes back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from pasps.api.blueprint import Blueprint
from pasps.control.decision_log import Restarts
from pasps.errors import ProtocolError
from pasps.metrics import Histogram, Stats
from pasps.topology.controller import ErrorReport, TopologyController
from pasps.topology.run_record import RunState
from pasps.topology.workforce import WorkerInfo


@dataclass(frozen=True, slots=True)
class ComponentShape:
    """What of a component never changes."""

    id: str
    is_spout: bool
    pool: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class Status:
    """A topology at one moment. `components` are in topological order, `errors` are the last ones.

    `elastic` is what whoever decides on replicas says of it; None when nobody does. `troubles` keep a part of it from working.
    `lost` is how often a worker died, and `losses` are the last of them. `restarting` says what is done to start all workers anew
    for a plan, nothing while nobody does; `restarts` are all of these so far.
    """

    name: str
    state: RunState
    uptime_seconds: float
    workers: tuple[WorkerInfo, ...]
    workers_wanted: int
    components: tuple[ComponentShape, ...]
    stats: Stats
    errors: tuple[ErrorReport, ...]
    elastic: Mapping[str, Any] | None = None
    troubles: tuple[str, ...] = ()
    lost: int = 0
    losses: tuple[ErrorReport, ...] = ()
    restarting: str = ""
    restarts: Restarts = field(default_factory=Restarts)


def shapes(blueprint: Blueprint) -> tuple[ComponentShape, ...]:
    """Of all components, in topological order."""
    return tuple(ComponentShape(plan.id, plan.is_spout, plan.pool, plan.concurrency) for plan in blueprint.components.values())


def elastic_view(controller: TopologyController) -> Mapping[str, Any] | None:
    """What whoever decides on replicas says of it, as JSON has it; None when nobody does."""
    return None if controller.elastic is None else asdict(controller.elastic.view())


def status_from(value: Any) -> Status:
    """The record again, from what came as JSON.

    Raises:
        ProtocolError: it is no status, or one of another version.
    """
    try:
        known = {name: _latency(value["stats"][name]) for name in ("complete_latency", "recent_latency")}
        whole = {**value, "stats": {**value["stats"], **known}}
        return msgspec.convert(whole, Status, str_keys=True, dec_hook=_histogram)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ProtocolError(f"the run answered `status` with something else, perhaps it is of another version: {error}") from error


def _latency(value: Any) -> dict[str, float]:
    return {name: math.nan if number is None else number for name, number in value.items()}


def _histogram(kind: type, value: Any) -> Any:
    if kind is Histogram:
        return Histogram({int(bucket): count for bucket, count in value["buckets"].items()}, value["total"])
    raise NotImplementedError(f"cannot read a {kind.__name__}")
