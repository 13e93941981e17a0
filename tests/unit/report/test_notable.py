"""Which decisions are worth reading, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

from pasps.control.decision_log import BY_HAND, Act, Outcome, Restarted
from pasps.control.plan import Clamp, Plan
from pasps.report.notable import MOST_OF_A_KIND, Kind, lasted, notable, reason
from tests.unit.report.builders import bolt_plan, record, terms


def change(before: int, after: int) -> Act:
    return Act(before, after, after, Outcome.DONE)


def test_a_change_says_what_and_why() -> None:
    needs = terms(5000, seconds=10.0, execution_seconds=0.01, from_queues=420)
    plan = Plan({"split": bolt_plan(1, None), "count": bolt_plan(2, needs)})
    (found,) = notable([record(1, 75, plan, acts={"split": change(1, 2), "count": change(2, 6)})])
    assert found.what == "split 1 → 2, count 2 → 6"
    assert found.why == "count: 5,000 events expected in 10 s and 420 waiting, 10.0 ms each: 5.42 replicas needed"
    assert (found.kind, lasted(found)) == (Kind.CHANGE, "1:15")


def test_a_change_by_a_restart_says_so() -> None:
    made = replace(record(1, 75, Plan({}), acts={"count": change(2, 6)}), restart=Restarted(30.0, 2.0))
    assert [one.what for one in notable([made])] == ["count 2 → 6, by a restart of all workers"]


def test_the_largest_changes_are_kept_in_the_order_of_time() -> None:
    records = [record(number, number, Plan({}), acts={"count": change(1, 1 + number % 7)}) for number in range(1, 200)]
    found = notable(records)
    assert len(found) == MOST_OF_A_KIND["change"]
    assert {one.what for one in found} == {"count 1 → 7"}
    # of equal ones the first
    assert [one.number for one in found] == [6 + 7 * index for index in range(10)]


def test_a_change_that_was_not_made_is_no_change() -> None:
    postponed = Act(1, 5, 1, Outcome.POSTPONED)
    assert notable([record(1, 10, Plan({}), acts={"count": postponed})]) == []


def test_decisions_that_are_held_for_the_same_reason_are_one() -> None:
    late, gone = Plan({}, held="no answer"), Plan({}, held="no forecast")
    found = notable([record(number, 10 * number, late if number < 4 else gone) for number in range(1, 6)])
    assert [(one.why, one.count, lasted(one)) for one in found] == [
        ("no answer", 3, "0:10 to 0:30, 3 decisions"),
        ("no forecast", 2, "0:40 to 0:50, 2 decisions"),
    ]


def test_a_failed_change_says_the_error() -> None:
    failed = Act(2, 6, 2, Outcome.FAILED, "task 3 cannot move")
    (found,) = notable([record(1, 10, Plan({}), acts={"count": failed})])
    assert (found.kind, found.what, found.why) == (Kind.FAILED, "count stayed at 2 of 6 planned", "task 3 cannot move")


def test_a_bolt_that_is_capped_says_its_worst() -> None:
    def capped(unmet: float) -> Plan:
        return Plan({"count": bolt_plan(2, terms(100), asked=5, replicas=2, clamps=(Clamp.CAPPED,), unmet=unmet)})

    (found,) = notable([record(number, number, capped(unmet)) for number, unmet in enumerate((10, 900, 30), 1)])
    assert (found.kind, found.count) == (Kind.CAPPED, 3)
    assert found.what == "count gets 2 of 5 replicas"
    assert "900 events are not provided for" in found.why


def test_a_bolt_that_was_set_by_hand_is_said_once() -> None:
    held = Act(3, 5, 3, Outcome.HELD)
    (found,) = notable([record(number, number, Plan({}), acts={"count": held}) for number in range(1, 9)])
    assert (found.kind, found.what, found.count) == (Kind.HELD, "count as set by hand", 8)


def test_a_change_by_hand_is_told_as_one() -> None:
    plan = Plan({"count": bolt_plan(3, None, replicas=5)})
    (found,) = notable([record(1, 1, plan, moment=BY_HAND, acts={"count": Act(3, 5, 5, Outcome.DONE)})])
    assert (found.kind, found.what, found.why) == (Kind.CHANGE, "count 3 → 5", "set by hand")


def test_notes_are_said_while_they_hold() -> None:
    notes = [("a",), ("a", "b"), (), ("a",)]
    found = notable([record(number, number, Plan({}), notes=note) for number, note in enumerate(notes, 1)])
    assert [(one.what, one.uptime, one.count) for one in found] == [("a", 1, 2), ("b", 2, 1), ("a", 4, 1)]


def test_little_is_kept_of_a_long_run() -> None:
    records = (record(number, number, Plan({}, held=f"reason {number}"), notes=(f"note {number}",)) for number in range(2000))
    assert len(notable(records)) == MOST_OF_A_KIND["held"] + MOST_OF_A_KIND["note"]


def test_a_reason_says_what_a_policy_aims_at() -> None:
    assert "busy 80.0% of the time" in reason(bolt_plan(1, terms(100, target=0.8)))
    assert reason(bolt_plan(1, terms(1, execution_seconds=None))) == "nothing was executed yet, so what an event costs is not known"
    assert reason(bolt_plan(3, None)) == "asks for 3"
