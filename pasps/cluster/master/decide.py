"""What is to be done about one topology, from what was read and what happened before. Pure: no clock, no store, no process.

A driver lives when this master started it and its process runs, when it is registered in the store, or when it answers. It is gone
when its process ended here, when it is not registered and nobody listens where it did, or when it has been neither registered nor
to be reached for so long that its session must be over. Between the two nothing is started: there are never two on purpose, and
where a master errs, the higher epoch makes the older driver end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from pasps.cluster.master.found import Found
from pasps.cluster.master.records import OVER_STATES

NOT_STARTED_CODE = 3
"""A driver ends with it when its topology cannot be started, and could not be by another one."""

SILENT_SECONDS = 10.0
"""So long a driver that is not registered and cannot be asked may still be there: a session of the store."""
FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 30.0
GOOD_SECONDS = 60.0
"""Who lived so long did not fail at its start: the pauses begin anew."""


class Contact(Enum):
    """What was heard of a driver that was asked."""

    NOT_ASKED = auto()
    ANSWERS = auto()
    REFUSED = auto()
    """Its host says that nobody listens there, or somebody else does."""
    SILENT = auto()


@dataclass(frozen=True, slots=True)
class OwnDriver:
    """A process that this master started; `exit_code` is None while it runs."""

    epoch: int
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """One topology, and what this master knows beyond the store. `process_gone`: the driver's process is not on this host, where its
    record says it is."""

    found: Found
    own: OwnDriver | None = None
    contact: Contact = Contact.NOT_ASKED
    process_gone: bool = False


@dataclass(frozen=True, slots=True)
class Track:
    """What is remembered of the newest driver between two looks; made anew by each leader.

    Times are of its clock. `failures` counts the drivers that were lost one after the other, `not_before` is when the next may start.
    """

    epoch: int = 0
    lives_since: float | None = None
    missing_since: float | None = None
    gone: bool = False
    failures: int = 0
    not_before: float = 0.0


class Action(Enum):
    """What a leader does."""

    START = auto()
    RECORD_FAILURE = auto()
    """Keep that its driver could not start it."""
    FINISH = auto()
    """Keep how it ended, and remove it."""
    EXPEL = auto()
    """Tell a driver whose topology was removed to end."""
    CLEAN = auto()
    """Remove what is left of a topology that was removed."""


class _Life(Enum):
    LIVES = auto()
    UNSURE = auto()
    GONE = auto()


def must_ask(seen: Seen) -> bool:
    """Whether only the driver itself can tell that it lives; `seen.contact` is to be found out before `decide`."""
    found, record = seen.found, seen.found.newest_record
    if record is None or record.address is None or record.state in OVER_STATES or _own(seen) is not None:
        return False
    return found.alive != found.newest or seen.process_gone


def decide(seen: Seen, track: Track, now: float) -> tuple[Track, list[Action]]:
    """What to remember, and what to do, in this order."""
    track, life = _followed(seen, track, now)
    if seen.found.submission is None:
        return track, _about_rest(seen.found, life)
    return track, _about_topology(seen, track, life, now)


def _own(seen: Seen) -> OwnDriver | None:
    """The process of the newest driver, where this master started it."""
    return seen.own if seen.own is not None and seen.own.epoch == seen.found.newest else None


def _followed(seen: Seen, track: Track, now: float) -> tuple[Track, _Life]:
    newest = seen.found.newest
    if track.epoch != newest:
        # but for `failures` and `not_before`, which count one driver after the other
        track = replace(track, epoch=newest, lives_since=None, missing_since=None, gone=False)
    life = _life(seen)
    if life is _Life.LIVES:
        since = track.lives_since if track.lives_since is not None else now
        return replace(track, lives_since=since, missing_since=None, gone=False), life
    if track.missing_since is None:
        track = replace(track, missing_since=now)
    if life is _Life.UNSURE and now - (track.missing_since or 0.0) >= SILENT_SECONDS:
        life = _Life.GONE
    if life is _Life.GONE and not track.gone:
        track = replace(track, gone=True)
        if newest and not is_restart_due(seen.found):
            track = _failed(track, now)
    return track, life


def _life(seen: Seen) -> _Life:
    found, record, own = seen.found, seen.found.newest_record, _own(seen)
    # of its own child it knows better than the store, where a dead one is registered until its session ends
    if own is not None:
        return _Life.LIVES if own.exit_code is None else _Life.GONE
    if seen.contact is Contact.ANSWERS:
        return _Life.LIVES
    if found.alive is not None and found.alive == found.newest:
        # its registration outlives it for a while; only both signs together say that it died
        return _Life.GONE if seen.process_gone and seen.contact is Contact.REFUSED else _Life.LIVES
    if not found.newest or seen.contact is Contact.REFUSED:
        return _Life.GONE
    return _Life.GONE if record is not None and record.state in OVER_STATES else _Life.UNSURE


def _failed(track: Track, now: float) -> Track:
    good = track.lives_since is not None and now - track.lives_since >= GOOD_SECONDS
    failures = 1 if good else track.failures + 1
    pause = min(MOST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 16))
    return replace(track, failures=failures, not_before=now + pause)


def is_restart_due(found: Found) -> bool:
    """Whether a restart was asked for that the newest driver does not know of."""
    record = found.newest_record
    known = max(record.restart if record else 0, found.launch.restart if found.launch else 0)
    return found.newest > 0 and found.desired.restart > known


def _about_rest(found: Found, life: _Life) -> list[Action]:
    """There is no submission that could be read."""
    killed = found.desired.state == "killed"
    if found.problem:
        # somebody must look at it; its user can still kill it
        return [Action.FINISH] if killed and life is _Life.GONE else []
    if life is _Life.GONE:
        return [Action.CLEAN]
    return [Action.EXPEL] if life is _Life.LIVES and not killed else []


def _about_topology(seen: Seen, track: Track, life: _Life, now: float) -> list[Action]:
    found, own = seen.found, _own(seen)
    # what lives, or may live, carries out by itself what is wanted, its own end too
    if life is not _Life.GONE:
        return []
    if found.desired.state == "killed" or found.summary:
        return [Action.FINISH]
    planned = is_restart_due(found)
    # whether it ran before does not count: what its driver could not start then, as after a rebalance, it cannot start now, and
    # a loop of starts would hide that; who changes it, or wants it tried again, says so with a rebalance
    if not planned and found.is_refused:
        return []
    if not planned and own is not None and own.exit_code == NOT_STARTED_CODE:
        return [Action.RECORD_FAILURE]
    return [Action.START] if planned or now >= track.not_before else []
