"""Decisions in words: the example of a bolt that grew, and everything that can keep one from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from pasps.control.decision_log import BY_HAND, Act, Outcome, Record
from pasps.control.execution_times import execution_times
from pasps.control.explain import concerned, explained, headline, replay
from pasps.control.explain_terms import count, seconds_text
from pasps.control.plan import BoltPlan, Clamp, Plan, Reason, Terms
from pasps.control.policies import BUILT_IN, policy_named
from pasps.control.policies.pasps import Options
from pasps.control.situation import (
    BoltInterval,
    BoltShape,
    Estimates,
    ExecutionTime,
    Forecast,
    Interval,
    Player,
    PolicySettings,
    Situation,
    SpoutInterval,
    TopologyShape,
)
from pasps.errors import InvalidError
from tests.unit.control.situations import planner

START = datetime(2025, 3, 4, 14, 0, tzinfo=UTC).timestamp()
SHAPE = TopologyShape(("tweets",), (BoltShape("sentiment", 8, ("tweets",), waits=True), BoltShape("store", 8, ("sentiment",), waits=True)))


def situation(uptime: float, active: dict[str, int], **given: Any) -> Situation:
    """398 events came in the last 30 s and 412 are expected; 30 wait for `sentiment`, 7 more in the spout."""
    bolts = {
        "sentiment": BoltInterval({"tweets": 398}, 390, 30, active["sentiment"], 72.15),
        "store": BoltInterval({"sentiment": 390}, 390, 0, active["store"], 3.9),
    }
    interval = Interval(1, uptime - 30, uptime, {"tweets": SpoutInterval(398, 398, 7, given.pop("lower_bound", False))}, bolts, (1, 99))
    times = {"sentiment": ExecutionTime(0.185, "live"), "store": ExecutionTime(0.01, "file"), **given.pop("times", {})}
    known = Estimates({"sentiment": {"tweets": 1.0}, "store": {"sentiment": 1.0}}, {"tweets": 1.0, "sentiment": 1.0, "store": 1.0}, times)
    forecast = given.pop("forecast", Forecast(uptime, (412 / 30,) * 30, "lr"))
    return Situation(given.pop("moment", "cycle"), SHAPE, interval, known, forecast, given.pop("settings", PolicySettings()), **given)


def record(number: int, active: dict[str, int], policy: str = "pa-sps", **given: Any) -> Record:
    """The record of a cycle in which the policy's plan came true."""
    uptime = 30.0 * number + 0.02
    own: dict[str, Any] = {name: given.pop(name) for name in ("notes", "acts", "version") if name in given}
    seen = situation(uptime, active, **given)
    plan = planner(policy_named(policy))(seen)
    acts = {name: Act(plan.bolts[name].active, bolt, bolt, Outcome.DONE) for name, bolt in plan.replicas.items() if name in plan.changes}
    fields: dict[str, Any] = {"acts": acts, "version": 20 + number, **own}
    return Record(number, START + uptime, uptime, seen.moment, policy, seen, plan, **fields)


def held(number: int, why: str = "the snapshot is incomplete") -> Record:
    uptime = 30.0 * number + 0.02
    return Record(number, START + uptime, uptime, "cycle", "pa-sps", None, Plan({}, held=why))


def text(records: list[Record], bolt: str | None = "sentiment", at: str | None = None) -> str:
    return explained(records, bolt, at, UTC)


def test_a_bolt_that_grew_is_explained_by_the_equations() -> None:
    assert text([record(12, {"sentiment": 2, "store": 1})]) == (
        "sentiment has 3 of 8 replicas since 14:06:00 (cycle 12, table 32), 2 -> 3.\n"
        "  input   412 events expected in the next 30 s  (lr; 398 came in the last 30 s)\n"
        "          x share 1.00 = 412 reach it                                [Eq. 4]\n"
        "  queues  37 of what is queued reach it  (30 queued here)            [Eq. 7]\n"
        "  time    0.185 s for one event, measured in the last interval\n"
        "  needs   449 events x 0.185 s / 30 s = 2.77 replicas, rounded up 3  [Eq. 2]\n"
        "  done    2 -> 3: table 32, every live worker routes by it"
    )


def test_later_decisions_that_keep_it_are_told_apart_from_the_one_that_changed_it() -> None:
    shown = text([record(12, {"sentiment": 2, "store": 1}), record(13, {"sentiment": 3, "store": 1}), held(14)])
    assert shown.startswith("sentiment has 3 of 8 replicas since 14:06:00 (cycle 12, table 32), 2 -> 3.")
    assert "Cycle 13 at 14:06:30 keeps 3:\n  needs  449 events" in shown
    assert shown.endswith("Cycle 14 at 14:07:00 decided nothing: the snapshot is incomplete")


def test_all_bolts_get_a_paragraph_each() -> None:
    assert text([record(12, {"sentiment": 2, "store": 1})], None) == (
        "cycle 12 at 14:06:00, policy pa-sps: 412 expected, lr\n"
        "\n"
        "sentiment has 3 of 8 replicas since 14:06:00 (cycle 12, table 32), 2 -> 3.\n"
        "  needs  449 events x 0.185 s / 30 s = 2.77 replicas, rounded up 3  [Eq. 2]\n"
        "  done   2 -> 3: table 32, every live worker routes by it\n"
        "\n"
        "store has 1 of 8 replicas, as before the first decision in the log.\n"
        "Cycle 12 at 14:06:00 keeps 1:\n"
        "  needs  449 events x 10 ms / 30 s = 0.15 replicas, rounded up 1  [Eq. 2]"
    )


def test_a_policy_that_goes_by_other_terms_says_them_in_its_own_words() -> None:
    seen = situation(360.02, {"sentiment": 2, "store": 1})
    why = (Reason("load", "0.91 of what its replicas can do", "Eq. 9"), Reason("needs", "one more, since it is above 0.7"))
    plan = Plan({"sentiment": BoltPlan(2, 3, 3, 3, reasons=why), "store": BoltPlan(1, 1, 1, 1)})
    made = Record(12, START + 360.02, 360.02, "cycle", "threshold", seen, plan, {"sentiment": Act(2, 3, 3, Outcome.DONE)}, 32)
    assert text([made]) == (
        "sentiment has 3 of 8 replicas since 14:06:00 (cycle 12, table 32), 2 -> 3.\n"
        "  load   0.91 of what its replicas can do  [Eq. 9]\n"
        "  needs  one more, since it is above 0.7\n"
        "  done   2 -> 3: table 32, every live worker routes by it"
    )
    assert "  needs  1, says policy threshold" in text([made], None)


def test_a_change_by_hand_is_no_decision() -> None:
    shown = text([record(12, {"sentiment": 2, "store": 1}), record(13, {"sentiment": 5, "store": 1}, acts={})])
    assert shown.startswith("sentiment has 5 of 8 replicas, and not by a decision: 3 -> 5 by hand, before cycle 13 at 14:06:30.")
    assert "Cycle 13 at 14:06:30 wants 3:" in shown
    assert "done    nothing yet; planned was 5 -> 3" in shown


def by_hand(number: int, seconds: float, before: int, after: int) -> Record:
    """Somebody set `sentiment`."""
    plan = Plan({"sentiment": BoltPlan(before, after, after, after), "store": BoltPlan(1, 1, 1, 1)})
    acts = {"sentiment": Act(before, after, after, Outcome.DONE)}
    return Record(number, START + seconds, seconds, BY_HAND, "pa-sps", None, plan, acts, 20 + number)


def test_what_was_set_by_hand_is_known_at_once_and_when() -> None:
    records = [record(12, {"sentiment": 2, "store": 1}), by_hand(13, 375.5, 3, 7)]
    expected = "sentiment has 7 of 8 replicas since 14:06:15, set by hand: 3 -> 7 (table 33)."
    assert text(records) == expected
    shown = text(records, None)
    assert expected in shown
    assert shown.startswith("cycle 12 at 14:06:00, policy pa-sps")
    assert "store has 1 of 8" in shown
    # the span until the next cycle is right for ever, and what comes after it
    records.append(record(14, {"sentiment": 7, "store": 1}, acts={"sentiment": Act(7, 3, 7, Outcome.HELD)}))
    assert text(records, at="376") == expected
    assert text(records, at="374").startswith("sentiment has 3 of 8 replicas since 14:06:00 (cycle 12")
    shown = text(records)
    assert shown.startswith(expected)
    assert "Cycle 14 at 14:07:00 wants 3:" in shown
    assert "x share 1.00" in shown, "with all numbers"
    assert "by hand, before" not in shown


def test_what_was_set_by_hand_before_the_first_decision_is_known_too() -> None:
    shown = text([by_hand(1, 3.0, 3, 7)])
    assert shown == "sentiment has 7 replicas since 14:00:03, set by hand: 3 -> 7 (table 21)."
    assert "store has 1" in text([by_hand(1, 3.0, 3, 7)], None)


def test_a_change_by_hand_is_concerned_and_is_no_plan_to_be_made_again() -> None:
    records = [record(12, {"sentiment": 2, "store": 1}), by_hand(13, 375.5, 3, 7)]
    assert [one.number for one in concerned(records, "sentiment")] == [12, 13]
    lines, same = replay(records, policy_named)
    assert (lines, same) == (["1 of 1 decisions are the same when they are made again"], True)


def test_a_snapshot_older_than_the_last_change_is_no_change_by_hand() -> None:
    first = record(12, {"sentiment": 2, "store": 1}, version=100)
    assert "by hand" not in text([first, record(13, {"sentiment": 2, "store": 1}, acts={})])


def test_drain_and_target_are_shown_as_they_enter() -> None:
    settings = PolicySettings(target_utilisation=0.8, drain_seconds=10.0)
    shown = text([record(12, {"sentiment": 2, "store": 1}, settings=settings)])
    assert "412 x 0.185 s / (30 s x 0.8) + 37 x 0.185 s / 10 s = 3.86 replicas, rounded up 4" in shown
    assert "a replica is to be busy 80% of its time with what comes in, and queues are to be gone in 10 s" in shown


def test_what_is_planned_for_the_fullest_time_says_so_and_what_the_forecast_is_mixed_of() -> None:
    mixed = Forecast(360.02, (10.0,) * 20 + (50.0,), "auto", players=(Player("ar", 3.2, 0.7), Player("naive", 4.1, 0.3)))
    given = record(12, {"sentiment": 2, "store": 1}, "pasps", forecast=mixed, moment="correction")
    now = given.situation
    assert now is not None
    given = replace(given, plan=BUILT_IN["pasps"].plan(now, Options(lead_seconds=30.0)))
    shown = text([given])
    assert (
        "50 events expected in the next 1 s  (auto, at the fullest before more replicas could come; 10 in the next 1 s; 398 came" in shown
    )
    assert "forecast  of ar 70%, naive 30%, by what each would have cost of late" in shown
    assert "since 14:06:00 (correction 12, table 32)" in shown


def test_a_bolt_that_is_planned_for_a_later_second_says_so() -> None:
    given = record(12, {"sentiment": 2, "store": 1})
    plan = BoltPlan(2, 3, 3, 3, Terms(1.0, 90.0, 0.0, 90.0, 0.185, 8.325, 2.0))
    given = replace(given, plan=Plan({"sentiment": plan}, 27.0))
    assert "90 events expected in the busiest 2 s of the interval  (lr; 398 came in the last 30 s)" in text([given])


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (BoltPlan(2, 12, 8, 8, clamps=(Clamp.AT_POOL,)), "asks for 12, more than its pool"),
        (BoltPlan(2, 2, 2, 2, clamps=(Clamp.UNKNOWN,)), "nothing was executed yet, so what one event takes is not known: stays at 2"),
        (
            BoltPlan(2, 4, 2, 2, clamps=(Clamp.CAPPED,), unmet=120.5),
            "asks for 4, but the cores, or the workers, carry no more than 2; 120.5 of its events cannot be done in that time",
        ),
        (
            BoltPlan(3, 2, 2, 3, clamps=(Clamp.DELAYED,)),
            "2 would do now, but replicas are not given back as soon as that: 3 for the time being",
        ),
    ],
)
def test_every_clamp_has_its_words(plan: BoltPlan, words: str) -> None:
    given = replace(record(12, {"sentiment": 2, "store": 1}, acts={}), plan=Plan({"sentiment": plan}, 412.0))
    assert f"clamps  {words}" in text([given])
    assert set(Clamp) == {Clamp.AT_POOL, Clamp.UNKNOWN, Clamp.CAPPED, Clamp.DELAYED}


@pytest.mark.parametrize(
    ("act", "words", "short"),
    [
        (Act(2, 3, 3, Outcome.DONE), "2 -> 3: table 32, every live worker routes by it", "sentiment 2->3"),
        (
            Act(2, 3, 2, Outcome.POSTPONED),
            "2 -> 3 would move keyed tasks between workers: waits for the end of the interval",
            "sentiment 2->3 postponed",
        ),
        (
            Act(2, 3, 2, Outcome.HELD),
            "stays at 2: it was set by hand, and is left alone until it is released",
            "sentiment 2->3 held by hand",
        ),
        (Act(2, 3, 2, Outcome.FAILED, "no worker is alive"), "2 -> 3 failed, it has 2: no worker is alive", "sentiment 2->3 failed"),
    ],
)
def test_every_outcome_has_its_words(act: Act, words: str, short: str) -> None:
    given = record(12, {"sentiment": 2, "store": 1}, acts={"sentiment": act})
    assert f"done    {words}" in text([given])
    assert headline(given) == f"cycle 12: {short} (412 expected, lr)"


def test_the_forecast_says_when_it_is_not_the_predictors_own() -> None:
    last_good = Forecast(360.02, (412 / 30,) * 30, "lr", "last good", "no answer within 5 s")
    notes = ("forecast: last good, no answer within 5 s", "store: oversubscribed: 2 s with 3 replicas")
    shown = text([record(12, {"sentiment": 2, "store": 1}, forecast=last_good, notes=notes)])
    assert "(the last good forecast of lr; 398 came in the last 30 s)" in shown
    assert "notes   forecast: last good, no answer within 5 s" in shown
    assert "oversubscribed" not in shown, "a note on another bolt"


def test_presps_and_static_need_no_forecast() -> None:
    assert "398 events expected in the next 30 s  (as just came in; 398 came" in text(
        [record(12, {"sentiment": 2, "store": 1}, "presps", forecast=None)]
    )
    fixed = record(12, {"sentiment": 2, "store": 1}, "static", forecast=None, settings=PolicySettings(static_replicas=4))
    assert "needs  4, says policy static" in text([fixed])
    assert headline(fixed) == "cycle 12: sentiment 2->4, store 1->4"


def test_notes_on_the_bolt_and_a_lower_bound_are_said_once() -> None:
    why = "oversubscribed: 0.3 s with 3 replicas, 0.185 s with 2"
    times = {"sentiment": ExecutionTime(0.185, "last", why)}
    shown = text([record(12, {"sentiment": 2, "store": 1}, times=times, lower_bound=True, notes=(f"sentiment: {why}", "a lower bound"))])
    assert shown.count(why) == 1
    assert "at least 398 came" in shown
    assert "time    0.185 s for one event, measured in an earlier interval\n" in shown


def test_a_bolt_that_never_executed_has_no_equation_2() -> None:
    shown = text([record(1, {"sentiment": 2, "store": 1}, times={"sentiment": ExecutionTime(None, "unknown")})])
    assert "Eq. 2" not in shown
    assert "time    nothing was executed yet" in shown


def test_a_need_just_above_a_whole_number_shows_why_it_is_rounded_up() -> None:
    plan = BoltPlan(3, 4, 4, 4, Terms(1.0, 300.0, 0.02, 300.02, 0.3, 3.0002, 30.0))
    given = replace(record(12, {"sentiment": 3, "store": 1}, acts={}), plan=Plan({"sentiment": plan}, 300.0))
    assert "= 3.0002 replicas, rounded up 4" in text([given])


@pytest.mark.parametrize("bolt", ["sentiment", None])
def test_a_bolt_that_blocks_its_workers_is_told_so_once_with_the_cure(bolt: str | None) -> None:
    """As the loop writes it down: with the execution time, and among the notes."""
    given = record(12, {"sentiment": 2, "store": 1})
    assert given.situation is not None
    interval = given.situation.interval
    bolts = {**interval.bolts, "sentiment": structs.replace(interval.bolts["sentiment"], blocks=True)}
    known = execution_times(replace(interval, bolts=bolts), Estimates(), {})[0]
    seen = replace(given.situation, estimates=replace(given.situation.estimates, execution=known))
    notes = tuple(f"{name}: {time.note}" for name, time in known.items() if time.note)
    assert text([replace(given, situation=seen, notes=notes)], bolt).count('give it execution = "thread", or make it async') == 1


def test_concurrency_divides() -> None:
    plan = BoltPlan(1, 1, 1, 1, Terms(1.0, 412.0, 37.0, 449.0, 0.185, 0.692, 30.0, concurrency=4))
    given = replace(record(12, {"sentiment": 1, "store": 1}, acts={}), plan=Plan({"sentiment": plan}, 412.0))
    assert "449 events x 0.185 s / 30 s / 4 at a time = 0.69 replicas, rounded up 1" in text([given])


TWO = [record(12, {"sentiment": 2, "store": 1}), record(13, {"sentiment": 3, "store": 1})]


@pytest.mark.parametrize(
    ("at", "number"),
    [
        ("360", 12),
        ("389.9", 12),
        ("390", 13),
        ("9000", 13),
        ("14:06", 12),
        ("14:06:29", 12),
        ("14:06:30", 13),
        ("23:59:59", 13),
        ("2025-03-04T14:06:10+00:00", 12),
        ("2025-03-04 14:06:10", 12),
        ("2025-03-04T16:06:30+02:00", 13),
    ],
)
def test_at_a_time_the_decision_in_force_counts(at: str, number: int) -> None:
    assert concerned(TWO, None, at, UTC)[-1].number == number


def test_a_clock_time_after_the_last_one_is_that_of_the_day_before_when_the_run_reaches_back() -> None:
    night = [replace(TWO[0], time=START + 9 * 3600), replace(TWO[1], time=START + 11 * 3600)]  # 23:00 and 01:00
    assert [found.number for found in concerned(night, None, "23:30", UTC)] == [12]


@pytest.mark.parametrize("at", ["359", "13:00", "2025-03-03"])
def test_before_the_first_decision_there_is_none(at: str) -> None:
    with pytest.raises(InvalidError, match=r"there is no decision before it; the first in the log is cycle 12 at 14:06:00"):
        text(TWO, None, at)


@pytest.mark.parametrize("at", ["soon", "25:00", "12:99", "-3", "nan", "1e999", "2025-99-01"])
def test_what_is_no_time_is_said_to_be_none(at: str) -> None:
    with pytest.raises(InvalidError, match="is no time; write seconds since the start"):
        text(TWO, None, at)


def test_an_unknown_bolt_is_told_its_nearest_name() -> None:
    with pytest.raises(InvalidError, match=r"there is no bolt 'sentimant' in the log; did you mean 'sentiment'\? it has sentiment, store"):
        text(TWO, "sentimant")


def test_without_a_decision_there_is_nothing_to_explain() -> None:
    assert text([], None) == "no decision was made yet"
    assert "nothing was decided: the snapshot is incomplete" in text([held(1)], None)
    assert headline(held(1)) == "held: the snapshot is incomplete"


def test_a_bolt_is_known_before_the_first_plan_and_told_why_there_is_none() -> None:
    waiting = record(1, {"sentiment": 2, "store": 1}, forecast=None)
    why = "Cycle 1 at 14:00:30 decided nothing: there is no forecast"
    assert text([waiting]) == f"sentiment has 2 of 8 replicas, as before the first decision in the log.\n{why}"
    assert "store has 1 of 8 replicas, as before the first decision in the log." in text([waiting], None)
    assert [found.number for found in concerned([waiting], "sentiment")] == [1]
    with pytest.raises(InvalidError, match=r"there is no bolt 'stor' in the log; did you mean 'store'\? it has sentiment, store"):
        text([waiting], "stor")


def test_before_any_bolt_is_known_every_name_is_told_why() -> None:
    why = "cycle 1 at 14:00:30, policy pa-sps\nnothing was decided: the snapshot is incomplete"
    assert text([held(1)]) == text([held(1)], "whatever") == why
    assert [found.number for found in concerned([held(1)], "sentiment")] == [1]


def test_a_change_that_only_a_decision_without_a_plan_has_met_is_told() -> None:
    shown = text([TWO[0], record(13, {"sentiment": 5, "store": 1}, forecast=None)])
    assert shown.startswith(
        "sentiment has 5 of 8 replicas, and not by a decision: 3 -> 5 by hand, before cycle 13 at 14:06:30.\nCycle 12 at"
    )
    assert shown.endswith("Cycle 13 at 14:06:30 decided nothing: there is no forecast")


def test_a_bolt_that_a_plan_leaves_out_keeps_what_it_has() -> None:
    some = record(12, {"sentiment": 2, "store": 1})
    some = replace(some, plan=replace(some.plan, bolts={"sentiment": some.plan.bolts["sentiment"]}))
    assert text([some], "store") == "store has 1 of 8 replicas, as before the first decision in the log."


def test_a_headline_is_never_longer_than_a_hundred_characters() -> None:
    acts = {f"a-bolt-with-a-name-{n}": Act(1, 2, 2, Outcome.DONE) for n in range(9)}
    shown = headline(record(12, {"sentiment": 2, "store": 1}, acts=acts))
    assert shown == "cycle 12: a-bolt-with-a-name-0 1->2, a-bolt-with-a-name-1 1->2 and 7 more (412 expected, lr)"
    assert headline(record(12, {"sentiment": 3, "store": 1})) == "cycle 12: nothing to change (412 expected, lr)"
    assert len(headline(held(1, "because " * 50))) == 100


def test_the_records_concerned_are_those_that_changed_and_confirmed_it() -> None:
    many = [*TWO, record(14, {"sentiment": 3, "store": 1}), record(15, {"sentiment": 3, "store": 1})]
    assert [found.number for found in concerned(many, "sentiment")] == [12, 15]


def test_a_replay_tells_which_plans_are_not_made_again() -> None:
    wrong = replace(TWO[1], plan=replace(TWO[1].plan, bolts={**TWO[1].plan.bolts, "sentiment": BoltPlan(3, 7, 7, 7)}))
    lines, same = replay([TWO[0], wrong, held(14)], policy_named)
    assert not same
    assert lines == [
        "cycle 13: sentiment 7, now 3",
        "1 of 2 decisions are the same when they are made again; 1 made no plan",
    ]
    assert replay(TWO, policy_named) == (["2 of 2 decisions are the same when they are made again"], True)


def test_numbers_have_the_digits_that_matter() -> None:
    assert [count(n) for n in (0, 412.0, 1234.5, 99.999, 0.00423)] == ["0", "412", "1,234.5", "100", "0.00423"]
    assert [seconds_text(s) for s in (30, 0.185, 0.0125, 0.0000042)] == ["30 s", "0.185 s", "12.5 ms", "4.2 µs"]
