"""The subjects of the throughput benchmark do the same work, whichever way each has it written."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.options import Options
from benchmarks.scoring import rate_columns, rate_events
from benchmarks.subjects.pasps_components import CLASSES, FUNCTIONS
from benchmarks.subjects.pasps_run import build
from benchmarks.workloads import (
    ON_EVENT,
    OPERATORS,
    RATED_FIELDS,
    WORKLOADS,
    Event,
    RunningCount,
    count_event,
    features,
    prepared,
    rate_event,
)
from pasps import bolt
from pasps.testing import complete_topology

COUNT = 60


def events(workload: str) -> list[Event]:
    values: Any = features() if workload == "w4" else prepared()
    return [(i, *values[i], float(i)) for i in range(COUNT)]


def expected(workload: str) -> list[Event]:
    found = events(workload)
    for operator in OPERATORS[workload]:
        found = [operator(*event) for event in found]
    count = RunningCount()
    return [count(*event) for event in found] if workload == "w3" else found


@pytest.mark.parametrize("workload", WORKLOADS)
def test_operators_on_whole_events_give_the_same(workload: str) -> None:
    found = events(workload)
    for operator in ON_EVENT[workload]:
        found = [operator(event) for event in found]
    counts: dict[int, int] = {}
    if workload == "w3":
        for place, event in enumerate(found):
            counts[event[1]], found[place] = count_event(counts.get(event[1]), event)
    assert found == expected(workload)


def test_columns_give_the_same() -> None:
    rated = [rate_event(event) for event in events("w4")]
    assert [(id, pytest.approx(rating), ts) for id, rating, ts in rated] == rate_events(events("w4"))


@pytest.mark.parametrize("bolts", [FUNCTIONS, CLASSES])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_bolts_give_the_same(workload: str, bolts: dict[str, Any]) -> None:
    operators = bolts[workload]
    sink = bolt(lambda *values: None)
    topology = build(Options(workload, workers=2), operators, sink)
    result = complete_topology(topology, {"events": [list(event) for event in events(workload)]}, workers=2)
    assert result.errors == []
    rows = sorted(result.rows(f"operator{len(operators)}"))
    if workload == "w3":  # which of a class comes first depends on the way that it took
        rows, wanted = sorted(row[1:3] for row in rows), sorted(row[1:3] for row in expected(workload))
        assert rows == wanted
    else:
        assert rows == sorted(expected(workload))


def test_a_bolt_by_column_gives_the_same() -> None:
    scoring = bolt(outputs=RATED_FIELDS, columns="numpy")(rate_columns)
    topology = build(Options("w4", workers=2), (scoring,), bolt(lambda *values: None))
    result = complete_topology(topology, {"events": [list(event) for event in events("w4")]}, workers=2)
    assert [(id, pytest.approx(rating), ts) for id, rating, ts in expected("w4")] == sorted(result.rows("operator1"))
    assert result.errors == []
