from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pasps.cluster.master.decide import (
    GOOD_SECONDS,
    MOST_PAUSE_SECONDS,
    NOT_STARTED_CODE,
    SILENT_SECONDS,
    Action,
    Contact,
    OwnDriver,
    Seen,
    Track,
    decide,
    must_ask,
)
from pasps.cluster.master.found import Found
from pasps.cluster.master.records import DriverStart
from pasps.cluster.store.submission import Desired, DriverRecord, Submission

SUBMISSION = Submission("counting", "counting.py", package="p.zip")
ACTIVE, KILLED = Desired(), Desired("killed")


def record(epoch: int = 1, state: str = "running", restart: int = 0, address: tuple[str, int] | None = ("h", 1)) -> DriverRecord:
    return DriverRecord(epoch, "h", 7, address, state, restart=restart)


def found(**more: Any) -> Found:
    """A topology whose first driver runs."""
    base = Found("counting", SUBMISSION, ACTIVE, record(), alive=1, launch=DriverStart(1, "p.zip"), last_epoch=1)
    return replace(base, **more)


NEW = Found("counting", SUBMISSION, ACTIVE)
LOST = found(alive=None)


def first(seen: Seen, now: float = 100.0) -> list[Action]:
    """What a leader does that sees it for the first time."""
    return decide(seen, Track(), now)[1]


class Watched:
    """Looks again and again, as a leader does."""

    def __init__(self) -> None:
        self.track, self.now = Track(), 100.0

    def look(self, seen: Seen, after: float = 0.0) -> list[Action]:
        self.now += after
        self.track, actions = decide(seen, self.track, self.now)
        return actions


def test_a_topology_without_a_driver_gets_one() -> None:
    assert first(Seen(NEW)) == [Action.START]


def test_it_starts_after_it_was_started_under_the_same_name_before() -> None:
    assert first(Seen(replace(NEW, last_epoch=9))) == [Action.START]


@pytest.mark.parametrize(
    "seen",
    [
        Seen(found()),
        Seen(found(alive=None), own=OwnDriver(1)),
        Seen(found(alive=None), contact=Contact.ANSWERS),
        Seen(found(record=None, alive=None), own=OwnDriver(1)),
        Seen(found(record=record(1), alive=1, launch=None)),
        Seen(found(), process_gone=True, contact=Contact.ANSWERS),
        Seen(found(), process_gone=True, contact=Contact.SILENT),
        Seen(found(), process_gone=True),
        Seen(found(), contact=Contact.REFUSED),
        Seen(found(record=record(2, "ended"), alive=2, launch=DriverStart(2, "p.zip"))),
    ],
)
def test_a_driver_that_lives_is_left_alone(seen: Seen) -> None:
    watched = Watched()
    assert watched.look(seen) == []
    assert watched.look(seen, 1000.0) == []


@pytest.mark.parametrize(
    "seen",
    [
        Seen(found(), own=OwnDriver(1, -9)),
        Seen(found(), process_gone=True, contact=Contact.REFUSED),
        Seen(LOST, contact=Contact.REFUSED),
        Seen(LOST, own=OwnDriver(1, 1)),
        Seen(found(alive=None, record=record(1, "ended")), own=OwnDriver(1, 0)),
        Seen(found(alive=None, record=record(1, "failed"))),
        Seen(found(record=None, alive=None), own=OwnDriver(1, 1)),
    ],
)
def test_one_that_is_gone_is_started_again_after_a_pause(seen: Seen) -> None:
    watched = Watched()
    assert watched.look(seen) == []
    assert watched.look(seen, 0.4) == []
    assert watched.look(seen, 0.11) == [Action.START]


@pytest.mark.parametrize("seen", [Seen(LOST, contact=Contact.SILENT), Seen(found(record=None, alive=None)), Seen(LOST)])
def test_one_that_cannot_be_asked_is_waited_for_as_long_as_a_session(seen: Seen) -> None:
    watched = Watched()
    assert watched.look(seen) == []
    assert watched.look(seen, SILENT_SECONDS - 0.1) == []
    assert watched.look(seen, 0.2) == []
    assert watched.look(seen, 0.5) == [Action.START]


def test_one_that_comes_back_while_it_is_waited_for_goes_on() -> None:
    watched = Watched()
    watched.look(Seen(LOST, contact=Contact.SILENT))
    assert watched.look(Seen(found()), SILENT_SECONDS) == []
    assert watched.look(Seen(LOST, contact=Contact.SILENT), 1.0) == []
    assert watched.look(Seen(LOST, contact=Contact.SILENT), SILENT_SECONDS - 0.1) == []


def test_pauses_grow_and_begin_anew_after_a_good_time() -> None:
    watched, pauses = Watched(), []
    for epoch in range(1, 10):
        runs = found(record=record(epoch), alive=epoch, launch=DriverStart(epoch, "p.zip"))
        watched.look(Seen(runs, own=OwnDriver(epoch)))
        watched.look(Seen(runs, own=OwnDriver(epoch, 1)), 1.0)
        pauses.append(round(watched.track.not_before - watched.now, 3))
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    runs = found(record=record(10), alive=10, launch=DriverStart(10, "p.zip"))
    watched.look(Seen(runs, own=OwnDriver(10)))
    watched.look(Seen(runs, own=OwnDriver(10, 1)), GOOD_SECONDS)
    assert watched.track.not_before - watched.now == pytest.approx(0.5)
    assert max(pauses) == MOST_PAUSE_SECONDS


def test_the_pause_is_counted_once_for_each_driver() -> None:
    watched = Watched()
    gone = Seen(found(), own=OwnDriver(1, 1))
    watched.look(gone)
    watched.look(gone, 0.2)
    assert (watched.track.failures, watched.track.not_before) == (1, 100.5)


def test_an_own_process_of_an_earlier_epoch_says_nothing_of_the_newest() -> None:
    newer = found(record=record(2), alive=2, launch=DriverStart(2, "p.zip"))
    assert first(Seen(newer, own=OwnDriver(1, 1))) == []
    assert first(Seen(replace(newer, alive=None), own=OwnDriver(1))) == []


def test_the_registration_of_an_earlier_epoch_says_nothing_of_the_newest() -> None:
    newer = found(record=record(2), alive=1, launch=DriverStart(2, "p.zip"))
    watched = Watched()
    watched.look(Seen(newer, contact=Contact.REFUSED))
    assert watched.look(Seen(newer, contact=Contact.REFUSED), 0.5) == [Action.START]


class TestCouldNotStart:
    FAILED = found(alive=None, record=record(1, "failed"))
    CODE = OwnDriver(1, NOT_STARTED_CODE)

    def test_it_is_kept_as_it_is(self) -> None:
        assert first(Seen(self.FAILED, own=self.CODE)) == [Action.RECORD_FAILURE]
        refused = replace(self.FAILED, launch=DriverStart(1, "p.zip", refused=True))
        watched = Watched()
        assert watched.look(Seen(refused)) == []
        assert watched.look(Seen(refused, own=self.CODE), 1000.0) == []

    def test_it_is_tried_again_when_a_restart_is_asked_for(self) -> None:
        refused = replace(self.FAILED, launch=DriverStart(1, "p.zip", refused=True), desired=Desired(restart=1))
        assert first(Seen(refused)) == [Action.START]
        again = replace(refused, launch=DriverStart(2, "p.zip", restart=1, refused=True), record=record(2, "failed"))
        assert first(Seen(again)) == []

    def test_it_can_be_killed(self) -> None:
        assert first(Seen(replace(self.FAILED, desired=KILLED, launch=DriverStart(1, "p.zip", refused=True)))) == [Action.FINISH]

    def test_it_does_not_matter_that_drivers_before_it_ran(self) -> None:
        watched = Watched()
        assert watched.look(Seen(found(), own=OwnDriver(1))) == []
        rebalanced = found(desired=Desired(restart=1))
        assert watched.look(Seen(rebalanced, own=OwnDriver(1, 0)), 1000.0) == [Action.START]
        failed = replace(rebalanced, alive=None, record=record(2, "failed", 1), launch=DriverStart(2, "p.zip", 1))
        seen = Seen(failed, own=OwnDriver(2, NOT_STARTED_CODE))
        assert watched.look(seen, 5.0) == [Action.RECORD_FAILURE]
        kept = replace(failed, launch=DriverStart(2, "p.zip", 1, refused=True))
        assert watched.look(replace(seen, found=kept), 1000.0) == []
        assert first(Seen(kept), 9000.0) == []
        assert watched.look(replace(seen, found=replace(kept, desired=Desired(restart=2)))) == [Action.START]

    def test_who_did_not_see_how_it_ended_tries_it_once(self) -> None:
        watched = Watched()
        watched.look(Seen(self.FAILED))
        assert watched.look(Seen(self.FAILED), 0.5) == [Action.START]
        again = replace(self.FAILED, record=record(2, "failed"), launch=DriverStart(2, "p.zip"))
        assert watched.look(Seen(again, own=OwnDriver(2, NOT_STARTED_CODE)), 5.0) == [Action.RECORD_FAILURE]

    def test_a_crash_is_no_refusal(self) -> None:
        watched = Watched()
        seen = Seen(self.FAILED, own=OwnDriver(1, 1))
        watched.look(seen)
        assert watched.look(seen, 0.5) == [Action.START]


class TestRestart:
    WANTED = Desired(restart=1)

    def test_one_that_is_killed_is_not_restarted(self) -> None:
        assert first(Seen(found(desired=Desired("killed", 9.0, 1)))) == []

    def test_the_driver_ends_by_itself_first(self) -> None:
        assert first(Seen(found(desired=self.WANTED))) == []

    def test_the_next_is_started_at_once(self) -> None:
        ended = found(desired=self.WANTED, alive=None, record=record(1, "ended"))
        watched = Watched()
        assert watched.look(Seen(ended, own=OwnDriver(1, 0))) == [Action.START]
        assert watched.track.failures == 0

    def test_it_is_done_once(self) -> None:
        for knows in (record(2, "ended", restart=1), record(2, "ended")):
            done = found(desired=self.WANTED, alive=None, record=knows, launch=DriverStart(2, "p.zip", restart=1))
            assert first(Seen(done)) == []


class TestEnd:
    def test_a_killed_one_ends_by_itself_first(self) -> None:
        assert first(Seen(found(desired=KILLED))) == []

    @pytest.mark.parametrize(
        "seen",
        [
            Seen(found(desired=KILLED, alive=None, record=record(1, "ended"))),
            Seen(found(desired=KILLED), own=OwnDriver(1, 0)),
            Seen(found(desired=KILLED), own=OwnDriver(1, 1)),
            Seen(replace(NEW, desired=KILLED)),
            Seen(found(summary=True, alive=None, record=record(1, "ended"))),
        ],
    )
    def test_it_is_finished_when_its_driver_is_gone(self, seen: Seen) -> None:
        assert first(seen) == [Action.FINISH]

    def test_a_host_that_was_lost_is_waited_for(self) -> None:
        watched, seen = Watched(), Seen(replace(LOST, desired=KILLED), contact=Contact.SILENT)
        assert watched.look(seen) == []
        assert watched.look(seen, SILENT_SECONDS) == [Action.FINISH]


class TestWhatIsLeft:
    def test_it_is_cleaned_away(self) -> None:
        assert first(Seen(Found("counting"))) == [Action.CLEAN]

    def test_a_driver_that_comes_back_is_told_to_end_first(self) -> None:
        left = Found("counting", record=record(), alive=1)
        assert first(Seen(left)) == [Action.EXPEL]
        assert first(Seen(replace(left, desired=KILLED))) == []

    def test_what_cannot_be_read_is_left_for_its_user(self) -> None:
        watched, broken = Watched(), Found("counting", problem="garbage")
        assert watched.look(Seen(broken)) == []
        assert watched.look(Seen(broken), 1000.0) == []
        assert watched.look(Seen(replace(broken, desired=KILLED))) == [Action.FINISH]


@pytest.mark.parametrize(
    ("seen", "asks"),
    [
        (Seen(found()), False),
        (Seen(LOST), True),
        (Seen(LOST, own=OwnDriver(1)), False),
        (Seen(LOST, own=OwnDriver(1, 0)), False),
        (Seen(found(alive=None, record=record(address=None))), False),
        (Seen(found(alive=None, record=record(1, "ended"))), False),
        (Seen(found(alive=None, launch=DriverStart(2, "p.zip"))), False),
        (Seen(found(), process_gone=True), True),
        (Seen(NEW), False),
    ],
)
def test_only_who_cannot_be_judged_otherwise_is_asked(seen: Seen, asks: bool) -> None:
    assert must_ask(seen) is asks
