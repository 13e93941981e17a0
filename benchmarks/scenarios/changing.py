"""Replicas come and go at half of the maximum rate: fifty random changes of every bolt, and nothing lost or doubled."""

from __future__ import annotations

import random
import time

from benchmarks.board import Board, wait_for
from benchmarks.options import records_directory
from benchmarks.scenarios.killed_worker import Appended, Step
from benchmarks.scenarios.replaying_spout import ReplayingSpout
from benchmarks.scenarios.row import Row, at_most
from pasps import Bolt, Grouping, LocalCluster, Topology, Tuple
from pasps.api import TopologyContext

_KEYS = 64
_POOL = 8
_CHANGES = 50
_SEEN = "seen"
_MAXIMUM_SECONDS = 4.0
_UNPACED = 1e9


class Count(Bolt):
    """Keyed: numbers each event of its key, so that a count that starts again or jumps is seen."""

    outputs = ("id", "key", "count")

    def initialize(self, conf: object, ctx: TopologyContext) -> None:
        self.counts: dict[int, int] = {}

    def process(self, tup: Tuple) -> None:
        number, key = tup.values
        self.counts[key] = self.counts.get(key, 0) + 1
        self.emit((number, key, self.counts[key]))


class Sink(Bolt):
    """Notes every id and whether its key's count is one more than the one before."""

    def initialize(self, conf: object, ctx: TopologyContext) -> None:
        self.seen = Appended(records_directory() / _SEEN)
        self.jumps = Appended(records_directory() / "jumps")
        self.last: dict[int, int] = {}

    def process(self, tup: Tuple) -> None:
        number, key, count = tup.values
        self.seen.add(number)
        if count != self.last.get(key, 0) + 1:
            self.jumps.add(number)
        self.last[key] = count


class Changing(Topology):
    """A load-aware edge, a shuffled one, and keyed ones."""

    events = ReplayingSpout.spec(par=2)
    balanced = Step.spec(inputs=[events], par=2, pool=_POOL)
    shuffled = Step.spec(inputs={balanced: Grouping.SHUFFLE}, par=2, pool=_POOL)
    count = Count.spec(inputs={shuffled: Grouping.fields("key")}, par=2, pool=_POOL)
    sink = Sink.spec(inputs={count: Grouping.fields("key")}, par=2, pool=_POOL)


def run(workers: int, seconds: float) -> list[Row]:
    """First as fast as it goes, then at half of that for `seconds` with changes all the while."""
    maximum = _maximum(workers)
    rate = maximum / 2
    events = int(rate * seconds)
    board = Board.create(64)
    ReplayingSpout.describe(board, events=events, rate=rate, parts=2, keys=_KEYS)
    seen, jumps = Appended(records_directory() / _SEEN), Appended(records_directory() / "jumps")
    before = len(seen.numbers())
    draw = random.Random(7)
    bolts = ["balanced", "shuffled", "count", "sink"] * _CHANGES
    draw.shuffle(bolts)
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Changing)
        started = time.monotonic()
        for number, bolt in enumerate(bolts):
            running.set_active(bolt, draw.randint(1, _POOL))
            # the changes are spread over the run
            time.sleep(max(0.0, started + (number + 1) * 0.95 * seconds / len(bolts) - time.monotonic()))
        flowing = len(seen.numbers()) - before
        wait_for(lambda: len(seen.numbers()) - before >= events, 60.0, look_every=0.2)
        running.drain(timeout=30)
        stats = running.stats()
        running.kill(wait=1)
    delivered = seen.numbers()[before:]
    name = f"{len(bolts)} changes at half of {maximum:,.0f}/s"
    return [
        Row(f"{name}: delivered when the changes ended", 100 * flowing / events, "% of the events"),
        at_most(f"{name}: events lost", events - len(set(delivered)), 0, "events"),
        at_most(f"{name}: events doubled", len(delivered) - len(set(delivered)), 0, "events"),
        at_most(f"{name}: events failed", stats.failed, 0, "events"),
        at_most(f"{name}: counts of a key that were not the next", len(jumps.numbers()), 0, "counts"),
    ]


def _maximum(workers: int) -> float:
    """Events per second of the same topology as fast as it goes, two replicas of each bolt."""
    board = Board.create(64)
    ReplayingSpout.describe(board, events=2**31, rate=_UNPACED, parts=2, keys=_KEYS)
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Changing, name="maximum", config={"topology.max.spout.pending": 5000})
        time.sleep(_MAXIMUM_SECONDS / 2)
        first, start = running.stats().acked, time.monotonic()
        time.sleep(_MAXIMUM_SECONDS)
        rate = (running.stats().acked - first) / (time.monotonic() - start)
        running.kill(wait=10)
    # the second run judges counts from their beginning
    (records_directory() / "jumps").unlink(missing_ok=True)
    return rate
