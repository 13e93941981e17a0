from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest

from pasps.cluster.driver.ending import encoded_summary, summary_of
from pasps.control.decision_log import Restarts
from pasps.metrics import Latency
from tests.unit.cli.builders import blueprint, report, stats
from tests.unit.in_process import InProcessTopology


@pytest.fixture
def topology() -> Iterator[InProcessTopology]:
    made = InProcessTopology(blueprint()).started()
    yield made
    made.close_all()


def test_a_topology_that_never_ran_has_a_summary_of_nothing() -> None:
    summary = summary_of("words", "stopped", None, {}, None, "/runs/words")
    assert (summary["topology"], summary["ended"], summary["run_dir"]) == ("words", "stopped", "/runs/words")
    assert {summary[key] for key in ("seconds", "emitted", "acked", "failed", "replayed")} == {0}
    assert (summary["components"], summary["left"], summary["reports"], summary["latency"]) == ({}, {}, [], None)
    assert json.loads(encoded_summary(summary)) == summary


def test_a_summary_has_the_counters_of_the_run_and_what_was_left() -> None:
    run = stats(7.5, doubled={"executed": 9, "errors": 1}, emitted_first=10, acked=8, failed=2, replayed=3)
    summary = summary_of("words", "finished", run, {"doubled": 1}, None, "")
    assert (summary["seconds"], summary["emitted"], summary["acked"], summary["failed"], summary["replayed"]) == (7.5, 10, 8, 2, 3)
    assert summary["components"]["doubled"] == {
        "emitted": 0,
        "executed": 9,
        "acked": 0,
        "failed": 0,
        "active": 2,
        "pool": 4,
        "errors": 1,
    }
    assert summary["left"] == {"doubled": 1}


def test_a_latency_that_is_not_known_is_null() -> None:
    latency = json.loads(encoded_summary(summary_of("words", "finished", stats(1.0), {}, None, "")))["latency"]
    assert latency["count"] == 0
    assert set(latency.values()) == {0, None}
    known = stats(1.0, complete_latency=Latency(1, 0.5, 0.5, 0.5, math.nan))
    assert 0.5 in summary_of("words", "finished", known, {}, None, "")["latency"].values()


def test_the_last_reports_are_in_it(topology: InProcessTopology) -> None:
    topology.controller.errors.extend(report(f"error {number}") for number in range(25))
    summary = summary_of("words", "stopped", stats(1.0), {}, topology.controller, "")
    assert [found["text"] for found in summary["reports"]] == [f"error {number}" for number in range(5, 25)]
    assert json.loads(encoded_summary(summary))["reports"][0]["component"] == "doubled"


def test_what_user_code_says_fits_into_it(topology: InProcessTopology) -> None:
    topology.run(topology.crash("w0", last_words="x" * 100_000))
    summary = summary_of("words", "stopped", stats(1.0), {}, topology.controller, "")
    (trouble,) = summary["troubles"]
    assert trouble.startswith("worker w0 cannot live: ")
    assert len(encoded_summary(summary)) < 100_000


def test_how_often_plans_had_all_workers_started_anew_is_in_it(topology: InProcessTopology) -> None:
    topology.controller.restarts.so_far = Restarts(2, 60.0, 1.5, 17)
    summary = summary_of("words", "stopped", stats(1.0), {}, topology.controller, "")
    assert json.loads(encoded_summary(summary))["restarts"] == {
        "count": 2, "waited": 60.0, "silent": 1.5, "replayed": 17, "dropped": 0, "lost": 0, "called_off": 0,
    }  # fmt: skip
