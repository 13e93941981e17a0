"""Every way to write a bolt times every way to fail, at each moment and place in a chunk: a failed call costs its tuples, and no others.

The cells are generated: each test runs one way with one fault through every moment and place. Of the 16 combinations of width,
tracking, workers and wire checks each moment and place gets four, which hold every pair of settings; all of them get all 16.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from pasps import Bolt, Stream, TopologyBuilder, Tuple
from pasps.testing import CompletedTopology, complete_topology
from tests.unit.runtime.parts import Numbers, rows
from tests.unit.runtime.ways import RAISED, SPOILT, WAYS, Trip, Way, names

COUNT = 21
"""An inline bolt takes it in chunks of 1, 4 and 16."""
PLACES = {"the only, the first, in the middle, the last": frozenset({0, 1, 10, 20}), "every": frozenset(range(COUNT))}


class After(Bolt):
    """What comes behind the bolt under test; nothing but values of the user's may come."""

    outputs = [Stream(["stream", "row"])]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.stream, list(tup.values)])


def completed(way: Way, trip: Trip, width: int, tracked: bool, workers: int, check_wire: bool) -> CompletedTopology:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    # replicas one after the other on as many workers: with two, half of what is sent goes to the other one
    builder.set_bolt("bolt", way.make(trip, names(width)), workers).shuffle_grouping("numbers")
    after = builder.set_bolt("after", After, workers)
    for stream in way.streams:
        after.shuffle_grouping("bolt", stream)
    config = {"topology.max.error.report.per.interval": 10_000}
    inputs = {"numbers": rows(COUNT)}
    topology = builder.create_topology("outcomes")
    return complete_topology(
        topology,
        inputs,
        config=config,
        workers=workers,
        check_wire=check_wire,
        tracked=tracked,
        replays=len(trip.numbers) if trip.once else 0,
    )


def cells(way: Way, fault: str) -> Iterator[tuple[str, str, int, bool, int, bool]]:
    moments = ("before",) if fault in SPOILT else way.moments
    for number, (moment, place) in enumerate(product(moments, PLACES)):
        for first, second in product(range(4), repeat=2):
            # without a check it does travel, within a worker
            if first ^ second == (number + len(fault)) % 4 or fault == "cannot travel":
                check_wire = fault == "cannot travel" or second > 1
                yield moment, place, 1 + first % 2, first > 1, 1 + second % 2, check_wire


def can_fail(way: Way, fault: str) -> bool:
    """A bolt that emits nothing emits nothing wrong."""
    return fault in RAISED or way.copies > 0


CELLS = [pytest.param(way, fault, id=f"{way.name}-{fault}") for way in WAYS for fault in (*RAISED, *SPOILT) if can_fail(way, fault)]


@pytest.mark.parametrize(("way", "fault"), CELLS)
def test_a_failed_call_costs_its_tuples_alone(way: Way, fault: str) -> None:
    for moment, place, width, tracked, workers, check_wire in cells(way, fault):
        trip = Trip(fault, moment, PLACES[place], once=place != "every" and tracked)
        done = completed(way, trip, width, tracked, workers, check_wire)
        cell = f"{way.name}: {fault} {moment} its emissions, {place} of a chunk; {width=} {tracked=} {workers=} {check_wire=}"
        check(way, trip, width, tracked, done, cell)


def check(way: Way, trip: Trip, width: int, tracked: bool, done: CompletedTopology, cell: str) -> None:
    assert trip.tripped, cell
    failed = trip.failed(way.batch and fails_whole_call(way, trip))
    if tracked:
        assert sorted(done.failed["numbers"]) == failed, cell
        assert sorted(done.acked["numbers"]) == [i for i in range(COUNT) if trip.once or i not in failed], cell
    arriving = [number for number in range(COUNT) if trip.once or number not in failed]
    wanted = Counter(row for number in arriving for row in way.wanted(number, width))
    assert Counter((stream, tuple(row)) for stream, row in done.rows("after")) == wanted, cell
    told = [report for report in done.errors if report.component == "bolt"]
    assert len(told) == len(trip.tripped), cell
    assert all(1 < report.index < 4 for report in told), cell


def fails_whole_call(way: Way, trip: Trip) -> bool:
    """A result that is wrong concerns its own input, as far as that can be told."""
    return trip.fault in RAISED or (trip.fault == "wrong width" and way.whole)
