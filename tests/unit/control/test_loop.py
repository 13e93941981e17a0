"""The loop when all is well: moments on time, one decision at a time, what is executed, what is written down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from pasps.control.decision_log import Act, Outcome
from pasps.control.forecaster import Forecaster
from pasps.control.plan import BoltPlan, Plan
from pasps.control.policies import BUILT_IN, Policy
from pasps.control.situation import Forecast, Situation
from tests.unit.control.situations import Bench, bolt, planner, planning, shape

PA_SPS, PASPS, PRESPS, STATIC = (BUILT_IN[name] for name in ("pa-sps", "pasps", "presps", "static"))
ALONE = PASPS.without_forecasts()
CORRECTING = planning(PA_SPS, corrects=True, warm_up=3.0)


def at(bench: Bench, moment: str) -> list[float]:
    return [when for when, what in bench.moments if what == moment]


# ---- moments


@pytest.mark.parametrize(("td", "expected"), [(1.0, [2, 3, 4, 5, 6, 7]), (1.5, [3, 4, 6, 7]), (2.0, [3, 5, 7]), (30.0, [31, 61, 91])])
def test_cycles_are_at_the_end_of_each_interval(td: float, expected: list[float]) -> None:
    bench = Bench(PA_SPS, interval_seconds=td)
    bench.run(7 if td < 30 else 100)
    assert at(bench, "cycle") == expected, "the first tick is at 1"
    assert at(bench, "correction") == []


LATE = (0.0, 0.19, 0.03, 0.4, 0.01, 0.11, 0.06, 0.0, 0.29, 0.02)
"""How late each tick of ten seconds is."""


def late_ticks(bench: Bench, seconds: int) -> None:
    async def go() -> None:
        for second in range(seconds):
            await bench.step(second + LATE[second % len(LATE)] - bench.course.uptime)

    asyncio.run(go())


@pytest.mark.parametrize("td", [1.0, 1.5, 2.0, 30.0])
def test_cycles_do_not_drift_when_ticks_are_late(td: float) -> None:
    bench = Bench(PA_SPS, interval_seconds=td)
    late_ticks(bench, 200)
    for number, when in enumerate(at(bench, "cycle"), start=1):
        assert -0.4 <= when - number * td < 1.5
    assert len(at(bench, "cycle")) == int(199.02 / td)


def test_a_correction_is_made_every_second_when_ticks_are_late() -> None:
    bench = Bench(CORRECTING, interval_seconds=30)
    late_ticks(bench, 100)
    assert [round(when - 0.2) for when, _ in bench.moments] == list(range(3, 100))
    assert [round(when - 0.2) for when in at(bench, "cycle")] == [3, 30, 60, 90]


def test_a_moment_is_not_missed_for_a_tick_that_is_early_by_a_hair() -> None:
    bench = Bench(PA_SPS, interval_seconds=2.0)
    for seconds in (0.0, 1.0, 0.99, 1.0, 1.0):
        bench.tick(seconds)
    assert at(bench, "cycle") == [1.99, 3.99]


def test_only_a_policy_that_corrects_is_asked_in_between_and_only_after_its_warm_up() -> None:
    bench = Bench(CORRECTING, interval_seconds=10)
    bench.run(14)
    assert at(bench, "cycle") == [4, 11], "the warm-up stands for the first interval"
    assert at(bench, "correction") == [5, 6, 7, 8, 9, 10, 12, 13, 14]
    without = Bench(planning(CORRECTING, warm_up=None), interval_seconds=10)
    without.run(14)
    assert without.moments[0] == (11, "cycle")


def test_corrections_have_their_own_pace() -> None:
    bench = Bench(CORRECTING, interval_seconds=30, correction_seconds=2.5)
    bench.run(20)
    assert at(bench, "correction") == [6, 9, 11, 14, 16, 19]


def test_static_takes_hold_after_the_first_second() -> None:
    bench = Bench(STATIC, interval_seconds=30, static_replicas=4)
    bench.run(2)
    assert bench.actuator.calls == [({"a": 4}, frozenset())]
    assert [record.plan.held for record in bench.records] == [""]


# ---- one at a time


def test_ticks_go_on_while_a_decision_is_under_way_and_none_begins() -> None:
    async def go() -> None:
        bench = Bench(PRESPS, interval_seconds=1.0)
        bench.course.rate = 40
        bench.actuator.gate = asyncio.Event()
        await bench.step()
        under_way = asyncio.create_task(bench.loop.decide(bench.tick() or "correction"))
        await asyncio.sleep(0)
        assert [bench.tick() for _ in range(3)] == [None, None, None]
        await bench.loop.decide("cycle")
        assert len(bench.actuator.calls) == 1
        bench.actuator.gate.set()
        await under_way
        assert await bench.step() == "cycle", "the one that was due meanwhile"
        assert bench.loop.arrived() == 40
        assert [record.uptime for record in bench.records] == [2, 6]
        assert bench.tick() == "cycle", "and on time again"

    asyncio.run(go())


def test_a_forecast_is_never_asked_for_twice_at_once() -> None:
    async def go() -> None:
        bench = Bench(PA_SPS, interval_seconds=1.0)
        await bench.step()
        bench.forecasts.block()
        asking = asyncio.create_task(bench.loop.refresh_forecast())
        await asyncio.sleep(0)
        await bench.loop.refresh_forecast()
        assert (len(bench.forecasts.asked), bench.forecasts.most_at_once) == (1, 1)
        bench.forecasts.release()
        await asking
        assert bench.loop.predicted() == 10.0

    asyncio.run(go())


def test_after_a_slow_answer_only_cycles_ask_for_a_while() -> None:
    async def go() -> None:
        bench = Bench(PA_SPS, interval_seconds=30)
        await bench.step()
        bench.forecasts.block()
        asking = asyncio.create_task(bench.loop.refresh_forecast())
        await asyncio.sleep(0)
        bench.clock.advance(3.0)
        bench.forecasts.release()
        await asking
        for _ in range(31):
            await bench.loop.refresh_forecast()
            await bench.step()
        assert [now for _, _, now in bench.forecasts.asked] == [1.0, 31.0], "the cycle's own; ten times as long is over then"
        await bench.loop.refresh_forecast()
        assert [now for _, _, now in bench.forecasts.asked][2:] == [32.0]

    asyncio.run(go())


def test_who_needs_no_forecast_asks_for_none() -> None:
    bench = Bench(PRESPS, interval_seconds=1.0)
    bench.run(3)
    asyncio.run(bench.loop.refresh_forecast())
    assert (bench.forecasts.asked, bench.loop.predicted()) == ([], 10.0), "what it plans for is what it expects"
    assert all(record.situation is not None and record.situation.forecast is None for record in bench.records)


def test_a_forecast_is_of_the_samples_so_far_and_covers_the_interval() -> None:
    bench = Bench(PA_SPS, interval_seconds=2.5)
    bench.run(4)
    assert bench.forecasts.asked == [((10.0,) * 3, 2.5, 4.0)]


class Rising:
    """Predicts 1, 2, 3, ... for the seconds to come, once `gate` is open."""

    least_samples = None

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def predict(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        await self.gate.wait()
        return tuple(float(second) for second in range(1, horizon + 1))


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_forecast_that_comes_as_late_as_it_may_still_covers_the_interval_from_then_on(late: int) -> None:
    async def go() -> float | None:
        rising = Rising()
        bench = Bench(PA_SPS, ladder=Forecaster(rising, "rising", 2.0), interval_seconds=4.0)
        for _ in range(4):
            await bench.step()
        deciding = asyncio.create_task(bench.loop.decide(bench.tick() or "correction"))
        await asyncio.sleep(0)
        for _ in range(late):
            bench.tick()
        rising.gate.set()
        await deciding
        return bench.records[-1].plan.input

    assert asyncio.run(go()) == pytest.approx(sum(range(late + 1, late + 5)))


# ---- what is done


def test_a_plan_is_carried_out_in_one_call_and_written_down_with_what_led_to_it() -> None:
    bench = Bench(PA_SPS, of=shape(bolt("a", "s", pool=4)), answer=60.0, interval_seconds=2.0)
    bench.run(3)
    assert bench.actuator.calls == [({"a": 4}, frozenset())]
    (record,) = bench.records
    assert (record.number, record.uptime, record.moment, record.policy, record.version) == (1, 3.0, "cycle", "pa-sps", 2)
    assert record.time == bench.clock.wall()
    assert record.situation is not None
    assert (record.situation.interval.began, record.situation.interval.ended) == (1.0, 3.0)
    assert record.plan.bolts["a"].asked == 6
    assert record.acts == {"a": Act(1, 4, 4, Outcome.DONE)}
    assert bench.loop.last is record


def test_every_cycle_is_written_down_but_of_corrections_only_those_that_did_something() -> None:
    bench = Bench(ALONE, of=shape(bolt("a", "s", waits=True)), interval_seconds=10)
    bench.run(6)
    assert [record.moment for record in bench.records] == ["cycle"]
    bench.course.rate = 40
    bench.run(8)
    assert [(record.number, record.moment) for record in bench.records] == [(1, "cycle"), (2, "correction"), (3, "cycle")]


def test_a_change_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Bench(PA_SPS, answer=30.0, interval_seconds=1.0).run(4)
    assert [record.getMessage() for record in caplog.records] == ["bolt a: 1 -> 3 active, table 2, cycle 1"]


def test_a_bolt_set_by_hand_is_planned_for_and_left_alone() -> None:
    bench = Bench(ALONE, of=shape(bolt("a", "s", waits=True)), interval_seconds=10)
    bench.loop.held["a"] = 1
    bench.course.rate = 70
    bench.run(20)
    assert bench.actuator.calls == []
    assert all(record.moment == "cycle" for record in bench.records), "nothing was done in between"
    assert bench.records[0].acts == {"a": Act(1, 8, 1, Outcome.HELD)}
    del bench.loop.held["a"]
    bench.run(1)
    assert bench.actuator.calls == [({"a": 8}, frozenset())]


def kept(moment: str, replicas: int, terms: bool, **numbers: float) -> Policy:
    """A policy that always plans this for `a`."""

    def plan(situation: Situation) -> Plan:
        found = planner(PA_SPS)(situation).bolts["a"]
        return Plan({"a": BoltPlan(found.active, replicas, replicas, replicas, found.terms if terms else None)})

    return planning(CORRECTING, plan=plan)


@pytest.mark.parametrize(("rate", "stays"), [(5.0, True), (40.0, False)])
def test_within_an_interval_only_a_bolt_that_never_rests_may_take_tasks_across_workers(rate: float, stays: bool) -> None:
    """One replica of 0.1 s carries ten a second."""
    bench = Bench(kept("correction", 3, True), answer=rate, interval_seconds=10)
    bench.run(4)
    bench.actuator.calls.clear()
    bench.course.active["a"] = 1
    bench.run(1)
    assert bench.actuator.calls == [({"a": 3}, frozenset({"a"} if stays else ()))]


def test_at_the_end_of_an_interval_every_bolt_may_and_to_scale_down_is_never_urgent() -> None:
    bench = Bench(kept("correction", 2, True), answer=100.0, interval_seconds=10)
    bench.course.active["a"] = 5
    bench.run(5)
    assert bench.actuator.calls == [({"a": 2}, frozenset())]
    bench.course.active["a"] = 5
    bench.run(1)
    assert bench.actuator.calls[1:] == [({"a": 2}, frozenset({"a"}))]


def test_a_queue_makes_a_bolt_saturated_whatever_the_target() -> None:
    bench = Bench(PASPS, of=shape(bolt("a", "s", waits=True)), answer=1.0, interval_seconds=100, target_utilisation=0.5)
    bench.course.rate = 1
    bench.run(5)
    bench.course.queued = 13
    bench.run(1)
    assert bench.actuator.calls == [({"a": 5}, frozenset())], "1.3 seconds' work is more than one can do in a quarter of one"


def test_what_is_postponed_is_said_once_not_every_second() -> None:
    bench = Bench(ALONE, of=shape(bolt("a", "s", waits=True, keyed=True)), interval_seconds=30, target_utilisation=0.5)
    bench.course.rate = 4
    bench.run(5)
    bench.actuator.postpones.add("a")
    bench.course.rate = 8.5
    bench.run(20)
    assert [record.moment for record in bench.records] == ["cycle", "correction"]
    assert [act.outcome for act in bench.records[1].acts.values()] == [Outcome.POSTPONED]
    assert len(bench.actuator.calls) >= 8, "it is tried all the same"


def test_notes_say_what_is_wrong_with_the_numbers() -> None:
    bench = Bench(PA_SPS, interval_seconds=1.0)
    bench.run(2)
    assert bench.records[0].notes == ()
    bench.forecasts.answer = Forecast(0.0, (10.0,), "basic", "basic", "the predictor did not answer")
    bench.course.backlog = None
    bench.run(12)
    bench.course.held_back = 1
    bench.run(1)
    assert bench.records[-1].notes == (
        "the input is a lower bound: a spout was held back and does not tell its backlog",
        "forecast: basic, the predictor did not answer",
    )


def test_execution_times_that_are_not_chased_are_a_note() -> None:
    bench = Bench(PRESPS, interval_seconds=1.0)
    bench.run(2)
    bench.course.active["a"], bench.course.et = 4, 0.3
    bench.course.crowded = True
    bench.run(1)
    (note,) = bench.records[-1].notes
    assert note.startswith("a: oversubscribed: ")


# ---- at once


def test_a_hurried_tick_is_a_correction_and_the_pace_goes_on() -> None:
    bench = Bench(CORRECTING, interval_seconds=30, correction_seconds=5.0)
    bench.run(6)
    assert bench.moments == [(4, "cycle"), (6, "correction")]
    bench.loop.hurry()
    bench.run(6)
    assert bench.moments[2:] == [(7, "correction"), (11, "correction")]


def test_who_does_not_correct_or_has_not_seen_enough_is_not_hurried() -> None:
    cycles = Bench(PA_SPS, interval_seconds=5)
    cycles.run(3)
    cycles.loop.hurry()
    cycles.run(2)
    assert cycles.moments == []
    early = Bench(CORRECTING, interval_seconds=30)
    early.loop.hurry()
    early.run(2)
    early.loop.hurry()
    early.run(1)
    assert early.moments == []


def test_however_often_it_corrects_a_forecast_is_asked_for_once_a_second() -> None:
    async def go() -> None:
        bench = Bench(CORRECTING, interval_seconds=30, correction_seconds=0.25)
        for _ in range(80):
            await bench.loop.refresh_forecast()
            await bench.step(0.25)
        assert 17 <= len(bench.forecasts.asked) <= 21

    asyncio.run(go())
