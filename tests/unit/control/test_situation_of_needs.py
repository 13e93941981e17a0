"""What is gathered for a policy that asks for it: the last seconds, replicas, workers, its memory; and what records keep of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pasps.control.decision_log import Outcome, Rebuilt, Record, read, replayed, written
from pasps.control.explain import explained, replay
from pasps.control.local_forecaster import local_forecaster
from pasps.control.monitor import Machine, Monitor
from pasps.control.plan import BoltPlan, Plan, Step
from pasps.control.policies import BUILT_IN, Needs, Policy
from pasps.control.situation import BoltSecond, PolicySettings, ReplicaInterval, Second, Situation, WorkerInterval
from pasps.metrics import ReplicaStats
from tests.unit.control.situations import MACHINE, Bench, bolt, bolt_stats, shape, snapshot, spout_stats

CHAIN = shape(bolt("a", "s"))


def wanting(plan: Callable[[Situation], Plan], **needs: Any) -> Policy:
    return Policy("mine", "a test's own", lambda situation, options: plan(situation), needs=Needs(**{"warm_up": 1.0, **needs}))


def keeping(situation: Situation, **more: Any) -> Plan:
    """As many as there are."""
    active = situation.interval.bolts["a"].active
    return Plan({"a": BoltPlan(active, active, active, active)}, **more)


# ---- the last seconds


def seconds_of(uptimes: list[float], history: int = 10) -> list[tuple[float, float, float]]:
    monitor = Monitor(CHAIN, history)
    for uptime in uptimes:
        count = round(10 * uptime)
        monitor.take(snapshot(uptime, spout_stats("s", count, 0), bolt_stats("a", {"s": count}, count, 0.1)), MACHINE, 30.0)
    return [(second.ended, round(second.seconds, 6), second.due) for second in monitor.history]


def test_a_second_s_numbers_are_those_between_two_snapshots() -> None:
    monitor = Monitor(CHAIN, 10)
    for uptime, count in ((0.0, 0), (1.0, 10), (2.0, 30)):
        monitor.take(
            snapshot(uptime, spout_stats("s", count, 0), bolt_stats("a", {"s": count}, count, 0.1, queued=3, active=2)), MACHINE, 30.0
        )
    assert monitor.history[-1] == Second(2.0, 1.0, 20.0, {"a": BoltSecond(20, 20, 3, 2, 2.0, 2.0)})


def test_a_second_tells_what_is_held_back_at_its_end() -> None:
    monitor = Monitor(shape(bolt("a", "s", "t"), spouts=("s", "t")), 10)
    for uptime, held in ((0.0, 5), (1.0, 7), (2.0, 0)):
        a = bolt_stats("a", {"s": 0, "t": 0}, 0, 0.1)
        monitor.take(snapshot(uptime, spout_stats("s", 100, held), spout_stats("t", 100), a), MACHINE, 30.0)
    assert [second.backlog for second in monitor.history] == [{"s": 7}, {}]


def test_of_a_bolt_that_waits_nobody_knows_the_cpu_time() -> None:
    monitor = Monitor(shape(bolt("a", "s", waits=True)), 10)
    for uptime, count in ((0.0, 0), (1.0, 10)):
        monitor.take(snapshot(uptime, spout_stats("s", count, 0), bolt_stats("a", {"s": count}, count, 0.1)), MACHINE, 30.0)
    assert (monitor.history[-1].bolts["a"].seconds, monitor.history[-1].bolts["a"].cpu) == (1.0, None)


def test_seconds_follow_each_other_however_often_and_however_late_snapshots_are() -> None:
    assert seconds_of([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.97, 2.5, 3.0]) == [(1.0, 1.0, 10), (1.97, 0.97, 10), (3.0, 1.03, 10)]
    assert seconds_of([0.0, 1.2, 2.1, 3.0]) == [(1.2, 1.2, 12), (2.1, 0.9, 9), (3.0, 0.9, 9)]
    assert seconds_of([0.0, 1.0, 3.6, 4.0]) == [(1.0, 1.0, 10), (3.6, 2.6, 26), (4.0, 0.4, 4)]
    assert len(seconds_of([float(second) for second in range(30)])) == 10


def test_what_is_left_out_is_in_no_second() -> None:
    monitor = Monitor(CHAIN, 10)
    for uptime, count, restarts in ((0.0, 0, 0), (1.0, 10, 0), (2.0, 1000, 1), (3.0, 1010, 1)):
        spout = spout_stats("s", count, 0, restarts=restarts)
        monitor.take(snapshot(uptime, spout, bolt_stats("a", {"s": count}, count, 0.1)), MACHINE, 30.0)
    assert [(second.ended, second.due) for second in monitor.history] == [(1.0, 10.0), (3.0, 10.0)]


@pytest.mark.parametrize("name", [name for name, policy in BUILT_IN.items() if not (policy.needs.history_seconds or policy.needs.replicas)])
def test_who_asks_for_nothing_has_nothing_gathered(name: str) -> None:
    bench = Bench(BUILT_IN[name], interval_seconds=2.0)
    bench.run(6)
    found = bench.records[-1]
    assert found.situation is not None
    assert (found.history, found.situation.history, found.situation.replicas, found.situation.workers) == (0, (), {}, {})


def test_a_policy_gets_as_many_seconds_as_it_asked_for_and_a_record_has_the_new_ones() -> None:
    seen: list[tuple[float, ...]] = []

    def plan(situation: Situation) -> Plan:
        seen.append(tuple(second.ended for second in situation.history))
        return keeping(situation, memory=len(situation.history))

    bench = Bench(wanting(plan, history_seconds=5), interval_seconds=2.0)
    bench.run(11)
    assert [len(each) for each in seen] == [1, 2, 4, 5, 5, 5][: len(seen)]
    assert seen[-1] == (7.0, 8.0, 9.0, 10.0, 11.0)
    kept = [tuple(second.ended for second in record.situation.history) for record in bench.records if record.situation is not None]
    assert sum(kept, ()) == tuple(float(second) for second in range(2, 12)), "each second is written once"
    assert [record.history for record in bench.records] == [len(each) for each in seen]


def looking_back(situation: Situation) -> Plan:
    """What it plans depends on all that it sees."""
    return keeping(situation, input=sum(second.due for second in situation.history), memory=[situation.memory, "was"][:1])


LOOKING = wanting(looking_back, history_seconds=5)


def records_of(policy: Policy = LOOKING, seconds: int = 12) -> list[Record]:
    bench = Bench(policy, interval_seconds=2.0)
    bench.run(seconds)
    return [read(written(record)) for record in bench.records]


def test_a_record_that_was_read_is_made_whole_by_those_before_it_and_gives_the_same_plan() -> None:
    records, rebuilt = records_of(), Rebuilt()
    for record in records:
        whole = rebuilt.whole(record)
        assert whole is not None
        assert whole.situation is not None
        assert len(whole.situation.history) == record.history
        assert replayed(whole, LOOKING) == record.plan
    count = len(records)
    assert replay(records, lambda name: LOOKING) == ([f"{count} of {count} decisions are the same when they are made again"], True)
    assert replay(records, lambda name: LOOKING, only=4)[0] == ["1 of 1 decisions are the same when they are made again"]


def test_what_looks_back_to_seconds_that_are_not_in_the_log_is_counted_apart() -> None:
    lines, same = replay(records_of()[2:], lambda name: LOOKING)
    assert same
    assert lines[-1].endswith("; 2 look back to seconds that are not in the log")


# ---- replicas and workers


def test_replicas_and_workers_of_the_interval() -> None:
    monitor = Monitor(shape(bolt("a", "s"), bolt("b", "a", waits=True)), 0)
    machine = Machine(2, 4, hosts={"w0": "here", "w1": "there"}, host_cores={"here": 4})

    def take(uptime: float, count: int, cpu: dict[str, float]) -> None:
        replicas = {
            0: ReplicaStats(0, "w0", "ACTIVE", count, count, count, 0, 7, 0.1),
            1: ReplicaStats(1, "w1", "PARKED", 0, 0, 0, 0, 0, 0.0),
        }
        a = bolt_stats("a", {"s": count}, count, 0.1, replicas=replicas)
        b = bolt_stats("b", {"a": count}, count, 0.2)
        monitor.take(replace(snapshot(uptime, spout_stats("s", count, 0), a, b), cpu_seconds=cpu), machine, 10.0)

    take(1.0, 100, {"w0": 5.0, "w1": 9.0})
    take(2.0, 130, {"w0": 5.75, "w1": 0.25})
    found = monitor.replicas(10.0)
    did = ReplicaInterval("w0", "ACTIVE", 30, pytest.approx(3.0), pytest.approx(3.0), 7)
    assert found["a"] == {0: did, 1: ReplicaInterval("w1", "PARKED", 0, 0.0, 0.0, 0)}
    assert found["b"][0].cpu is None
    assert monitor.workers(10.0) == {"w0": WorkerInterval("here", 4, 0.75), "w1": WorkerInterval("there", None, 0.25)}, "w1 began anew"


def test_a_policy_that_needs_them_gets_them_and_the_record_keeps_them() -> None:
    bench = Bench(wanting(keeping, replicas=True), interval_seconds=2.0)
    bench.run(5)
    situation = read(written(bench.records[-1])).situation
    assert situation is not None
    assert situation.replicas["a"][0].processed == 20


# ---- memory


def test_a_plan_s_memory_comes_back_as_json_has_it_after_corrections_that_nobody_wrote_down_too() -> None:
    seen: list[Any] = []

    def plan(situation: Situation) -> Plan:
        seen.append(situation.memory)
        return keeping(situation, memory={"count": (situation.memory or {"count": [0]})["count"][0] + 1 and (len(seen),)})

    policy = wanting(plan, corrects=True)
    bench = Bench(policy, interval_seconds=5.0)
    bench.run(8)
    assert seen == [None, *({"count": [number]} for number in range(1, len(seen)))]
    assert len(bench.records) < len(seen)
    last = bench.records[-1]
    assert last.situation is not None
    assert last.situation.memory is not None


@pytest.mark.parametrize(
    ("memory", "said"), [(object(), "expected a JSON value as the plan's memory"), ("x" * 20_000, "at most 17408 bytes of JSON")]
)
def test_what_cannot_be_kept_is_refused_and_the_memory_before_it_stays(memory: Any, said: str) -> None:
    def plan(situation: Situation) -> Plan:
        return keeping(situation, memory=1 if situation.memory is None else memory)

    bench = Bench(wanting(plan), interval_seconds=1.0)
    bench.run(5)
    assert said in bench.records[-1].plan.held
    assert [record.plan.memory for record in bench.records] == [1] * len(bench.records)


# ---- what is laid down for later


def stepping(*steps: Step, again: bool = False) -> Policy:
    def plan(situation: Situation) -> Plan:
        first = situation.memory is None
        return keeping(situation, memory=1, timetable=steps if first else (), held="" if first or again else "nothing new")

    return wanting(plan)


def test_steps_of_a_timetable_are_taken_when_they_are_due() -> None:
    bench = Bench(stepping(Step(2.0, {"a": 4}), Step(5.0, {"a": 2})), interval_seconds=30.0)
    bench.run(10)
    assert bench.actuator.calls == [({"a": 4}, frozenset()), ({"a": 2}, frozenset())], "the policy has decided that keyed tasks may move"
    assert [(moment, when) for when, moment in bench.moments] == [("cycle", 2), ("timetable", 4), ("timetable", 7)]
    made = read(written(bench.records[1]))
    assert (made.moment, made.plan.changes, made.acts["a"].outcome) == ("timetable", {"a": 3}, Outcome.DONE)
    assert "a has 2 of 8 replicas since" in explained(bench.records, "a")
    assert "(timetable 3, table 3), 4 -> 2" in explained(bench.records, "a")


def test_a_newer_plan_takes_the_timetable_s_place_and_one_that_is_held_does_not() -> None:
    newer = Bench(stepping(Step(3.0, {"a": 4}), again=True), interval_seconds=2.0)
    newer.run(10)
    assert newer.actuator.calls == []
    held = Bench(stepping(Step(3.0, {"a": 4})), interval_seconds=2.0)
    held.run(10)
    assert [wanted for wanted, _ in held.actuator.calls] == [{"a": 4}]


def test_a_step_that_two_ticks_have_seen_due_is_taken_once() -> None:
    bench = Bench(stepping(Step(2.0, {"a": 1})), interval_seconds=30.0)
    bench.run(3)
    assert (bench.tick(), bench.tick(0.1)) == ("timetable", "timetable"), "before the first of them was decided"

    async def both() -> None:
        for _ in range(2):
            await bench.loop.decide("timetable")

    asyncio.run(both())
    assert [record.moment for record in bench.records] == ["cycle"], "there was nothing to do, and nothing went wrong"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((Step(0.0, {"a": 1}),), "one after another, each so many seconds after the plan"),
        ((Step(2.0, {"a": 1}), Step(1.0, {"a": 2})), "one after another"),
        ((Step(1.0, {"b": 1}),), "bolts of this topology in the timetable"),
        ((Step(1.0, {"a": 0}),), "replicas of at least 1"),
    ],
)
def test_a_timetable_that_makes_no_sense_is_refused(steps: tuple[Step, ...], said: str) -> None:
    bench = Bench(stepping(*steps), interval_seconds=1.0)
    bench.run(2)
    assert said in bench.records[0].plan.held


def test_another_way_to_reconfigure_is_refused() -> None:
    bench = Bench(wanting(lambda situation: keeping(situation, reconfigure="reboot")), interval_seconds=1.0)
    bench.run(2)
    assert "expected reconfigure to be 'pool' or 'restart', got 'reboot'" in bench.records[0].plan.held


def test_what_pasps_decides_four_times_a_second_is_made_again_from_its_records() -> None:
    settings = PolicySettings(interval_seconds=10.0, correction_seconds=0.25)
    local = local_forecaster(BUILT_IN["pasps"].needs, settings)
    bench = Bench(BUILT_IN["pasps"], shape(bolt("a", "s", waits=True)), ladder=local, interval_seconds=10.0, correction_seconds=0.25)
    for rate in (10.0, 40.0, 15.0, 60.0, 5.0) * 4:
        bench.course.rate = rate
        bench.run(12, 0.25)
    records = [read(written(record)) for record in bench.records]
    assert sum(record.moment == "correction" for record in records) > 4
    assert len(records) < 240 / 2, "what changes nothing is not written down"
    lines, same = replay(records, lambda name: BUILT_IN[name])
    assert same, lines
