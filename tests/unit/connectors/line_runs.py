"""A line spout on a clock that stands still, with real files, and a bolt that fails and keeps what it is told to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pasps import Bolt, Topology, TopologyContext, Tuple
from pasps.connectors.lines import LineSpout
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.testing import FakeClock, StepRun


class RunClock:
    """The clock of the newest run; components look at it before their run is there to be asked."""

    def __init__(self) -> None:
        self.of_run = FakeClock()

    def now(self) -> float:
        return self.of_run.now()

    def wall(self) -> float:
        return self.of_run.wall()

    cpu = awake = now


class Lines(LineSpout):
    """Of these tests, so that its clock is."""

    clock = RunClock()


class Note(Bolt):
    """Acks at once; lines with `fails` in them fail as often as `failures` says; while `shut` it keeps everything."""

    outputs = ["line"]
    auto_ack = auto_fail = False
    shut = False
    fails = "never"
    failures = 1

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.kept: list[Tuple] = []
        self.failed: dict[str, int] = {}

    def process(self, tup: Tuple) -> None:
        line = tup.values[0]
        if type(self).shut:
            self.kept.append(tup)
        elif isinstance(line, str) and type(self).fails in line and self.failed.get(line, 0) < type(self).failures:
            self.failed[line] = self.failed.get(line, 0) + 1
            self.fail(tup)
        else:
            self.emit([line])
            self.ack(tup)


def start(path: Path | str, par: int = 1, workers: int = 1, shape: type[LineSpout] = Lines, **keys: Any) -> StepRun:
    class Follow(Topology):
        config = {"topology.message.timeout.secs": 100, "lines.path": str(path)}
        lines = shape.spec(par=par, config={f"lines.{name.replace('_', '.')}": value for name, value in keys.items()})
        note = Note.spec(inputs=[lines])

    Note.shut, Note.fails, Note.failures = False, "never", 1
    Lines.clock.of_run = FakeClock()
    run = StepRun(Follow, workers)
    Lines.clock.of_run = run.clock
    return run


def crash(run: StepRun) -> None:
    """The worker dies, and the spout goes on elsewhere."""
    name = next(name for name, worker in run.workers.items() if worker.residents.spouts)
    run.kill(name)
    run.restart(name)


def write(path: Path, *lines: str, end: str = "\n") -> None:
    """Append lines."""
    with path.open("ab") as file:
        file.write("".join(line + end for line in lines).encode())


def emitted(run: StepRun) -> list[Any]:
    """What the spout emitted, in order: lines alone."""
    return [row[0] for row in run.emitted.get("lines", {}).get("default", [])]


def done(run: StepRun) -> list[Any]:
    """What the bolt did."""
    return [row[0] for row in run.emitted.get("note", {}).get("default", [])]


def tasks(run: StepRun) -> list[SpoutExecutor]:
    """In the order of their index."""
    found = [spout for worker in run.workers.values() for spout in worker.residents.spouts.values()]
    return sorted(found, key=lambda spout: spout.replica)


def places(run: StepRun) -> dict[str, int]:
    """How far the position that was saved last has each file done, in bytes."""
    found = [place for spout in tasks(run) for place in spout.collector.position["places"]]
    return {os.path.basename(os.fsdecode(place[0])): place[4] for place in found}


def errors(run: StepRun) -> list[str]:
    """What was reported so far."""
    return [report.text for report in run.journal.of("error")]
