"""What holds for every policy of ours in any situation: a plan within the pools, whose record gives it again and can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.control.decision_log import Record, read, replayed, written
from pasps.control.explain import explained, headline
from pasps.control.model import estimate
from pasps.control.plan import Plan
from pasps.control.plan_checks import check_plan, remembered
from pasps.control.policies import BUILT_IN
from pasps.control.policies.options import written as written_options
from pasps.control.policies.q_table import BUCKETS, BoltTable, QTable
from pasps.control.policies.q_table import written as written_table
from pasps.control.situation import (
    BoltInterval,
    BoltSecond,
    BoltShape,
    Estimates,
    Forecast,
    Interval,
    PolicySettings,
    ReplicaInterval,
    Second,
    Situation,
    SpoutInterval,
    TopologyShape,
    WorkerInterval,
)

EVENTS = st.integers(0, 100_000)
SECONDS = st.floats(0.0, 1000.0, allow_subnormal=False)
WORKERS = st.builds(WorkerInterval, st.sampled_from([None, "here"]), st.sampled_from([None, 1, 8]), st.one_of(st.none(), SECONDS))


@st.composite
def shapes(draw: st.DrawFn) -> TopologyShape:
    """One spout or two, and up to four bolts, each behind some of those before it."""
    spouts = ("s", "t")[: draw(st.integers(1, 2))]
    bolts: list[BoltShape] = []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        before = [*spouts, *(bolt.id for bolt in bolts)]
        sources = draw(st.lists(st.sampled_from(before), min_size=1, max_size=3, unique=True))
        waits = draw(st.booleans())
        bolts.append(BoltShape(name, draw(st.integers(1, 12)), tuple(sources), waits, draw(st.integers(1, 4)) if waits else 1))
    return TopologyShape(spouts, tuple(bolts))


def bolt_intervals(draw: st.DrawFn, bolt: BoltShape) -> BoltInterval:
    processed = draw(EVENTS)
    return BoltInterval(
        {source: draw(EVENTS) for source in bolt.sources},
        processed,
        draw(EVENTS),
        draw(st.integers(1, bolt.pool)),
        draw(SECONDS) if processed else 0.0,
        blocks=draw(st.booleans()) and not bolt.waits,
    )


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Anything that a loop may see: nothing executed yet, nothing due, a spout that only holds back, no second of history."""
    shape = draw(shapes())
    spouts = {
        name: SpoutInterval(draw(st.sampled_from([0.0, 1.0, 12_345.6])), draw(EVENTS), draw(EVENTS), draw(st.booleans()))
        for name in shape.spouts
    }
    ended = draw(st.floats(1.0, 1e6))
    interval = Interval(
        draw(st.integers(1, 99)),
        ended - draw(st.sampled_from([0.25, 1.0, 10.0, 3600.0])),
        ended,
        spouts,
        {bolt.id: bolt_intervals(draw, bolt) for bolt in shape.bolts},
        workers=draw(st.integers(1, 4)),
        cores=draw(st.integers(1, 8)),
    )
    benchmark = {bolt.id: draw(st.floats(1e-6, 10.0)) for bolt in shape.bolts if draw(st.booleans())}
    estimates = estimate(shape, interval, Estimates(), benchmark)
    workers = {f"w{number}": draw(WORKERS) for number in range(interval.workers)}
    forecast = draw(
        st.one_of(st.none(), st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(lambda each: Forecast(ended, tuple(each), "lr")))
    )
    return Situation(
        draw(st.sampled_from(["cycle", "correction"])),
        shape,
        interval,
        estimates,
        forecast,
        PolicySettings(interval_seconds=draw(st.sampled_from([1.0, 2.5, 10.0, 25.0, 30.0, 3600.0]))),
        tuple(draw(st.lists(st.floats(0, 1e6), max_size=10))),
        history=draw(histories(shape, ended)),
        replicas={bolt.id: draw(replicas(interval.workers)) for bolt in shape.bolts} if draw(st.booleans()) else {},
        workers=workers if draw(st.booleans()) else {},
    )


@st.composite
def histories(draw: st.DrawFn, shape: TopologyShape, ended: float) -> tuple[Second, ...]:
    """None, a few or many seconds, of which two alternate."""
    kinds = []
    for _ in range(2):
        bolts = {}
        for bolt in shape.bolts:
            processed = draw(EVENTS)
            spent = draw(SECONDS) if processed else 0.0
            bolts[bolt.id] = BoltSecond(
                draw(EVENTS), processed, draw(EVENTS), draw(st.integers(1, bolt.pool)), spent, None if bolt.waits else spent
            )
        kinds.append(
            (
                draw(st.floats(0.2, 3.0)),
                draw(st.floats(0, 1e6)),
                bolts,
                draw(st.dictionaries(st.sampled_from(shape.spouts), st.integers(1, 9))),
            )
        )
    count = draw(st.sampled_from([0, 1, 3, 26, 150]))
    return tuple(Second(ended - count + place + 1, *kinds[place % 2]) for place in range(count))


@st.composite
def replicas(draw: st.DrawFn, workers: int) -> Mapping[int, ReplicaInterval]:
    """Somewhere, in some state."""
    found = {}
    for index in range(draw(st.integers(0, 3))):
        worker, state = f"w{draw(st.integers(0, workers - 1))}", draw(st.sampled_from(["ACTIVE", "DRAINING", "PARKED", "LOST"]))
        found[index] = ReplicaInterval(worker, state, draw(EVENTS), draw(SECONDS), draw(st.one_of(st.none(), SECONDS)), draw(EVENTS))
    return found


def options_of(name: str, situation: Situation) -> Any:
    given: dict[str, Any] = {}
    if name == "rlearning":
        rows = {
            bolt.id: tuple("-=+"[(place + bucket) % 3] for place in range(bolt.pool)) for bucket, bolt in enumerate(situation.shape.bolts)
        }
        bolts = {bolt.id: BoltTable(bolt.pool, 1000.0, ("".join(rows[bolt.id]),) * BUCKETS) for bolt in situation.shape.bolts}
        given = {"table": written_table(QTable("any", bolts, 1, 1, 10.0))}
    policy = BUILT_IN[name]
    return policy.configured(situation.settings, given, situation.shape)


def checked(name: str, situation: Situation, options: Any) -> Plan:
    plan = BUILT_IN[name].plan(situation, options)
    shape = situation.shape
    check_plan(plan, {bolt.id for bolt in shape.bolts})
    assert plan.held or plan.bolts.keys() == {bolt.id for bolt in shape.bolts}
    for bolt in shape.bolts if not plan.held else ():
        planned = plan.bolts[bolt.id]
        assert 1 <= planned.replicas <= bolt.pool
        assert 1 <= planned.allowed <= bolt.pool
        assert planned.active == situation.interval.bolts[bolt.id].active
        assert planned.terms is not None or planned.reasons or planned.clamps or name == "static", "it says why"
    for step in plan.timetable:
        assert all(1 <= count <= next(bolt.pool for bolt in shape.bolts if bolt.id == name) for name, count in step.replicas.items())
    return plan


@pytest.mark.parametrize("name", BUILT_IN)
@settings(max_examples=40)
@given(data=st.data())
def test_any_situation_gives_a_plan_within_the_pools_that_can_be_made_again_and_told(name: str, data: st.DataObject) -> None:
    situation = data.draw(situations())
    options = options_of(name, situation)
    plan = checked(name, situation, options)
    again = replace(situation, memory=remembered(plan.memory, len(situation.shape.bolts)))
    for now in (situation, again):
        plan = checked(name, now, options)
        memory = remembered(plan.memory, len(situation.shape.bolts))
        record = Record(
            1,
            0.0,
            now.interval.ended,
            now.moment,
            name,
            now,
            replace(plan, memory=memory),
            options=written_options(options),
            history=len(now.history),
        )
        read_again = read(written(record))
        assert replayed(read_again, BUILT_IN[name]) == read_again.plan
        told = explained([read_again])
        assert f"policy {name}" in told or "nothing was decided" in told
        assert headline(read_again)
        for bolt in situation.shape.bolts if not plan.held else ():
            assert explained([read_again], bolt.id)
