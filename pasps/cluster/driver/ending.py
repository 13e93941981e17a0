"""Why a topology of a cluster ends, and the summary that it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from pasps.metrics import Stats
from pasps.topology.controller import ErrorReport, TopologyController
from pasps.topology.summary import Summary
from pasps.topology.verbs import json_ready

ENDED, CRASHED, NOT_STARTED = 0, 1, 3
"""Exit status of a driver's process: as wanted; to be started again; it would fail again."""
_MOST_REPORTS, _MOST_TEXT = 20, 4000


@dataclass(frozen=True, slots=True)
class Ending:
    """Why it ends, and how long it may drain first. `for_good`: nobody starts it again."""

    reason: str
    drain_seconds: float = 0.0
    for_good: bool = False
    code: int = CRASHED


def summary_of(
    name: str, reason: str, stats: Stats | None, left: Mapping[str, int], controller: TopologyController | None, run_dir: str
) -> dict[str, Any]:
    """The end as JSON; without `stats` it never ran. Counters are of this driver's time."""
    summary = Summary(
        run_dir=run_dir,
        topology=name,
        ended=reason,
        seconds=0.0 if stats is None else stats.uptime_seconds,
        emitted=0 if stats is None else stats.emitted_first,
        acked=0 if stats is None else stats.acked,
        failed=0 if stats is None else stats.failed,
        replayed=0 if stats is None else stats.replayed,
        left=dict(left),
        restarts=None if controller is None else controller.restarts.so_far,
        troubles=[] if controller is None else [trouble[:_MOST_TEXT] for trouble in controller.troubles()],
        reports=[] if controller is None else [_short(report) for report in list(controller.errors)[-_MOST_REPORTS:]],
    )
    latency = None if stats is None else json_ready(stats.complete_latency)
    components = {} if stats is None else {id_: _component(c) for id_, c in stats.components.items()}
    return summary.as_json({"latency": latency, "components": components})


def _short(report: ErrorReport) -> ErrorReport:
    """A summary has to fit into the store, whatever user code writes into its exceptions."""
    text = report.text
    return report if len(text) <= _MOST_TEXT else replace(report, text=f"... {text[-_MOST_TEXT:]}")


def _component(component: Any) -> dict[str, Any]:
    fields = ("emitted", "executed", "acked", "failed", "active", "pool", "errors")
    return {field: getattr(component, field) for field in fields}


def encoded_summary(summary: Mapping[str, Any]) -> bytes:
    """As the store keeps it."""
    return msgspec.json.encode(summary)
