"""The course of a run: one line for each snapshot."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pasps.control.run_log import SCHEMA, BoltSample, Sample, read, sample_of, written
from pasps.errors import InvalidError
from pasps.metrics import Histogram, ReplicaStats
from tests.unit.control.situations import bolt_stats, snapshot, spout_stats


def replica(index: int, state: str) -> ReplicaStats:
    return ReplicaStats(index, "w0", state, 0, 10, 0, 0, 0, 0.1)


REPLICAS = {0: replica(0, "ACTIVE"), 1: replica(1, "DRAINING"), 2: replica(2, "DRAINING"), 3: replica(3, "INACTIVE")}
LATENCY = Histogram({3: 40, 90: 2}, 1.5)
STATS = replace(
    snapshot(
        12.5,
        spout_stats("s", 100, 20, replayed=3),
        spout_stats("t", 50),
        bolt_stats("a", {"s": 80}, 70, 0.1, queued=10, active=1, replicas=REPLICAS),
        version=4,
    ),
    latency=LATENCY,
)
SAMPLE = sample_of(STATS, 1.75e9, predicted=11.5, busy=0.5)


def test_a_sample_holds_what_was_counted_so_far() -> None:
    sample = sample_of(STATS, 1.75e9, predicted=11.5, busy=0.5)
    assert sample == Sample(
        uptime=12.5, time=1.75e9, complete=True, version=4, due=150, emitted=130, replayed=3, acked=130, failed=0, pending=0, backlog=20,
        bolts={"a": BoltSample(active=1, draining=2, pool=8, queued=10, executed=70, seconds=pytest.approx(7.0))},
        latency={3: 40, 90: 2}, latency_total=1.5, predicted=11.5, busy=0.5,
    )  # fmt: skip


def test_a_sample_does_not_change_when_the_snapshot_it_was_made_of_does() -> None:
    latency = Histogram({3: 1}, 0.1)
    sample = sample_of(replace(STATS, latency=latency), 0.0)
    latency.add(0.5)
    assert sample.latency == {3: 1}


def test_what_is_written_is_read_as_it_was() -> None:
    line = written(SAMPLE)
    assert b"\n" not in line
    assert read(line) == read(line.decode()) == SAMPLE
    assert json.loads(line)["schema"] == SCHEMA == "pasps.sample/1"


def test_what_nobody_knows_is_null() -> None:
    found = read(written(sample_of(STATS, 0.0)))
    assert (found.predicted, found.busy) == (None, None)


@pytest.mark.parametrize("line", ["", "{}", "7", b"\xff", written(SAMPLE)[:-2]])
def test_what_is_no_sample_is_refused(line: str | bytes) -> None:
    with pytest.raises(InvalidError, match=r"run log: expected a record of schema 'pasps\.sample/1' as JSON, got"):
        read(line)


def test_another_schema_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidError, match=r"run log: expected schema 'pasps\.sample/1', got 'pasps\.sample/9'"):
        read(json.dumps({**json.loads(written(SAMPLE)), "schema": "pasps.sample/9"}))
