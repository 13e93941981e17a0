"""How a topology looks to its users. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pasps.cluster.master.decide import OVER_STATES, OwnDriver, Track
from pasps.cluster.master.found import Found
from pasps.cluster.store.submission import Desired, DriverRecord


@dataclass(frozen=True, slots=True)
class TopologyView:
    """One topology. `state` is what its driver says, "starting" before it says anything, "lost" when it is not there, "failed" when it
    cannot be started; `workers` None: as many as its file says. `submitted` is seconds since the epoch.
    """

    name: str
    state: str
    detail: str
    workers: int | None
    submitted: float
    epoch: int
    driver: DriverRecord | None
    desired: Desired
    pools: Mapping[str, int]


def view(found: Found, own: OwnDriver | None, track: Track, now: float) -> TopologyView:
    """What the leader shows."""
    state, detail = state_of(found, own, track, now)
    submission = found.submission
    return TopologyView(
        name=found.name,
        state=state,
        detail=detail,
        workers=submission.workers if submission else None,
        submitted=submission.submitted if submission else 0.0,
        epoch=found.newest,
        driver=found.newest_record,
        desired=found.wanted,
        pools=submission.pools if submission else {},
    )


def state_of(found: Found, own: OwnDriver | None, track: Track, now: float) -> tuple[str, str]:
    """State and detail."""
    if found.problem:
        return "failed", f"what is kept of it cannot be read: {found.problem}"
    record = found.newest_record
    if found.is_refused:
        return "failed", record.detail if record else ""
    mine = own if own is not None and own.epoch == found.newest else None
    gone = track.gone and track.epoch == found.newest > 0
    has_ended = record is not None and record.state == "ended"
    if (gone or has_ended) and found.wanted.state != "killed" and not found.summary:
        if record is not None and has_ended and record.restart < found.wanted.restart:
            return "starting", f"it is restarted; the next driver starts {_when(track, now)}"
        return "lost", _about_next(mine, record, track, now)
    if record is None:
        return "starting", "its driver is started"
    here = found.alive == found.newest or (mine is not None and mine.exit_code is None)
    if here or record.state in OVER_STATES:
        return record.state, record.detail
    return "lost", "its driver is not registered; it is looked for"


def _about_next(own: OwnDriver | None, record: DriverRecord | None, track: Track, now: float) -> str:
    code = f" with code {own.exit_code}" if own is not None and own.exit_code is not None else ""
    why = f": {record.detail}" if record is not None and record.state in OVER_STATES and record.detail else ""
    return f"its driver ended{code}{why}; the next one starts {_when(track, now)}"


def _when(track: Track, now: float) -> str:
    wait = max(0.0, track.not_before - now)
    return f"in {wait:.1f} s" if wait else "now"


def as_json(shown: TopologyView) -> dict[str, Any]:
    """As the API answers it."""
    driver = shown.driver
    return {
        "name": shown.name,
        "state": shown.state,
        "detail": shown.detail,
        "workers": shown.workers,
        "pools": dict(shown.pools),
        "submitted": shown.submitted,
        "epoch": shown.epoch,
        "driver": None
        if driver is None
        else {
            "epoch": driver.epoch,
            "host": driver.host,
            "pid": driver.pid,
            "address": list(driver.address) if driver.address else None,
            "state": driver.state,
            "detail": driver.detail,
            "at": driver.at,
            "policy": driver.policy or None,
        },
        "desired": {"state": shown.desired.state, "wait": shown.desired.wait, "restart": shown.desired.restart},
    }
