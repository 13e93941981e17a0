"""Records as lines of JSON, and back."""

from __future__ import annotations

import json

import pytest

from pasps.control.decision_log import SCHEMA, Act, Outcome, Record, read, replayed, written
from pasps.control.plan import Plan
from pasps.control.policies.pa_sps import POLICY
from pasps.errors import InvalidError
from tests.unit.control.situations import bolt, did, due, forecast, interval, known, planner, shape, situation

OF = shape(bolt("a", "s"))
NOW = interval({"s": due(300.5, backlog=7)}, {"a": did(299, 0.1, received={"s": 300}, queued=2, replicas={0: (299, 29.9)})}, busy=0.25)
SITUATION = situation(OF, NOW, known(OF, {"a": 0.1}), forecast(*[20.0] * 30), arrivals=(9.5, 10.0), recent=({"a": 2},), queue_share="edge")
PLAN = planner(POLICY)(SITUATION)
RECORD = Record(12, 1.75e9, 100.25, "cycle", "pa-sps", SITUATION, PLAN, {"a": Act(1, 3, 3, Outcome.DONE)}, 8, ("a note",))
HELD = Record(13, 1.75e9, 130.0, "cycle", "pa-sps", None, Plan({}, held="the snapshot is incomplete"))


@pytest.mark.parametrize("record", [RECORD, HELD])
def test_a_record_that_was_written_is_read_as_it_was(record: Record) -> None:
    line = written(record)
    assert b"\n" not in line
    assert read(line) == read(line.decode()) == record


def test_a_record_is_made_again_from_what_was_written() -> None:
    assert replayed(read(written(RECORD)), POLICY) == PLAN
    assert replayed(read(written(HELD)), POLICY) == HELD.plan


def test_others_can_read_it() -> None:
    found = json.loads(written(RECORD))
    assert found["schema"] == SCHEMA == "pasps.decision/1"
    assert found["plan"]["bolts"]["a"]["terms"]["from_input"] == 600.0
    assert found["situation"]["interval"]["bolts"]["a"]["replicas"] == {"0": [299, 29.9]}
    assert found["acts"]["a"] == {"before": 1, "planned": 3, "after": 3, "outcome": "DONE", "error": ""}


def test_a_record_of_a_later_version_that_says_more_is_read_as_far_as_it_is_known() -> None:
    more = {**json.loads(written(RECORD)), "weather": "fine"}
    assert read(json.dumps(more)) == RECORD


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "null", '{"number": 1}', b"\xff\xfe", '{"schema": "pasps.decision/1"}', written(RECORD)[:-9]]
)
def test_what_is_no_record_is_refused_with_what_was_expected(line: str | bytes) -> None:
    with pytest.raises(InvalidError, match=r"decision log: expected a record of schema 'pasps\.decision/1' as JSON, got"):
        read(line)


def test_another_schema_is_refused_by_its_name() -> None:
    other = json.dumps({**json.loads(written(RECORD)), "schema": "pasps.decision/2"})
    with pytest.raises(InvalidError, match=r"expected schema 'pasps\.decision/1', got 'pasps\.decision/2'"):
        read(other)
