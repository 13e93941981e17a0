from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from pasps.cli.frame import first_frame
from pasps.errors import ProtocolError
from pasps.metrics import EdgeStats, Histogram, Latency, ReplicaStats
from pasps.topology.status import Status, status_from
from pasps.topology.verbs import json_ready
from pasps.worker.messages import Stuck
from tests.unit.cli.builders import report, status

REPLICA = ReplicaStats(0, "w0", "ACTIVE", 1, 2, 3, 4, 5, 0.5)


def through_json(given: Status) -> Status:
    # what is not known is null in JSON, as the control socket writes it
    text = json.dumps(json_ready(given)).replace("NaN", "null")
    return status_from(json.loads(text))


def test_it_comes_back_as_it_was() -> None:
    given = status(
        errors=[report("no")],
        emitted_first=5,
        doubled={"replicas": {0: REPLICA}, "edges": (EdgeStats("numbers", "default", 5, 4),), "backlog": 3},
        complete_latency=Latency(5, 0.1, 0.2, 0.3, 0.4),
        latency=Histogram({3: 5}, 0.5),
        recent_latency=Latency(2, 0.1, 0.2, 0.3, 0.4),
    )
    back = through_json(given)
    assert back == given
    assert back.stats.recent_latency == given.stats.recent_latency
    assert (back.stats.latency.buckets, back.stats.latency.total) == ({3: 5}, 0.5)
    assert first_frame(back) == first_frame(given)


def test_a_latency_that_is_not_known_stays_unknown() -> None:
    assert math.isnan(through_json(status()).stats.complete_latency.p99)


@pytest.mark.parametrize("value", [None, [], {}, {"stats": {}}, {"stats": {"complete_latency": {}}}, {"stats": 3}])
def test_what_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ProtocolError, match="perhaps it is of another version"):
        status_from(value)


def test_what_keeps_it_from_working_comes_with_it() -> None:
    given = status()
    stuck = replace(given.workers[0], stuck=Stuck("doubled", 3, 7.5, "doubling.py:9 in process"))
    back = through_json(replace(given, workers=(stuck,), troubles=("worker w0 has not come back",)))
    assert back.workers[0].stuck == stuck.stuck
    assert first_frame(back).troubles == ("worker w0 has not come back",)
