"""Plans that are carried out by starting all workers anew: who says so, what is written down, and what the loop does after it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from pasps.control.decision_log import Outcome, Record, Restarted, read, replayed, written
from pasps.control.explain import explained, headline
from pasps.control.explain_terms import restart_text
from pasps.control.plan import BoltPlan, Plan, Reconfigure, Step
from pasps.control.policies import Needs, Policy
from pasps.control.settings import ElasticSettings, RestartSettings
from pasps.control.situation import Situation
from pasps.errors import ConfigError
from tests.unit.control.situations import Bench, bolt, shape

TOOK = Restarted(30.0, 8.5, replayed=12, dropped=40)


def policy(plan: Callable[[Situation], Plan], **needs: Any) -> Policy:
    return Policy("mine", "a test's own", lambda situation, options: plan(situation), needs=Needs(**{"warm_up": 1.0, **needs}))


def setting(count: int, reconfigure: Reconfigure = "pool", **more: Any) -> Policy:
    """Bolt `a` is to have so many, whatever it has."""

    def plan(situation: Situation) -> Plan:
        active = situation.interval.bolts["a"].active
        return Plan({"a": BoltPlan(active, count, count, count)}, reconfigure=reconfigure)

    return policy(plan, **more)


# ---- who says how


@pytest.mark.parametrize("said", [None, "pool", "restart"])
@pytest.mark.parametrize("planned", ["pool", "restart"])
def test_the_configuration_says_how_plans_are_carried_out_and_else_the_plan_itself(said: Reconfigure | None, planned: Reconfigure) -> None:
    bench = Bench(setting(4, planned), interval_seconds=1.0, reconfigure=said)
    bench.run(3)
    by_restart = (said or planned) == "restart"
    assert bench.actuator.restarts == ([{"a": 4}] if by_restart else [])
    assert [wanted for wanted, _ in bench.actuator.calls] == ([] if by_restart else [{"a": 4}])


def test_the_key_is_null_pool_or_restart() -> None:
    assert ElasticSettings.from_config({}).plan.reconfigure is None
    assert ElasticSettings.from_config({"pasps.reconfigure": "restart"}).plan.reconfigure == "restart"
    with pytest.raises(ConfigError, match="'pool' or 'restart', or null"):
        ElasticSettings.from_config({"pasps.reconfigure": "reboot"})


@pytest.mark.parametrize(
    ("conf", "settings"),
    [
        ({}, RestartSettings(30.0, 0.0)),
        ({"topology.message.timeout.secs": 5}, RestartSettings(5.0, 0.0)),
        ({"topology.message.timeout.secs": 5, "pasps.restart.wait.secs": 0}, RestartSettings(0.0, 0.0)),
        ({"pasps.restart.wait.secs": 2.5, "pasps.restart.silence.secs": 9}, RestartSettings(2.5, 9.0)),
    ],
)
def test_storm_s_wait_is_the_time_out_and_the_silence_our_own(conf: dict[str, Any], settings: RestartSettings) -> None:
    assert RestartSettings.from_config(conf) == settings


@pytest.mark.parametrize("key", ["pasps.restart.wait.secs", "pasps.restart.silence.secs"])
def test_no_time_is_less_than_nothing(key: str) -> None:
    with pytest.raises(ConfigError, match="at least 0"):
        RestartSettings.from_config({key: -1})


# ---- what is written down


def first_of(bench: Bench) -> Record:
    return read(written(bench.records[0]))


def test_the_record_says_what_it_took_and_what_it_cost() -> None:
    bench = Bench(setting(4, "restart"), interval_seconds=1.0)
    bench.run(3)
    made = first_of(bench)
    assert made.restart == TOOK
    assert (made.acts["a"].outcome, made.acts["a"].after, made.version) == (Outcome.DONE, 4, 2)
    assert headline(made) == "cycle 1 by restart: a 1->4"
    shown = explained(bench.records, "a")
    assert "(cycle 1 by restart, table 2), 1 -> 4" in shown
    assert "all workers were started anew: the spouts were silent for 30 s before, and then for 8.5 s; 12 events were in flight" in shown


def test_a_decision_by_restart_is_made_again_from_its_record() -> None:
    mine = setting(4)
    bench = Bench(mine, interval_seconds=1.0, reconfigure="restart")
    bench.run(6)
    assert first_of(bench).plan.reconfigure == "pool", "the plan is the policy's, whoever carries it out otherwise"
    assert all(replayed(record, mine) == record.plan for record in map(read, map(written, bench.records)))


def test_records_of_before_there_were_restarts_are_read() -> None:
    bench = Bench(setting(4), interval_seconds=1.0)
    bench.run(3)
    text = written(bench.records[0]).decode()
    for said in (',"restart":null', ',"reconfigure":null'):
        assert text.count(said) == 1
        text = text.replace(said, "")
    assert read(text) == bench.records[0]


@pytest.mark.parametrize(
    ("took", "said"),
    [
        (Restarted(0.0, 1.25), "all workers were started anew: the spouts were silent for 0 µs before, and then for 1.25 s"),
        (Restarted(0.0, 1.25, replayed=1200, dropped=3000), "; 1,200 events were in flight and come again"),
        (Restarted(0.0, 1.25, dropped=3000), "; 3,000 tuples were under way, untracked, and are lost"),
    ],
)
def test_what_was_under_way_comes_again_or_is_lost(took: Restarted, said: str) -> None:
    assert restart_text(took).endswith(said)


def test_what_was_called_off_is_in_the_record_with_its_reason() -> None:
    bench = Bench(setting(4, "restart"), interval_seconds=1.0)
    bench.actuator.called_off = "the topology is drained"
    bench.run(2)
    made = first_of(bench)
    assert (made.restart, made.acts["a"].outcome, made.acts["a"].error) == (None, Outcome.FAILED, "the topology is drained")
    assert "1 -> 4 failed, it has 1: the topology is drained" in explained(bench.records, "a")


# ---- what is restarted for


def test_a_plan_that_changes_nothing_restarts_nothing() -> None:
    bench = Bench(setting(1, "restart"), interval_seconds=1.0)
    bench.run(5)
    assert (bench.actuator.restarts, bench.actuator.calls) == ([], [])
    assert [record.restart for record in bench.records] == [None] * len(bench.records)


def test_what_was_set_by_hand_is_no_reason_for_a_restart() -> None:
    def plan(situation: Situation) -> Plan:
        bolts = situation.interval.bolts
        return Plan({name: BoltPlan(bolts[name].active, 3, 3, 3) for name in bolts}, reconfigure="restart")

    bench = Bench(policy(plan), interval_seconds=1.0)
    bench.loop.held["a"] = 1
    bench.run(3)
    assert bench.actuator.restarts == []
    assert first_of(bench).acts["a"].outcome is Outcome.HELD


def test_no_more_replicas_than_the_pool_has() -> None:
    bench = Bench(setting(40, "restart"), shape(bolt("a", "s", pool=8)), interval_seconds=1.0)
    bench.run(2)
    assert bench.actuator.restarts == [{"a": 8}]


def test_steps_of_a_timetable_are_carried_out_as_the_plan_that_they_are_part_of() -> None:
    def plan(situation: Situation) -> Plan:
        active = situation.interval.bolts["a"].active
        first = situation.memory is None
        steps = (Step(2.0, {"a": 4}),) if first else ()
        kept = {"a": BoltPlan(active, active, active, active)}
        return Plan(kept, memory=1, timetable=steps, held="" if first else "nothing new", reconfigure="restart")

    bench = Bench(policy(plan), interval_seconds=30.0)
    bench.run(6)
    assert bench.actuator.restarts == [{"a": 4}]
    assert [(record.moment, record.restart) for record in bench.records][:2] == [("cycle", None), ("timetable", TOOK)]


# ---- what the loop does after it


@pytest.mark.parametrize(("warm_up", "pause"), [(1.0, 2.0), (3.0, 4.0), (None, 11.0)])
def test_after_a_restart_a_policy_sees_first_as_much_as_at_the_start(warm_up: float | None, pause: float) -> None:
    """All that is measured is of a topology whose bolts and queues were other ones; a plan of a moment of the new ones would be none."""
    counts = iter(range(2, 100))

    def plan(situation: Situation) -> Plan:
        active, count = situation.interval.bolts["a"].active, next(counts)
        return Plan({"a": BoltPlan(active, count, count, count)}, reconfigure="restart")

    bench = Bench(policy(plan, warm_up=warm_up, corrects=True), interval_seconds=10.0, correction_seconds=1.0)
    for _ in range(40):
        bench.run(1)
        bench.course.restarts = len(bench.actuator.restarts)
    decided = [record.uptime for record in bench.records if record.restart is not None]
    assert len(decided) > 2
    assert {later - earlier for earlier, later in pairwise(decided)} == {pause}
    assert not any(record.plan.held for record in bench.records), "nobody had to decide from what is left out"


def test_what_was_not_carried_out_changes_no_pace() -> None:
    bench = Bench(setting(4, "restart"), interval_seconds=2.0)
    bench.actuator.called_off = "a restart is under way"
    bench.run(9)
    assert [when for when, _ in bench.moments] == [2.0, 3.0, 5.0, 7.0, 9.0]
