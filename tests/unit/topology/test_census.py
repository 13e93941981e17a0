"""Which latencies count as recent, however workers tell of them, come and go; what of a worker counts that does not answer."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

from pasps.activation import first_table, without_worker
from pasps.api.blueprint import Blueprint
from pasps.assignment import Need, place
from pasps.metrics import Histogram, ReplicaCounts, Stats, WorkerCounts
from pasps.testing import FakeClock
from pasps.topology import census
from pasps.topology.census import Census
from pasps.worker.messages import Counts, Cut
from tests.unit.cli.builders import blueprint

NEEDS = {name: Need(plan.pool, plan.par, plan.keyed, plan.pinned) for name, plan in blueprint().components.items()}


@dataclass
class Link:
    """A worker as the census sees it."""

    worker: str
    counts: WorkerCounts | None = None


class Told:
    """A census whose one worker tells its counters when asked, and whenever a test lets it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        made: Blueprint = blueprint()
        self.table = first_table(place(NEEDS, ["w0"]), {"w0": 1})
        self.census: Any = Census(made, self.clock)
        self.histogram = Histogram()
        self.incarnation = 1
        self.link = Link("w0")
        self.positions: dict[int, bytes] = {}

    def tell(self, k: int = 0) -> None:
        latency = self.histogram
        counts = WorkerCounts("w0", self.incarnation, 1, [], [], {}, self.positions, dict(latency.buckets), latency.total)
        self.census.take(self.link, Counts(k, counts))

    def seconds(self, count: int, latency: float) -> None:
        """So many seconds, with one tuple done in each."""
        for _ in range(count):
            self.clock.advance(1)
            self.histogram.add(latency)
            self.tell()

    def restart(self) -> None:
        """Its counters begin anew."""
        self.census.bury(self.link)
        self.link, self.histogram, self.incarnation = Link("w0"), Histogram(), 2

    def stats(self) -> Stats:
        def ask(worker: str, cut: Cut) -> None:
            self.tell(cut.k)

        stats: Stats = asyncio.run(self.census.stats(lambda: self.table, ask))
        return stats


def test_what_a_worker_told_last_stays_counted_while_it_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "CUT_SECONDS", 0.0)
    told = Told()
    told.seconds(5, 1.0)
    stats: Stats = asyncio.run(told.census.stats(lambda: told.table, lambda worker, cut: None))
    assert (stats.complete, stats.complete_latency.count) == (False, 5)
    stats = told.stats()
    assert (stats.complete, stats.complete_latency.count) == (True, 5)


def test_recent_latencies_are_those_of_the_last_ten_seconds_beside_those_of_the_whole_run() -> None:
    told = Told()
    told.seconds(60, 1.0)
    told.seconds(10, 0.1)
    stats = told.stats()
    assert (stats.complete_latency.count, stats.recent_latency.count) == (70, 10)
    assert (round(stats.complete_latency.mean, 3), round(stats.recent_latency.mean, 3)) == (0.871, 0.1)
    assert stats.recent_latency.p99 < 0.11 < stats.complete_latency.p50


def test_at_the_beginning_everything_is_recent() -> None:
    told = Told()
    told.seconds(5, 1.0)
    assert told.stats().recent_latency.count == 5


def test_a_standstill_has_no_recent_latency() -> None:
    told = Told()
    told.seconds(5, 1.0)
    told.clock.advance(20)
    stats = told.stats()
    assert (stats.recent_latency.count, stats.complete_latency.count) == (0, 5)
    assert math.isnan(stats.recent_latency.p99)


def test_what_a_dead_worker_had_done_is_recent_no_longer_than_it_was() -> None:
    told = Told()
    told.seconds(30, 1.0)
    told.restart()
    told.table = first_table({name: routing for name, routing in told.table.components.items()}, {"w0": 2})  # noqa: C416
    told.seconds(4, 0.1)
    stats = told.stats()
    assert (stats.complete_latency.count, stats.recent_latency.count) == (34, 10)
    told.seconds(10, 0.1)
    assert (told.stats().recent_latency.count, round(told.stats().recent_latency.mean, 3)) == (10, 0.1)


def test_a_task_goes_on_from_what_it_saved_last_in_whichever_worker_and_under_whichever_controller() -> None:
    told = Told()
    assert told.census.positions == {}
    told.positions = {1: b"seven"}
    told.tell()
    told.restart()
    told.positions = {}
    told.tell()
    assert told.census.positions == {1: b"seven"}
    told.positions = {1: b"nine", 2: b"one"}
    told.tell()
    assert told.census.positions == {1: b"nine", 2: b"one"}
    assert Census(blueprint(), told.clock, told.census.positions).positions == told.census.positions


def test_looks_that_come_often_do_not_shorten_it() -> None:
    told = Told()
    for _ in range(200):
        told.clock.advance(0.1)
        told.histogram.add(0.5)
        told.stats()
    assert 100 <= told.stats().recent_latency.count <= 110


class Watched(WorkerCounts):
    """Of which can be seen when nobody has them any more."""


def test_a_cut_that_nobody_waits_for_any_more_leaves_nothing_behind() -> None:
    told = Told()
    table = first_table(place(NEEDS, ["w0", "w1"]), {"w0": 1, "w1": 1})
    held: list[weakref.ref[Watched]] = []

    async def given_up() -> None:
        """One that heard from a worker, and not from the other."""
        asked: list[Cut] = []
        cutting = asyncio.create_task(told.census.stats(lambda: table, lambda worker, cut: asked.append(cut)))
        await asyncio.sleep(0)
        counts = Watched("w0", 1, 1, [], [], {}, {}, {}, 0.0)
        held.append(weakref.ref(counts))
        told.census.take(told.link, Counts(asked[0].k, counts))
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)

    async def body() -> None:
        for _ in range(3):
            await given_up()

    asyncio.run(body())
    told.tell()  # newer than all of these
    gc.collect()
    assert [ref() for ref in held] == [None, None, None]


def test_who_waits_is_woken_by_the_last_answer_also_when_somebody_dies_before_it() -> None:
    async def go() -> Stats:
        made: Any = Census(blueprint(), FakeClock())
        table = first_table(place(NEEDS, ["w0", "w1"]), {"w0": 1, "w1": 1})
        live = [table]
        waiting = asyncio.create_task(made.stats(lambda: live[0], lambda worker, cut: None))
        await asyncio.sleep(0)
        made.bury(Link("w0"))
        live[0] = without_worker(table, "w0", {})
        await asyncio.sleep(0)
        made.take(Link("w1"), Counts(1, WorkerCounts("w1", 1, 1, [], [], {}, {}, {}, 0.0)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert waiting.done()
        return await waiting

    assert asyncio.run(go()).complete


def lived(incarnation: int) -> WorkerCounts:
    """A worker with the spout, which had emitted ten, of which two were in flight."""
    spout = ReplicaCounts("numbers", 0, "w0", emitted={"default": 10}, acked=8, pending=2, backlog=5)
    bolt = ReplicaCounts("doubled", 0, "w0", queued=2, busy=1, executed={0: 7})
    return WorkerCounts("w0", incarnation, 1, [spout, bolt], [], {}, {}, {}, 0.0)


def test_a_hundred_deaths_cost_a_cut_no_more_than_one() -> None:
    told = Told()
    for incarnation in range(1, 101):
        told.link = Link("w0")
        told.census.take(told.link, Counts(0, lived(incarnation)))
        told.census.bury(told.link)
    held = told.census._past()  # noqa: SLF001 - what grows is not seen from outside
    assert [len(counts.replicas) for counts in held] == [2]
    stats = told.stats()
    assert (stats.emitted_first, stats.acked, stats.replayed, stats.pending) == (800, 800, 200, 0)
    assert (stats.components["numbers"].restarts, stats.components["doubled"].executed) == (99, 700)


def test_what_is_under_way_is_what_workers_told_last_and_counts_no_dead() -> None:
    told = Told()
    told.census.take(told.link, Counts(0, lived(1)))
    assert told.census.under_way([told.link], told.table) == (2, 3)
    told.census.bury(told.link)
    assert told.census.under_way([Link("w0")], told.table) == (0, 0), "one that never told anything had nothing, as far as is known"
