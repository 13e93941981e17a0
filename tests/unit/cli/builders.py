"""Snapshots and frames for the tests of this room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.api.bolt import Bolt
from pasps.api.spout import Spout
from pasps.api.topology import Topology
from pasps.api.tuples import Tuple
from pasps.cli.views.frame import Frame, Frames
from pasps.cli.views.outcome import Outcome
from pasps.metrics import ComponentStats, Latency, Stats
from pasps.topology.controller import ErrorReport
from pasps.topology.run_list import KnownRun
from pasps.topology.run_record import RunRecord, RunState, host
from pasps.topology.status import Status, shapes
from pasps.topology.summary import Reason
from pasps.topology.workforce import WorkerInfo


class Numbers(Spout):
    outputs = ("n",)

    def next_tuple(self) -> None:
        self.emit([1])


class Doubled(Bolt):
    outputs = ("n",)

    def process(self, tup: Tuple) -> None:
        self.emit([tup["n"] * 2])


class Doubling(Topology):
    numbers = Numbers.spec()
    doubled = Doubled.spec(inputs=[numbers], par=2, pool=4)


def blueprint() -> Blueprint:
    return Doubling.blueprint()


def component(name: str, **given: Any) -> ComponentStats:
    fields: dict[str, Any] = {
        **dict.fromkeys(("emitted", "executed", "acked", "failed", "queued", "errors"), 0),
        "active": 2,
        "pool": 4,
        "execute_seconds": 0.0,
        "replicas": {},
        "edges": (),
        "backlog": None,
        **given,
    }
    return ComponentStats(component=name, **fields)


def stats(seconds: float, *, numbers: dict[str, Any] | None = None, doubled: dict[str, Any] | None = None, **given: Any) -> Stats:
    components = {"numbers": component("numbers", active=1, pool=1, **(numbers or {})), "doubled": component("doubled", **(doubled or {}))}
    fields: dict[str, Any] = {
        "complete_latency": Latency(0, *[math.nan] * 4),
        **dict.fromkeys(("emitted_first", "replayed", "acked", "failed", "pending"), 0),
        "table_version": 1,
        "complete": True,
        **given,
    }
    return Stats(components=components, uptime_seconds=seconds, **fields)


def report(text: str, component: str = "doubled") -> ErrorReport:
    return ErrorReport(component, 2, 0.0, text)


def frame(errors: Sequence[ErrorReport] = (), **given: Any) -> Frame:
    """The second of two frames, two seconds after the first."""
    frames = Frames(shapes(blueprint()), 2)
    frames.next(stats(1.0), 2, ())
    told = {name: given.pop(name) for name in ("troubles", "restarting") if name in given}
    return frames.next(stats(3.0, **given), 2, errors, **told)


def outcome(
    ended: Reason = Reason.FINISHED, *, errors: Sequence[ErrorReport] = (), left: dict[str, int] | None = None, **given: Any
) -> Outcome:
    own = {name: given.pop(name) for name in ("workers_lost", "signal", "run_dir", "restarts") if name in given}
    return Outcome("doubling", ended, frame(errors, **given), errors, left or {}, **own)


def status(seconds: float = 3.0, errors: Sequence[ErrorReport] = (), **given: Any) -> Status:
    worker = WorkerInfo("w0", 41, "127.0.0.1", 7000)
    return Status("doubling", RunState.RUNNING, seconds, (worker,), 1, shapes(blueprint()), stats(seconds, **given), tuple(errors))


def known_run(name: str = "doubling", state: RunState = RunState.RUNNING, number: int = 1, **given: Any) -> KnownRun:
    directory = Path(f"/base/runs/{name}-20260102-030405-{number}")
    fields: dict[str, Any] = {
        "file": "/home/user/doubling.py",
        "pid": number,
        "process": "",
        "host": host(),
        "started": 1000.0 + number,
        "workers": 2,
        "socket": str(directory / "control.sock"),
        "config": {},
        "state": state,
        **given,
    }
    return KnownRun(directory, RunRecord(name=name, **fields), state, directory)
