"""PA-SPS: Eq. 2 to 7 and Algorithm 2, once an interval."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pasps.control.coarse_samples import CoarseSamples
from pasps.control.decision_log import Record
from pasps.control.forecaster import Forecaster
from pasps.control.plan import Clamp, Plan
from pasps.control.policies.options import NoOptions, model_of
from pasps.control.policies.pa_sps import POLICY, Options
from pasps.control.situation import BoltInterval, BoltSecond, PolicySettings, Second, Situation, TopologyShape
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.run import Order, simulate
from tests.unit.control.situations import bolt, did, due, forecast, interval, known, planner, shape, situation
from tests.unit.simulation.graphs import bolt as bolt_of
from tests.unit.simulation.graphs import graph

plan = planner(POLICY)

THREE = shape(bolt("a", "s"), bolt("b", "a"), bolt("c", "b"))
TIMES = {"a": 0.2, "b": 0.1, "c": 0.4}


def deciding(*predictions: float, of: TopologyShape = THREE, seconds: float = 1.0, **bolts: BoltInterval) -> Situation:
    """At the end of a quiet interval; et 200, 100 and 400 ms."""
    now = interval({"s": due(10)}, {b.id: bolts.get(b.id, did()) for b in of.bolts}, seconds=seconds)
    return situation(of, now, known(of, {b.id: TIMES[b.id] for b in of.bolts}), forecast(*predictions))


def test_the_paper_s_example_exactly() -> None:
    found = plan(deciding(10.0))
    assert (found.replicas, found.input) == ({"a": 2, "b": 1, "c": 4}, 10.0)


def test_algorithm_2_activates_and_deactivates_the_difference() -> None:
    found = plan(deciding(10.0, a=did(active=1), b=did(active=1), c=did(active=7)))
    assert found.changes == {"a": 1, "c": -3}


def test_the_input_is_the_sum_of_the_predictions_over_the_interval() -> None:
    assert plan(deciding(10.0, 20.0, 30.0, seconds=3.0)).input == 60.0
    assert plan(deciding(10.0, 20.0, seconds=1.5)).input == 20.0


def test_an_older_forecast_is_read_from_where_it_is_now() -> None:
    late = situation(THREE, deciding(1.0).interval, known(THREE, TIMES), forecast(1.0, 2.0, 4.0, made_at=98.0))
    assert plan(late).input == 4.0
    beyond = situation(THREE, deciding(1.0).interval, known(THREE, TIMES), forecast(1.0, 2.0, 6.0, made_at=90.0))
    assert plan(beyond).input == 3.0, "what lies beyond the predictions is as their mean"


def test_a_need_above_the_pool_is_clamped_and_said() -> None:
    needs = plan(deciding(100.0)).bolts["c"]
    assert (needs.asked, needs.allowed, needs.replicas, needs.clamps) == (40, 8, 8, (Clamp.AT_POOL,))


def test_no_input_leaves_one_replica() -> None:
    assert plan(deciding(0.0, a=did(active=5))).replicas == {"a": 1, "b": 1, "c": 1}


def test_queues_are_added_as_equation_7_is_printed_unless_it_is_to_be_by_edge() -> None:
    of = shape(bolt("a", "s"), bolt("b", "a"))
    now = interval({"s": due(10, backlog=5)}, {"a": did(queued=10), "b": did()}, seconds=1.0)
    estimates = known(of, {"a": 0.1, "b": 0.1}, {"a": {"s": 1.0}, "b": {"a": 0.5}})
    as_printed = plan(situation(of, now, estimates, forecast(0.0)))
    by_edge = plan(situation(of, now, estimates, forecast(0.0), queue_share="edge"))
    assert [as_printed.bolts[name].terms.from_queues for name in "ab"] == [15.0, 15.0]  # type: ignore[union-attr]
    assert [by_edge.bolts[name].terms.from_queues for name in "ab"] == [15.0, 7.5]  # type: ignore[union-attr]


def test_guards_are_off_unless_set() -> None:
    now = deciding(10.0, a=did(active=8))
    assert plan(now).replicas["a"] == 2
    spacious = situation(now.shape, now.interval, now.estimates, now.forecast, target_utilisation=0.5)
    assert plan(spacious).replicas == {"a": 4, "b": 2, "c": 8}


def test_a_drain_time_weighs_the_queues_more() -> None:
    now = deciding(*[10.0] * 10, seconds=10.0, a=did(queued=20))
    assert plan(now).replicas["a"] == 3
    quick = situation(now.shape, now.interval, now.estimates, now.forecast, drain_seconds=1.0)
    assert plan(quick).replicas["a"] == 2 + 4


def test_without_a_forecast_nothing_changes() -> None:
    now = deciding(1.0)
    assert plan(situation(now.shape, now.interval, now.estimates)) == Plan({}, held="there is no forecast")


def test_a_bolt_without_an_execution_yet_keeps_its_replicas() -> None:
    now = deciding(10.0, b=did(active=3))
    found = plan(situation(THREE, now.interval, known(THREE, {**TIMES, "b": None}), now.forecast))
    assert (found.replicas, found.bolts["b"].clamps) == ({"a": 2, "b": 3, "c": 4}, (Clamp.UNKNOWN,))


def test_what_the_loop_needs_to_know() -> None:
    assert (POLICY.forecasts, POLICY.corrects, POLICY.warm_up_seconds) == (True, False, None)


@pytest.mark.parametrize("moment", ["cycle", "correction"])
def test_every_bolt_gets_its_terms(moment: str) -> None:
    now = deciding(10.0)
    found = plan(situation(now.shape, now.interval, now.estimates, now.forecast, moment=moment))
    assert all(bolt.terms is not None and bolt.terms.seconds == 1.0 for bolt in found.bolts.values())


# ---- as the published controller has it


def published(seconds: list[tuple[int, float]], memory: object = None, live: float | None = 0.1) -> Plan:
    """After seconds in each of which `a` finished so much in so many seconds."""
    of = shape(bolt("a", "s", waits=True))
    history = tuple(
        Second(float(number), 1.0, 10.0, {"a": BoltSecond(done, done, 0, 1, spent)}) for number, (done, spent) in enumerate(seconds, 1)
    )
    now = interval({"s": due(10)}, {"a": did()}, seconds=1.0)
    seen = situation(of, now, known(of, {"a": live}), forecast(30.0))
    return POLICY.plan(replace(seen, history=history, memory=memory), Options(published=True))


@pytest.mark.parametrize(("name", "meant"), [("fft", "fft-published"), ("ann", "ann-published"), ("lr", "lr"), ("auto", "auto")])
def test_as_published_its_models_are_called_as_the_controller_calls_them(name: str, meant: str) -> None:
    assert model_of(Options(published=True), name) == meant
    assert model_of(Options(), name) == name
    assert model_of(NoOptions(), name) == name


COLD = [(10, 4.0)] * 5 + [(10, 2.0)] * 55


def test_et_of_the_first_minute_without_its_outliers_counts_where_it_is_larger_than_the_live_one() -> None:
    found = published(COLD)
    assert found.bolts["a"].terms is not None
    assert found.bolts["a"].terms.execution_seconds == pytest.approx(0.2), "the first sample took twice as long"
    warm = published(COLD, live=0.3).bolts["a"].terms
    assert warm is not None
    assert warm.execution_seconds == 0.3


def test_before_the_first_minute_is_over_the_live_one_counts_and_afterwards_the_benchmark_stays() -> None:
    early = published(COLD[:30]).bolts["a"].terms
    assert early is not None
    assert early.execution_seconds == 0.1
    later = published([(10, 1.0)] * 60, memory=published(COLD).memory).bolts["a"].terms
    assert later is not None
    assert later.execution_seconds == pytest.approx(0.2)


def test_the_published_controller_is_given_twelve_samples_of_five_seconds() -> None:
    needs = POLICY.with_options(Options(published=True)).needs
    assert (needs.sample_seconds, needs.samples) == (5, 12)
    assert POLICY.with_options(Options()).needs.sample_seconds == 1


def test_queues_are_summed_over_and_over_as_the_published_controller_does_it() -> None:
    names = {"a": "s", "b": "a", "c": "b", "d": "c"}
    of = shape(*(bolt(name, source, waits=True) for name, source in names.items()))
    # each of them gets five more than it does in each of the last five seconds, and had caught up before
    seconds = [{name: BoltSecond(10, 15, 0, 1, 1.0) for name in names}] * 25 + [{name: BoltSecond(10, 9, 40, 1, 1.0) for name in names}] * 5
    history = tuple(Second(float(number), 1.0, 10.0, bolts) for number, bolts in enumerate(seconds, 1))
    now = interval({"s": due(300)}, {name: did(queued=40) for name in names}, seconds=30.0)
    seen = situation(of, now, known(of, dict.fromkeys(names, 0.1)), forecast(0.0), interval_seconds=30.0)
    found = POLICY.plan(replace(seen, history=history), Options(queue_share="published"))
    assert [found.bolts[name].terms.from_queues for name in names] == [5.0, 15.0, 30.0, 50.0]  # type: ignore[union-attr]
    assert POLICY.with_options(Options(queue_share="published")).needs.history_seconds > 0


class Remembering:
    """Predicts what the last sample was, and keeps what it was given."""

    least_samples = None

    def __init__(self) -> None:
        self.given: list[list[float]] = []

    async def predict(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        self.given.append(list(samples))
        return (samples[-1],) * horizon


def test_samples_of_several_seconds_are_sums_counted_back_from_now_and_so_are_the_steps() -> None:
    asked = Remembering()
    coarse = CoarseSamples(Forecaster(asked, "mine", 5.0), 5, 3)
    found = asyncio.run(coarse.forecast([float(second) for second in range(23)], 30.0, 100.0))
    assert asked.given == [[sum(range(8, 13)), sum(range(13, 18)), sum(range(18, 23))]]
    assert found is not None
    assert (found.made_at, found.step_seconds) == (100.0, 5.0)
    assert found.total(100.0, 30.0) == 6 * 100.0
    assert asyncio.run(coarse.forecast([1.0] * 4, 30.0, 4.0)) is None, "not one whole sample"


def test_the_published_controller_s_way_is_simulated_with_its_models() -> None:
    of = graph(bolt_of("a", "s", et=0.01, pool=20))
    arrivals = Arrivals((200,) * 60 + (600,) * 120)
    settings = PolicySettings(interval_seconds=30.0)
    for model in ("basic", "fft-published", "ann-published"):
        records: list[Record] = []
        simulate(of, arrivals, Order("pa-sps", model, settings, options={"published": True}), records=records.append)
        seen = [record.situation.forecast for record in records if record.situation is not None and record.situation.forecast is not None]
        assert {(each.model, each.step_seconds) for each in seen[1:]} == {(model, 5.0)}
        assert records[-1].plan.bolts["a"].replicas >= 6
