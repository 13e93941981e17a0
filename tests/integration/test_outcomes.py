"""Every way to write a bolt times everything that user code can raise, on real workers: no worker ends, and every event arrives once."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pasps import Bolt, EndOfInput, LocalCluster, Spout, TopologyBuilder, TopologyContext, Tuple
from tests.integration.running import finish
from tests.unit.runtime.ways import RAISED, WAYS, Trip, names

COUNT = 2 * len(RAISED)
FAULTS = list(RAISED)


class Numbers(Spout):
    """Emits 0 up to COUNT, and again what failed."""

    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.left = list(range(COUNT))

    def next_tuple(self) -> None:
        if not self.left:
            raise EndOfInput
        number = self.left.pop(0)
        self.emit([number], tup_id=number)

    def fail(self, number: int) -> None:
        self.left.append(number)


@dataclass
class FirstTry(Trip):
    """Number i raises fault i at its first try, on whatever worker; files remember which was the first."""

    directory: str = ""
    way: int = 0

    def __call__(self, number: int, moment: str) -> None:
        if number < len(FAULTS) and moment == self.moment:
            try:
                os.close(os.open(f"{self.directory}/{self.way}-{number}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            RAISED[FAULTS[number]]()


class Sink(Bolt):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.file = os.open(conf["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def process(self, tup: Tuple) -> None:
        os.write(self.file, f"{tup.component} {tup.stream} {tup.values[0]!r}\n".encode())


def test_whatever_user_code_raises_no_worker_ends_and_every_event_arrives_once(tmp_path: Path) -> None:
    builder = TopologyBuilder()
    sink = builder.set_bolt("sink", Sink, 2)
    wanted: Counter[tuple[str, str, str]] = Counter()
    for number, way in enumerate(WAYS):
        trip = FirstTry("", way.moments[-1], frozenset(), True, directory=str(tmp_path), way=number)
        builder.set_spout(f"numbers{number}", Numbers)
        builder.set_bolt(f"bolt{number}", way.make(trip, names(1)), 2).shuffle_grouping(f"numbers{number}")
        for stream in way.streams:
            sink.shuffle_grouping(f"bolt{number}", stream)
        wanted += Counter((f"bolt{number}", stream, repr(row[0])) for i in range(COUNT) for stream, row in way.wanted(i, 1))
    out = tmp_path / "out"
    config = {"out": str(out), "topology.max.error.report.per.interval": 10_000}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(builder.create_topology("outcomes"), config=config)
        before = [(info.pid, info.incarnation) for info in running.workers]
        finish(running)
        stats, errors = running.stats(), running.errors
        assert [(info.pid, info.incarnation) for info in running.workers] == before
    assert Counter(tuple(line.split()) for line in out.read_text().splitlines()) == wanted
    # what stands in a batch with others that fail may fail with each of them, so often that its spout says so
    told = [error for error in errors if "was never acked in between" not in error.text]
    assert Counter(error.component for error in told) == {f"bolt{number}": len(FAULTS) for number in range(len(WAYS))}
    assert stats.acked == COUNT * len(WAYS)
    assert stats.failed == stats.replayed >= len(FAULTS) * len(WAYS)
