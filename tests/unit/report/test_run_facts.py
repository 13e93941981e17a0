"""How a run was started, from a record that may say little."""

from __future__ import annotations

from typing import Any

import pytest

from pasps.control.plan import Plan
from pasps.report.run_facts import command_of, facts_of, interval_of, title_of
from tests.unit.report.builders import line_of, record, situation


def test_the_command_has_the_file_the_workers_and_the_configuration() -> None:
    run = {
        "file": "/tmp/my topology.py",
        "workers": 3,
        "config": {"topology.workers": 3, "pasps.policy": "pa-sps", "topology.max.spout.pending": None, "wordcount.big": True},
    }
    assert command_of(run) == (
        "pasps run '/tmp/my topology.py' --workers 3 -o pasps.policy=pa-sps -o topology.max.spout.pending=null -o wordcount.big=true"
    )


@pytest.mark.parametrize("run", [{}, {"file": 3}, {"file": ""}])
def test_without_a_file_there_is_no_command(run: dict[str, Any]) -> None:
    assert command_of(run) == ""


def test_the_interval_is_that_of_the_decisions() -> None:
    run = {"config": {"pasps.interval.secs": 7}}
    decided = [record(1, 1, Plan({})), record(2, 5, Plan({}), situation=situation(5, line_of("a"), seconds=4.0))]
    assert interval_of(run, decided) == 4.0
    assert interval_of(run, decided[:1]) == 7.0
    assert interval_of({"config": []}, []) == 30.0
    assert interval_of({"config": {"pasps.interval.secs": "x"}}, []) == 30.0
    assert interval_of({"policy": "somebody's own, which is not here"}, []) == 30.0


def test_only_known_facts_are_told() -> None:
    assert facts_of({}, {}, {}, 30.0) == [("interval (td)", "30 s")]
    run = {"policy": "pa-sps", "started": 1_750_000_000.0}
    assert facts_of(run, {"ended": "finished"}, {"ann": 20}, 2.5) == [
        ("policy", "pa-sps"),
        ("interval (td)", "2.5 s"),
        ("forecasts by", "ann"),
        ("started", "2025-06-15 15:06:40 UTC"),
        ("ended", "finished"),
    ]


def test_who_stood_in_for_a_model_is_told_with_how_often() -> None:
    told = dict(facts_of({}, {}, {"lr": 2000, "last good standing in": 3, "basic standing in": 1}, 30.0))
    assert told["forecasts by"] == "lr (2,000 cycles), last good standing in (3), basic standing in (1)"
    assert dict(facts_of({}, {}, {"basic standing in": 1}, 30.0))["forecasts by"] == "basic standing in"


def test_a_run_without_a_name_is_called_by_its_directory() -> None:
    assert title_of({"name": "tweets"}, "dir") == "tweets"
    assert title_of({"name": 5}, "dir") == "dir"
