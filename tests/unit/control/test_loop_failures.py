"""The loop when things go wrong: it holds, says so once, and goes on by itself."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from pasps.control.explain import explained, headline
from pasps.control.plan import BoltPlan, Plan
from pasps.control.policies import BUILT_IN, Policy
from pasps.control.situation import Situation
from pasps.errors import InvalidError
from tests.unit.control.situations import Bench, planner, planning

PA_SPS, PASPS, PRESPS = (BUILT_IN[name] for name in ("pa-sps", "pasps", "presps"))
INCOMPLETE = "the snapshot is incomplete: a live worker did not answer"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_incomplete_snapshot_holds_and_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(PRESPS, interval_seconds=1.0)
    bench.run(3)
    bench.course.complete, bench.course.rate = False, 60
    bench.run(5)
    assert bench.actuator.calls == []
    assert [(record.plan.held, record.situation, record.acts) for record in bench.records[2:]] == [(INCOMPLETE, None, {})] * 5
    assert lines(caplog) == [f"replicas stay as they are: {INCOMPLETE}"]
    bench.course.complete = True
    bench.run(1)
    assert bench.records[-1].plan.held == ""
    assert bench.actuator.calls == [({"a": 6}, frozenset())]


def test_corrections_that_hold_are_one_record_not_one_a_second() -> None:
    bench = Bench(PASPS, interval_seconds=30)
    bench.run(5)
    bench.course.complete = False
    bench.run(10)
    assert [(record.moment, record.plan.held) for record in bench.records[1:]] == [("correction", INCOMPLETE)]


def test_without_a_forecast_nothing_changes_and_one_is_asked_for_again() -> None:
    bench = Bench(PA_SPS, answer=None, interval_seconds=1.0)
    bench.run(3)
    assert [record.plan.held for record in bench.records] == ["there is no forecast"] * 2
    bench.forecasts.answer = 30.0
    bench.run(1)
    assert bench.actuator.calls == [({"a": 3}, frozenset())]


class Raising:
    """A policy that raises while `wrong` is set, each time with another text; or answers with something else."""

    def __init__(self) -> None:
        self.wrong = True
        self.answer: Any = None
        self.calls = 0

    def __call__(self, situation: Situation) -> Plan:
        self.calls += 1
        if not self.wrong:
            return planner(PRESPS)(situation)
        if self.answer is not None:
            found: Plan = self.answer
            return found
        raise ValueError(f"number {self.calls}")


def of(plan: Raising) -> Policy:
    return Policy("mine", "a test's own", lambda situation, options: plan(situation))


def test_a_policy_that_raises_holds_until_it_does_not(caplog: pytest.LogCaptureFixture) -> None:
    policy = Raising()
    bench = Bench(of(policy), interval_seconds=1.0)
    bench.course.rate = 40
    bench.run(4)
    assert [record.plan.held for record in bench.records] == [f"policy 'mine' raised ValueError: number {i}" for i in (1, 2, 3)]
    assert all(record.situation is not None for record in bench.records)
    assert len(lines(caplog)) <= 2, "not one each cycle"
    assert any(record.exc_info for record in caplog.records)
    policy.wrong = False
    bench.run(1)
    assert bench.actuator.calls == [({"a": 4}, frozenset())]


@pytest.mark.parametrize("answer", [{"a": 3}, Plan({"b": PRESPS}), 7])  # type: ignore[dict-item]
def test_a_policy_that_answers_with_nonsense_holds_too(answer: Any) -> None:
    policy = Raising()
    policy.answer = answer
    bench = Bench(of(policy), interval_seconds=1.0)
    bench.run(2)
    assert "policy 'mine' raised" in bench.records[0].plan.held
    policy.wrong = False
    bench.run(1)
    assert bench.records[-1].plan.held == ""


def test_a_plan_that_is_held_is_not_carried_out() -> None:
    policy = Raising()
    policy.answer = Plan({"a": BoltPlan(1, 5, 5, 5)}, held="it is sunday")
    bench = Bench(of(policy), interval_seconds=1.0)
    bench.run(3)
    assert [record.plan.held for record in bench.records] == ["it is sunday"] * 2
    assert bench.actuator.calls == []


def test_forecasts_that_raise_do_not_stop_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(PA_SPS, answer=InvalidError("forecast: no"), interval_seconds=1.0)
    bench.run(3)
    assert bench.actuator.calls == []
    assert [record.plan.held for record in bench.records] == ["the decision failed: InvalidError: forecast: no"] * 2
    assert len(lines(caplog)) <= 2
    bench.forecasts.answer = 30.0
    bench.run(1)
    assert bench.actuator.calls == [({"a": 3}, frozenset())]


def test_an_actuator_that_raises_does_not_stop_the_loop() -> None:
    bench = Bench(PRESPS, interval_seconds=1.0)
    bench.course.rate = 40
    bench.actuator.error = RuntimeError("no table")
    bench.run(3)
    assert [record.plan.held for record in bench.records] == ["the decision failed: RuntimeError: no table"] * 2
    bench.actuator.error = None
    bench.run(1)
    assert bench.course.active == {"a": 4}


def test_a_decision_that_is_cancelled_leaves_the_loop_able_to_decide() -> None:
    async def go() -> None:
        bench = Bench(PA_SPS, answer=30.0, interval_seconds=1.0)
        await bench.step()
        bench.forecasts.block()
        hanging = asyncio.create_task(bench.loop.decide(bench.tick() or "correction"))
        await asyncio.sleep(0)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        bench.forecasts.release()
        assert await bench.step() == "cycle"
        assert bench.actuator.calls == [({"a": 3}, frozenset())]

    asyncio.run(go())


def test_a_plan_is_not_made_of_numbers_from_before_a_slow_forecast() -> None:
    async def go() -> None:
        bench = Bench(PA_SPS, answer=1.0, interval_seconds=10)
        for _ in range(10):
            await bench.step()
        bench.forecasts.block()
        deciding = asyncio.create_task(bench.loop.decide(bench.tick() or "cycle"))
        await asyncio.sleep(0)
        bench.course.queued = 31
        for _ in range(4):
            bench.tick()
        bench.forecasts.release()
        await deciding
        situation = bench.records[-1].situation
        assert situation is not None
        assert situation.interval.ended == bench.course.uptime
        assert situation.interval.bolts["a"].queued == 31

    asyncio.run(go())


def test_what_is_held_back_meanwhile_holds_a_decision_that_waited_for_its_forecast() -> None:
    async def go() -> None:
        bench = Bench(PA_SPS, answer=60.0, interval_seconds=2)
        for _ in range(2):
            await bench.step()
        bench.forecasts.block()
        deciding = asyncio.create_task(bench.loop.decide(bench.tick() or "correction"))
        await asyncio.sleep(0)
        bench.course.complete = False
        bench.tick()
        bench.forecasts.release()
        await deciding
        assert bench.records[-1].plan.held == INCOMPLETE
        assert bench.actuator.calls == []

    asyncio.run(go())


def test_what_was_held_is_no_plan_that_scale_down_could_look_at() -> None:
    bench = Bench(PASPS, interval_seconds=30, scale_down_plans=80)
    bench.course.active["a"] = 6
    bench.run(20)
    bench.course.complete = False
    bench.run(20)
    bench.course.complete = True
    bench.run(60)
    assert bench.course.active == {"a": 6}
    bench.run(20)
    assert bench.course.active == {"a": 1}, "80 plans agree"


def test_a_worker_s_death_gives_neither_a_negative_rate_nor_a_jump() -> None:
    bench = Bench(PRESPS, interval_seconds=2.0)
    bench.run(11)
    bench.course.total -= 30
    bench.run(20)
    inputs = [record.plan.input for record in bench.records if record.plan.input is not None]
    assert all(0 <= given <= 20 for given in inputs)
    assert inputs[-1] == 20


AGAIN = "spout 's' goes on after its worker ended, and what it emits again is no new input"


@pytest.mark.parametrize("policy", [PASPS, PRESPS])
def test_what_a_spout_emits_again_after_its_worker_s_death_is_no_input_and_the_record_says_so(policy: Policy) -> None:
    bench = Bench(policy, interval_seconds=10)
    bench.run(10)
    bench.course.restarts, bench.course.total = 1, bench.course.total + 1000
    bench.run(1)
    assert bench.records[-1].plan.held == f"the input since 10.0 s is left out: {AGAIN}"
    assert headline(bench.records[-1]).startswith("held: the input since 10.0 s is left out: spout 's' goes on after its worker ended")
    bench.run(1)
    made = bench.records[-1]
    assert (made.uptime, made.plan.held) == (12.0, "")
    assert made.notes == (f"the input before 11.0 s is left out: {AGAIN}",)
    assert f"the input before 11.0 s is left out: {AGAIN}" in explained(bench.records, "a", at="12")
    bench.run(30)
    assert bench.records[-1].notes == ()
    assert bench.course.active.get("a", 1) <= 2, "the jump alone would ask for eight"
    assert {samples for asked, _, _ in bench.forecasts.asked for samples in asked} <= {10.0}


def test_who_corrects_does_not_wait_for_a_predictor_that_hangs() -> None:
    async def go() -> None:
        bench = Bench(planning(PA_SPS, corrects=True), answer=1.0, interval_seconds=5)
        for _ in range(4):
            await bench.step()
        bench.forecasts.block()
        asking = asyncio.create_task(bench.loop.refresh_forecast())
        await asyncio.sleep(0)
        decided = len(bench.records)
        for _ in range(10):
            await bench.step()
        assert [record.moment for record in bench.records[decided:]].count("cycle") == 2
        bench.forecasts.release()
        await asking

    asyncio.run(go())


def test_a_cycle_without_a_whole_snapshot_is_made_up_for_once() -> None:
    bench = Bench(PA_SPS, answer=1.0, interval_seconds=10)
    bench.run(10)
    bench.course.complete = False
    bench.run(3)
    bench.course.complete = True
    bench.run(10)
    cycles = [(record.uptime, bool(record.plan.held)) for record in bench.records]
    assert cycles == [(11.0, True), (14.0, False), (21.0, False)]
