"""How a topology looks to its users. Pure."""

from __future__ import annotations

from pasps.cluster.master.decide import NOT_STARTED_CODE, OwnDriver, Track, is_restart_due
from pasps.cluster.master.found import Found
from pasps.cluster.master.records import OVER_STATES, DriverView, TopologyView
from pasps.cluster.store.submission import DriverRecord


def view(found: Found, own: OwnDriver | None, track: Track, now: float) -> TopologyView:
    """What the leader shows."""
    state, detail = state_of(found, own, track, now)
    submission, driver = found.submission, found.newest_record
    return TopologyView(
        name=found.name,
        state=state,
        detail=detail,
        workers=submission.workers if submission else None,
        submitted=submission.submitted if submission else 0.0,
        epoch=found.newest,
        driver=None if driver is None else _driver_view(driver),
        desired=found.desired,
        pools=submission.pools if submission else {},
    )


def _driver_view(said: DriverRecord) -> DriverView:
    return DriverView(said.epoch, said.host, said.pid, said.address, said.state, said.detail, said.at, said.policy or None)


def state_of(found: Found, own: OwnDriver | None, track: Track, now: float) -> tuple[str, str]:
    """State and detail."""
    if found.problem:
        return "failed", f"what is kept of it cannot be read: {found.problem}"
    record = found.newest_record
    mine = own if own is not None and own.epoch == found.newest else None
    # by its exit, too: a moment later it is written down, and who sees it as lost in between thinks that it is tried again
    could_not_start = mine is not None and mine.exit_code == NOT_STARTED_CODE and not is_restart_due(found)
    if found.is_refused or could_not_start:
        return "failed", record.detail if record else ""
    gone = track.gone and track.epoch == found.newest > 0
    has_ended = record is not None and record.state == "ended"
    if (gone or has_ended) and found.desired.state != "killed" and not found.summary:
        if record is not None and has_ended and record.restart < found.desired.restart:
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
