from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pasps.cluster.master.decide import OwnDriver, Track
from pasps.cluster.master.found import Found
from pasps.cluster.master.records import DriverStart
from pasps.cluster.master.views import state_of
from pasps.cluster.store.submission import Desired, DriverRecord, Submission

RECORD = DriverRecord(2, "h", 7, ("h", 1), "waiting", "2 more cores")
FOUND = Found("a", Submission("a", "a.py"), Desired(), RECORD, alive=2, launch=DriverStart(2))
RESTARTED = replace(RECORD, state="ended", detail="restarted")
GONE = Track(epoch=2, gone=True, not_before=103.0)


@pytest.mark.parametrize(
    ("changes", "own", "track", "expected"),
    [
        ({}, None, Track(), ("waiting", "2 more cores")),
        ({"alive": None}, OwnDriver(2), Track(), ("waiting", "2 more cores")),
        ({"alive": None}, OwnDriver(1), Track(), ("lost", "its driver is not registered; it is looked for")),
        ({"record": None, "alive": None}, OwnDriver(2), Track(), ("starting", "its driver is started")),
        ({"launch": DriverStart(3)}, OwnDriver(3), GONE, ("starting", "its driver is started")),
        ({"record": None, "alive": None, "launch": None}, None, Track(), ("starting", "its driver is started")),
        ({}, OwnDriver(2, -9), GONE, ("lost", "its driver ended with code -9; the next one starts in 3.0 s")),
        ({"alive": None}, None, replace(GONE, not_before=9.0), ("lost", "its driver ended; the next one starts now")),
        (
            {"record": replace(RECORD, state="failed", detail="no Spark")},
            OwnDriver(2, 1),
            GONE,
            ("lost", "its driver ended with code 1: no Spark; the next one starts in 3.0 s"),
        ),
        (
            {"record": replace(RECORD, state="failed", detail="no such file"), "alive": None},
            OwnDriver(2, 3),
            GONE,
            ("failed", "no such file"),
        ),
        ({"record": None, "alive": None}, OwnDriver(2, 3), GONE, ("failed", "")),
        (
            {"record": replace(RECORD, state="failed", detail="no such file"), "launch": DriverStart(2, refused=True)},
            OwnDriver(2, 3),
            GONE,
            ("failed", "no such file"),
        ),
        (
            {"record": replace(RECORD, state="ended", detail="stopped"), "desired": Desired("killed")},
            OwnDriver(2, 0),
            GONE,
            ("ended", "stopped"),
        ),
        (
            {"record": RESTARTED, "desired": Desired(restart=1)},
            OwnDriver(2),
            Track(),
            ("starting", "it is restarted; the next driver starts now"),
        ),
        (
            {"record": RESTARTED, "desired": Desired(restart=1), "alive": None},
            OwnDriver(2, 0),
            GONE,
            ("starting", "it is restarted; the next driver starts in 3.0 s"),
        ),
        ({"record": RESTARTED, "desired": Desired("killed", restart=1)}, OwnDriver(2, 0), GONE, ("ended", "restarted")),
        (
            {"record": replace(RECORD, state="ended", detail="signal SIGTERM"), "alive": None},
            OwnDriver(2, 0),
            Track(),
            ("lost", "its driver ended with code 0: signal SIGTERM; the next one starts now"),
        ),
        ({"record": replace(RECORD, state="ended", detail="finished"), "summary": True}, OwnDriver(2), Track(), ("ended", "finished")),
        ({"problem": "garbage"}, None, Track(), ("failed", "what is kept of it cannot be read: garbage")),
    ],
)
def test_the_state_is_the_drivers_as_long_as_it_is_there(
    changes: dict[str, Any], own: OwnDriver | None, track: Track, expected: tuple[str, str]
) -> None:
    assert state_of(replace(FOUND, **changes), own, track, 100.0) == expected
