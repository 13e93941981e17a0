"""What `run.json` says of how a run was started, for people. Takes what is there: an older or newer one may say less or more. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pasps.control.decision_log import Record
from pasps.control.settings import usual_interval
from pasps.errors import ConfigError


def title_of(run: Mapping[str, Any], fallback: str) -> str:
    """The topology's name."""
    name = run.get("name")
    return name if isinstance(name, str) and name else fallback


def interval_of(run: Mapping[str, Any], records: Iterable[Record]) -> float:
    """td: what the first decision was made with, else what was configured, else what its policy is made for."""
    for record in records:
        if record.situation is not None:
            return record.situation.settings.interval_seconds
    configured = _config(run).get("pasps.interval.secs")
    if isinstance(configured, int | float) and configured > 0:
        return float(configured)
    policy = run.get("policy")
    try:
        return usual_interval(policy if isinstance(policy, str) else None)
    except ConfigError:  # somebody's own, which is not here
        return usual_interval(None)


def command_of(run: Mapping[str, Any]) -> str:
    """A command for the same file with the same configuration and workers; nothing when the file is not known.

    `run.json` does not say everything: `--name`, `--topology`, `--duration` and `--scale` are not in it. Secrets are masked (`***`).
    """
    file = run.get("file")
    if not isinstance(file, str) or not file:
        return ""
    words = ["pasps", "run", file]
    if isinstance(run.get("workers"), int):
        words += ["--workers", str(run["workers"])]
    for key, value in _config(run).items():
        if key != "topology.workers":
            words += ["-o", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join(words)


def facts_of(
    run: Mapping[str, Any], summary: Mapping[str, Any], forecasts: Mapping[str, int], interval_seconds: float
) -> list[tuple[str, str]]:
    """Names and values; only those that are known. `forecasts` are the cycles that had one, by who made it."""
    started, policy, ended = run.get("started"), run.get("policy"), summary.get("ended")
    facts = [("interval (td)", f"{interval_seconds:g} s")]
    if isinstance(policy, str):
        facts.insert(0, ("policy", policy))
    if forecasts:
        facts.append(("forecasts by", _makers(forecasts)))
    if isinstance(started, int | float):
        facts.append(("started", f"{datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M:%S} UTC"))
    if isinstance(ended, str):
        facts.append(("ended", ended))
    return facts


def _makers(forecasts: Mapping[str, int]) -> str:
    """One alone by its name."""
    (first, count), *others = forecasts.items()
    return ", ".join([f"{first} ({count:,} cycles)", *(f"{maker} ({count:,})" for maker, count in others)]) if others else first


def _config(run: Mapping[str, Any]) -> Mapping[str, Any]:
    config = run.get("config")
    return config if isinstance(config, dict) else {}
