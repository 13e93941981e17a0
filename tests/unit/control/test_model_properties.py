"""What holds for any topology: several spouts, splits, filters, joins, and whatever the counters say."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.control.capacity import within_the_cores
from pasps.control.decision_log import Act, Outcome, Record, read, replayed, written
from pasps.control.model import Reading, estimate, queues, terms
from pasps.control.plan import Clamp, Plan
from pasps.control.policies import BUILT_IN
from pasps.control.situation import (
    BoltInterval,
    BoltShape,
    Estimates,
    ExecutionTime,
    Forecast,
    Interval,
    PolicySettings,
    Situation,
    SpoutInterval,
    TopologyShape,
)
from tests.unit.control.situations import planner

MANY = settings(max_examples=60, deadline=None)
POLICIES = pytest.mark.parametrize("name", BUILT_IN)
LOOKS_ELSEWHERE = {"static", "incremental", "threshold"}
"""They need not know what an event takes."""
SPOUTS = ("s0", "s1", "s2")


class Draw(Random):
    """Numbers as they come in counters: often nothing, sometimes much."""

    def count(self) -> int:
        return self.choice([0, 0, 1, self.randrange(10), self.randrange(1000), self.randrange(100_000)])

    def amount(self, most: float) -> float:
        return self.choice([0.0, self.uniform(0, most / 1000), self.uniform(0, most)])

    def one_of(self, *values: Any) -> Any:
        return self.choice(values)


def made_shape(draw: Draw) -> TopologyShape:
    """Each bolt takes from some of the components before it: splits and joins come by themselves."""
    before = list(SPOUTS[: draw.randint(1, 3)])
    spouts, bolts = tuple(before), []
    for index in range(draw.randint(1, 6)):
        sources = tuple(draw.sample(before, min(len(before), draw.randint(1, 3))))
        waits = draw.one_of(True, False)
        concurrency = draw.randint(1, 4) if waits else 1
        bolts.append(BoltShape(f"b{index}", draw.randint(1, 8), sources, waits, concurrency, draw.one_of(True, False)))
        before.append(f"b{index}")
    return TopologyShape(spouts, tuple(bolts))


def made_interval(draw: Draw, of: TopologyShape) -> Interval:
    spouts = {name: SpoutInterval(float(draw.count()), draw.count(), draw.count(), draw.one_of(True, False)) for name in of.spouts}
    bolts = {}
    for bolt in of.bolts:
        received = {source: draw.count() for source in bolt.sources}
        replicas = {index: (draw.count(), draw.amount(100)) for index in range(draw.randint(0, 2))}
        bolts[bolt.id] = BoltInterval(received, draw.count(), draw.count(), draw.randint(1, bolt.pool), draw.amount(1000), replicas)
    cores, workers, busy = draw.randint(1, 4), draw.randint(1, 4), draw.one_of(None, 0.5, 0.95)
    return Interval(draw.randint(1, 99), 70.0, draw.one_of(71.0, 80.5, 100.0), spouts, bolts, (3, 4), workers, cores, busy)


def made_situation(seed: int) -> Situation:
    """After three intervals, so that something was learned that the last one may not tell."""
    draw = Draw(seed)
    of = made_shape(draw)
    benchmark = {bolt.id: draw.uniform(1e-6, 1.0) for bolt in of.bolts if draw.random() < 0.3}
    known = Estimates()
    for _ in range(3):
        last = made_interval(draw, of)
        known = estimate(of, last, known, benchmark)
    plan = PolicySettings(
        draw.one_of(1.0, 10.5, 30.0),
        draw.one_of(0.5, 1.0),
        draw.one_of("paper", "edge", None),
        draw.one_of(0.5, 1.0, None),
        draw.one_of(1, 3, None),
        draw.one_of(0.5, None),
        draw.one_of(1, 8, None),
    )
    rate = draw.one_of(1.0, 1e3, 1e6)
    forecast = Forecast(draw.uniform(60, 101), tuple(draw.amount(rate) for _ in range(draw.randint(0, 30))), "lr")
    arrivals = tuple(draw.amount(rate) for _ in range(draw.randint(0, 10)))
    recent = tuple({bolt.id: draw.randint(1, bolt.pool) for bolt in of.bolts} for _ in range(draw.randint(0, 10)))
    moment, ahead = draw.one_of("cycle", "correction"), draw.one_of(forecast, forecast, None)
    return Situation(moment, of, last, known, ahead, plan, arrivals, recent)


SITUATIONS = st.integers(0, 2**64).map(made_situation)


def with_more_input(now: Situation, factor: float) -> Situation:
    """The same, but that more comes and more came."""
    forecast, interval = now.forecast, now.interval
    more = None if forecast is None else replace(forecast, predictions=tuple(value * factor for value in forecast.predictions))
    spouts = {name: replace(spout, due=spout.due * factor) for name, spout in interval.spouts.items()}
    arrivals = tuple(value * factor for value in now.arrivals)
    return replace(now, forecast=more, arrivals=arrivals, interval=replace(interval, spouts=spouts))


@MANY
@given(SITUATIONS, st.sampled_from(["paper", "edge", "own"]), st.floats(0, 1e6))
def test_terms_are_finite_and_not_negative(now: Situation, share: Any, events: float) -> None:
    found = terms(now, events, Reading(now.settings.interval_seconds, share))
    assert list(found) == [bolt.id for bolt in now.shape.bolts]
    for needs in found.values():
        numbers = (needs.share, needs.from_input, needs.from_queues, needs.total, needs.execution_seconds or 0.0, needs.replicas or 0.0)
        assert all(math.isfinite(number) and number >= 0 for number in numbers)


@MANY
@given(SITUATIONS)
def test_each_bolt_follows_from_those_before_it(now: Situation) -> None:
    """Equations 5 and 7 hold as they are written, whatever the order in which they were worked out."""
    known, waiting = now.estimates, queues(now, "edge")
    for bolt in now.shape.bolts:
        edges = known.selectivity[bolt.id]
        assert known.share[bolt.id] == pytest.approx(sum(edges[source] * known.share[source] for source in bolt.sources))
        before = sum(edges[source] * waiting[source] for source in bolt.sources)
        assert waiting[bolt.id] == pytest.approx(now.interval.bolts[bolt.id].queued + before)
    assert sum(known.share[spout] for spout in now.shape.spouts) == pytest.approx(1.0)


@MANY
@given(SITUATIONS)
def test_a_chain_of_equations_agrees_with_the_sum_over_all_paths(now: Situation) -> None:
    """Eq. 5 is a recursion; a bolt's share is also the sum, over every path from a spout, of the product along it."""
    known = now.estimates
    sources = {bolt.id: bolt.sources for bolt in now.shape.bolts}

    def over_paths(name: str) -> float:
        if name not in sources:
            return known.share[name]
        return sum(known.selectivity[name][source] * over_paths(source) for source in sources[name])

    for bolt in now.shape.bolts:
        assert known.share[bolt.id] == pytest.approx(over_paths(bolt.id))


@POLICIES
@MANY
@given(now=SITUATIONS)
def test_a_plan_keeps_within_the_pools_and_leaves_alone_what_nobody_knows(name: str, now: Situation) -> None:
    plan = planner(BUILT_IN[name])(now)
    if plan.held:
        assert not plan.bolts
        return
    assert list(plan.bolts) == [bolt.id for bolt in now.shape.bolts]
    for bolt in now.shape.bolts:
        found, active = plan.bolts[bolt.id], now.interval.bolts[bolt.id].active
        assert 1 <= found.allowed <= bolt.pool
        assert found.allowed <= found.replicas <= bolt.pool
        assert (found.active, found.unmet >= 0) == (active, True)
        if now.estimates.execution[bolt.id].seconds is None and name not in LOOKS_ELSEWHERE:
            assert found.replicas == active


@POLICIES
@MANY
@given(now=SITUATIONS, factor=st.floats(1, 100))
def test_more_input_never_plans_fewer_replicas(name: str, now: Situation, factor: float) -> None:
    less, more = planner(BUILT_IN[name])(now), planner(BUILT_IN[name])(with_more_input(now, factor))
    if any(Clamp.CAPPED in bolt.clamps for bolt in more.bolts.values()):
        return  # who gets which part of the cores may change
    assert all(more.replicas[bolt] >= count for bolt, count in less.replicas.items())


@MANY
@given(SITUATIONS)
def test_what_the_cores_leave_is_never_more_than_was_asked_for_and_at_most_a_replica_too_many(now: Situation) -> None:
    asked = planner(BUILT_IN["presps"])(now)
    found = within_the_cores(now, asked)
    computing = [bolt.id for bolt in now.shape.bolts if not bolt.waits and Clamp.UNKNOWN not in asked.bolts[bolt.id].clamps]
    assert all(bolt.allowed <= asked.bolts[name].allowed for name, bolt in found.bolts.items())
    target = now.settings.target_utilisation or 1.0
    if any(Clamp.CAPPED in found.bolts[name].clamps for name in computing):
        most = min(now.interval.cores, now.interval.workers) / target + len(computing)
        assert sum(found.bolts[name].allowed for name in computing) <= most
    assert all(found.bolts[bolt.id] == asked.bolts[bolt.id] for bolt in now.shape.bolts if bolt.waits)


@POLICIES
@MANY
@given(now=SITUATIONS)
def test_a_record_that_was_written_and_read_gives_the_same_plan(name: str, now: Situation) -> None:
    plan = planner(BUILT_IN[name])(now)
    record = Record(1, 1.5, 2.5, now.moment, name, now, plan, {"b0": Act(1, 2, 1, Outcome.FAILED, "no")}, 3, ("note",))
    back = read(written(record))
    assert back == record
    assert replayed(back, BUILT_IN[name]) == plan


@MANY
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.floats(0, 50), st.floats(0, 60))
def test_a_forecast_s_parts_add_up(predictions: list[float], begin: float, seconds: float) -> None:
    ahead = Forecast(100.0, tuple(predictions), "lr")
    half = seconds / 2
    whole = ahead.total(100.0 + begin, half) + ahead.total(100.0 + begin + half, half)
    assert ahead.total(100.0 + begin, seconds) == pytest.approx(whole, rel=1e-6, abs=1e-3)
    assert ahead.total(100.0, float(len(predictions))) == pytest.approx(sum(predictions))


def test_a_forecast_of_nothing_is_nothing() -> None:
    assert Forecast(100.0, (), "lr").total(100.0, 30.0) == 0.0
    assert planner(BUILT_IN["pa-sps"])(example()).held == "there is no forecast"
    assert isinstance(planner(BUILT_IN["pasps"])(example()), Plan)


def example() -> Situation:
    of = TopologyShape(("s",), (BoltShape("b0", 2, ("s",)),))
    now = Interval(1, 0.0, 1.0, {"s": SpoutInterval(0.0, 0)}, {"b0": BoltInterval({"s": 0}, 0, 0, 1)})
    return Situation("cycle", of, now, Estimates({"b0": {"s": 1.0}}, {"s": 1.0, "b0": 1.0}, {"b0": ExecutionTime(None, "unknown")}), None)
