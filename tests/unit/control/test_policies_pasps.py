"""Our own policy: its aims (a utilisation, a latency, prices), corrections, queues, late scale-down, keyed bolts, what the cores carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pasps.control.plan import Clamp, Plan
from pasps.control.plan_checks import remembered
from pasps.control.policies.pasps import POLICY, Options
from pasps.control.policies.policy import INTERVAL
from pasps.control.situation import BoltInterval, BoltShape, Forecast, Second, Situation
from pasps.errors import ConfigError
from pasps.metrics import Histogram
from tests.unit.control.situations import bolt, did, due, forecast, interval, known, planner, shape, situation

plan = planner(POLICY)

ENOUGH = (5.0,) * 30
WAITS = bolt("a", "s", waits=True)


def deciding(
    of: BoltShape = WAITS,
    now: BoltInterval | None = None,
    *,
    et: float | None = 0.1,
    rate: float = 0.0,
    ahead: Forecast | None = None,
    workers: int = 1,
    recent: tuple[Mapping[str, int], ...] = ({"a": 1},) * 4,
    **changes: Any,
) -> Situation:
    """One bolt that waits, 0.1 s for an event; `rate` arrived in each of the last seconds. td is 30 s. It scales down by plans."""
    topology = shape(of)
    what = interval({"s": due(30 * rate)}, {"a": now or did()}, workers=workers, cores=8)
    given: dict[str, Any] = {"moment": "correction", "arrivals": (rate,) * 10, "scale_down_plans": 2, **changes}
    return situation(topology, what, known(topology, {"a": et}), ahead, recent=recent, **given)


def replicas(now: Situation) -> int:
    return plan(now).replicas["a"]


def test_replicas_are_to_be_busy_for_nine_tenths_of_their_time() -> None:
    assert plan(deciding(rate=40)).bolts["a"].terms.replicas == pytest.approx(4 / 0.9)  # type: ignore[union-attr]
    assert replicas(deciding(rate=40)) == 5
    assert replicas(deciding(rate=40, target_utilisation=1.0)) == 4
    assert replicas(deciding(rate=40, target_utilisation=0.5)) == 8


def test_a_little_more_than_whole_replicas_is_not_worth_another_one() -> None:
    assert replicas(deciding(rate=42, target_utilisation=1.0)) == 4
    assert replicas(deciding(rate=43, target_utilisation=1.0)) == 5


def test_without_a_forecast_as_much_comes_as_just_came() -> None:
    assert plan(deciding(rate=40)).input == 40
    assert plan(deciding(arrivals=(40.0, 40.0, 60.0))).input == 60


def test_a_forecast_is_followed() -> None:
    assert plan(deciding(rate=40, ahead=forecast(*[70.0] * 30))).input == 70


def test_it_looks_as_far_ahead_as_to_the_next_correction() -> None:
    assert plan(deciding(rate=8)).input == 8.0
    assert plan(deciding(rate=8, correction_seconds=0.5)).input == 4.0


def test_before_the_first_whole_second_the_interval_says_what_comes() -> None:
    assert replicas(deciding(rate=40, arrivals=())) == 5


def test_a_queue_is_worked_off_within_a_quarter_of_a_second() -> None:
    queue = did(active=1, queued=11)
    assert plan(deciding(now=queue)).bolts["a"].terms.from_queues == 10  # type: ignore[union-attr]
    assert replicas(deciding(now=queue)) == 4
    assert replicas(deciding(now=queue, drain_seconds=1.0)) == 1


def test_no_queue_is_to_be_gone_sooner_than_an_event_takes() -> None:
    queue = did(active=1, queued=3)
    found = plan(deciding(now=queue, et=2.0)).bolts["a"]
    assert found.terms is not None
    assert (found.terms.drain_seconds, found.replicas) == (2.0, 2), "two events wait, and more than two replicas would have nothing to do"


def test_what_replicas_have_in_hand_is_no_queue() -> None:
    assert replicas(deciding(now=did(active=4, queued=4), recent=())) in (1, 4)
    held = plan(deciding(now=did(active=4, queued=4))).bolts["a"].terms
    assert held is not None
    assert held.from_queues == 0
    several = plan(deciding(bolt("a", "s", waits=True, concurrency=10), did(active=4, queued=44))).bolts["a"].terms
    assert several is not None
    assert several.from_queues == 4


def test_a_spout_s_backlog_is_a_queue_of_every_bolt_behind_it_by_what_the_edges_pass_on() -> None:
    of = shape(bolt("a", "s", waits=True), bolt("b", "a", waits=True))
    now = interval({"s": due(0, backlog=40)}, {"a": did(), "b": did(queued=7)})
    found = plan(situation(of, now, known(of, {"a": 0.1, "b": 0.1}, {"b": {"a": 0.5}}), moment="correction"))
    assert [found.bolts[name].terms.from_queues for name in "ab"] == [40.0, 6 + 20.0]  # type: ignore[union-attr]


def test_scale_down_waits_until_the_largest_of_the_last_plans_allows_it() -> None:
    now = did(active=5)
    found = plan(deciding(now=now, recent=({"a": 2}, {"a": 4}))).bolts["a"]
    assert (found.allowed, found.replicas, found.clamps) == (1, 4, (Clamp.DELAYED,))
    assert replicas(deciding(now=now, recent=({"a": 4}, {"a": 1}))) == 1


def test_how_many_plans_can_be_set() -> None:
    recent = ({"a": 4}, {"a": 1})
    assert replicas(deciding(now=did(active=5), recent=recent, scale_down_plans=2)) == 1
    assert replicas(deciding(now=did(active=5), recent=recent, scale_down_plans=3)) == 4
    assert replicas(deciding(now=did(active=5), recent=recent, scale_down_plans=1)) == 1


@pytest.mark.parametrize("recent", [(), ({"a": 1},), ({"a": 1},) * 2])
def test_fewer_plans_than_that_are_not_enough(recent: tuple[Mapping[str, int], ...]) -> None:
    found = plan(deciding(now=did(active=5), recent=recent, scale_down_plans=4)).bolts["a"]
    assert (found.replicas, found.clamps) == (5, (Clamp.DELAYED,))


def by_regret(active: int, memory: Any = None, at: float = 100.0, **changes: Any) -> Plan:
    """What is planned where nothing is needed but one replica."""
    now = deciding(now=did(active=active), recent=(), scale_down_plans=None, memory=memory, **changes)
    return plan(replace(now, interval=replace(now.interval, ended=at)))


def calm(active: int, **changes: Any) -> Any:
    """What is remembered of a time in which nothing rose."""
    memory = None
    for step in range(80):
        memory = by_regret(active, memory, 80.0 + step * 0.25, **changes).memory
    return memory


def test_unless_plans_are_counted_replicas_go_once_it_is_known_that_they_are_not_likely_to_be_needed_soon() -> None:
    first = by_regret(5)
    assert (first.bolts["a"].replicas, first.bolts["a"].clamps) == (5, (Clamp.DELAYED,))
    assert by_regret(5, first.memory, 100.25).replicas == {"a": 5}
    assert by_regret(5, calm(5)).replicas == {"a": 1}


def test_a_need_that_rises_again_and_again_keeps_its_replicas() -> None:
    memory = None
    for step in range(160):
        memory = by_regret(5, memory, 60.0 + step * 0.25, rate=40 if step % 16 < 4 else 5).memory
    assert by_regret(5, memory, rate=5).replicas == {"a": 5}
    assert by_regret(5, memory, rate=5, moment="cycle").replicas == {"a": 5}


def test_between_cycles_bound_bolts_are_not_scaled_down_by_regret_either() -> None:
    memory = calm(5, of=KEYED, workers=2)
    assert by_regret(5, memory, of=KEYED, workers=2).replicas == {"a": 5}
    assert by_regret(5, memory, of=KEYED, workers=2, moment="cycle").replicas == {"a": 1}


def test_scale_up_never_waits() -> None:
    found = plan(deciding(now=did(active=1), rate=40, recent=())).bolts["a"]
    assert (found.replicas, found.clamps) == (5, ())


def options(**given: Any) -> Options:
    return Options(scale_down_plans=1, **given)


def lived(latencies: Mapping[float, int], seconds: int, ended: float = 100.0) -> tuple[Second, ...]:
    """So many seconds, in each of which events took so long."""
    histogram = Histogram()
    for each, count in latencies.items():
        histogram.add(each, count)
    return tuple(Second(ended - ago, 1.0, 10.0, {}, latency=histogram.buckets) for ago in range(seconds - 1, -1, -1))


def kept(latencies: Mapping[float, int], limit: float, *, seconds: int = 1, active: int = 4, memory: Any = None) -> Plan:
    now = replace(deciding(now=did(active=active), rate=36), history=lived(latencies, seconds), memory=memory)
    return POLICY.plan(now, options(latency_target=limit))


def utilisation(found: Plan) -> float:
    terms = found.bolts["a"].terms
    assert terms is not None
    return terms.target


def test_after_late_events_replicas_are_busy_for_less_of_their_time_and_after_others_for_a_little_more() -> None:
    calm, late = kept({0.05: 100}, 0.2), kept({0.05: 50, 0.5: 50}, 0.2)
    assert utilisation(late) < 0.85
    assert 0.9 < utilisation(calm) < 0.92
    assert late.bolts["a"].reasons[-1].text.startswith("95% of the events within 0.2 s: 50.0% were late of late")


def test_a_second_counts_once_and_those_that_were_missed_count_too() -> None:
    once = kept({0.5: 100}, 0.2)
    again = kept({0.5: 100}, 0.2, memory=once.memory)
    assert utilisation(again) == pytest.approx(utilisation(once), abs=1e-4)
    assert utilisation(kept({0.5: 100}, 0.2, seconds=3)) < utilisation(once)


def test_a_latency_that_nothing_is_known_of_leaves_the_utilisation_as_it_is() -> None:
    assert utilisation(kept({}, 0.2)) == 0.9


def test_a_whole_pool_that_is_late_says_nothing_of_the_utilisation() -> None:
    assert utilisation(kept({0.5: 100}, 0.2, active=8)) == 0.9
    assert utilisation(kept({0.05: 100}, 0.2, active=8)) > 0.9


def test_the_utilisation_stays_between_its_bounds_and_a_latency_that_is_far_off_lets_queues_last_longer() -> None:
    memory = None
    for at in range(600):
        now = replace(deciding(rate=36), history=lived({0.05: 100}, 1, 100.0 + at), memory=memory)
        found = POLICY.plan(now, options(latency_target=10.0))
        memory = found.memory
    terms = found.bolts["a"].terms
    assert terms is not None
    assert terms.target == 1.5
    assert terms.drain_seconds is not None
    assert 2.5 < terms.drain_seconds < 100.0
    for at in range(600):
        now = replace(deciding(rate=36), history=lived({20.0: 100}, 1, 900.0 + at), memory=memory)
        memory = POLICY.plan(now, options(latency_target=10.0)).memory
    assert utilisation(POLICY.plan(now, options(latency_target=10.0))) == pytest.approx(0.3)


def priced(ratio: float, rate: float, pool: int = 64) -> float:
    now = deciding(bolt("a", "s", waits=True, pool=pool), rate=rate)
    terms = POLICY.plan(now, options(late_cost=ratio, replica_cost=1.0)).bolts["a"].terms
    assert terms is not None
    assert terms.replicas is not None
    return terms.replicas


def test_with_prices_the_room_is_what_is_cheapest_and_large_loads_need_a_smaller_part_of_it() -> None:
    assert 4.0 < priced(0.1, 40) < priced(1.0, 40) < priced(10.0, 40)
    assert priced(1.0, 400) / 40 < priced(1.0, 40) / 4
    assert priced(1.0, 0) == 0.0
    assert POLICY.plan(deciding(rate=40), options(late_cost=3.0, replica_cost=3.0)) == POLICY.plan(
        deciding(rate=40), options(late_cost=1.0, replica_cost=1.0)
    ), "only their ratio counts"


def test_one_price_says_nothing_and_neither_do_two_aims() -> None:
    with pytest.raises(ConfigError, match=r"replica_cost.* is missing.*go together"):
        Options(late_cost=1.0)
    with pytest.raises(ConfigError, match=r"latency_target.*leave out one of them"):
        Options(late_cost=1.0, replica_cost=1.0, latency_target=1.0)


def test_where_replicas_take_a_while_to_come_the_fullest_time_until_then_is_planned_for() -> None:
    ahead = forecast(*(10.0,) * 10, 50.0, *(10.0,) * 19)
    assert POLICY.plan(deciding(ahead=ahead), options(lead_seconds=5.0)).input == 10.0
    assert POLICY.plan(deciding(ahead=ahead), options(lead_seconds=12.0)).input == 50.0
    assert POLICY.plan(deciding(rate=7), options(lead_seconds=12.0)).input == 7.0, "nobody forecasts"


def test_with_prices_and_a_while_to_wait_what_may_come_is_planned_for_as_seldom_exceeded_as_they_say() -> None:
    sums = {0.5: tuple(10.0 * step for step in range(1, 31)), 0.9: tuple(15.0 * step for step in range(1, 31))}
    ahead = replace(forecast(*(10.0,) * 30), quantiles=sums)
    near, far = (
        POLICY.plan(deciding(ahead=ahead), options(late_cost=9.0, replica_cost=1.0, lead_seconds=lead)).input for lead in (0.0, 5.0)
    )
    assert (near, far) == (10.0, pytest.approx(15.0))


def test_what_is_gathered_is_what_the_options_need() -> None:
    plain, kept, priced = (
        POLICY.with_options(each).needs for each in (options(), options(latency_target=1.0), options(late_cost=9.0, replica_cost=1.0))
    )
    assert (plain.history_seconds, plain.quantiles, plain.horizon_seconds, plain.correction_horizon_seconds) == (0, (), INTERVAL, 1.0)
    assert kept.history_seconds > 0
    assert priced.quantiles == (pytest.approx(0.9),)
    assert POLICY.with_options(options(lead_seconds=60.0)).needs.horizon(30.0, correction=True) == 61.0


KEYED = bolt("a", "s", waits=True, keyed=True)
LATER = (8.0,) * 20 + (40.0,) * 10


def test_at_a_cycle_keyed_tasks_of_several_workers_are_planned_for_the_highest_moment_to_come() -> None:
    ahead = forecast(*LATER)
    assert replicas(deciding(KEYED, ahead=ahead, workers=2, moment="cycle")) == 5
    assert replicas(deciding(KEYED, ahead=ahead, workers=1, moment="cycle")) == 1, "they change no worker: correct them later"
    assert replicas(deciding(WAITS, ahead=ahead, workers=2, moment="cycle")) == 1


def test_keyed_tasks_are_moved_for_what_that_is_worth_alone_unless_the_bolt_cannot_carry_what_comes() -> None:
    def found(rate: float, move_seconds: float) -> int:
        now = deciding(KEYED, did(active=4), ahead=forecast(*(rate,) * 30), workers=2, moment="cycle")
        return POLICY.plan(now, Options(move_seconds=move_seconds)).replicas["a"]

    assert (found(39.0, 1.0), found(39.0, 100.0)) == (5, 4)
    assert found(41.0, 100.0) == 5
    assert found(80.0, 100.0) == 8


def test_moves_make_it_dearer_to_give_replicas_of_a_keyed_bolt_back() -> None:
    memory = None
    for step in range(160):
        now = deciding(KEYED, did(active=5), rate=20 if step % 40 < 4 else 5, workers=2, recent=(), memory=memory, moment="cycle")
        memory = POLICY.plan(replace(now, interval=replace(now.interval, ended=60.0 + step * 0.25)), Options()).memory
    now = deciding(KEYED, did(active=2), rate=5, workers=2, recent=(), memory=memory, moment="cycle")
    assert [POLICY.plan(now, Options(move_seconds=price)).replicas["a"] for price in (0.0, 5.0)] == [1, 2]


def test_what_keyed_tasks_were_planned_for_is_not_given_up_before_the_next_cycle() -> None:
    now = did(active=5)
    assert replicas(deciding(KEYED, now, ahead=forecast(*LATER), workers=2)) == 5
    assert replicas(deciding(KEYED, now, rate=72, workers=2)) == 8
    assert replicas(deciding(KEYED, now, workers=1)) == 1


def test_computing_bolts_get_no_more_than_the_cores_and_waiting_ones_what_they_need() -> None:
    found = plan(deciding(bolt("a", "s"), rate=72, workers=2)).bolts["a"]
    assert (found.asked, found.replicas, found.clamps) == (8, 2, (Clamp.CAPPED,))
    assert found.unmet == pytest.approx(72 * (1 - 2 / 7.2))
    assert replicas(deciding(WAITS, rate=72, workers=2)) == 8


def test_capped_plans_are_those_that_scale_down_looks_at() -> None:
    found = plan(deciding(bolt("a", "s"), did(active=6), rate=64, workers=2, recent=({"a": 2},) * 4)).bolts["a"]
    assert found.replicas == 2


def test_a_bolt_without_an_execution_yet_keeps_its_replicas() -> None:
    found = plan(deciding(now=did(active=3), et=None, rate=40, recent=({"a": 8},) * 4)).bolts["a"]
    assert (found.replicas, found.clamps) == (3, (Clamp.UNKNOWN,))


def test_what_the_loop_needs_to_know() -> None:
    assert (POLICY.forecasts, POLICY.corrects, POLICY.warm_up_seconds) == (True, True, 1.0)


def test_what_it_remembers_of_a_hundred_bolts_with_long_names_is_not_too_much() -> None:
    topology = shape(*(bolt(f"{number}-{'x' * 60}", "s", pool=100) for number in range(100)))
    names = [each.id for each in topology.bolts]
    memory, pace = None, 0.1
    for step in range(600):
        now = 1000.03 + step * pace
        what = interval({"s": due(3000.0)}, {name: did(3000, 0.1 + 0.9 * (step % 7)) for name in names}, cores=400, ended=now)
        seen = known(topology, dict.fromkeys(names, 0.1 + 0.0123 * (step % 97)))
        arrivals = (100.0 + 7.77 * (step % 13),) * 10
        memory = plan(situation(topology, what, seen, arrivals=arrivals, moment="correction", memory=memory)).memory
        memory = remembered(memory, len(names))
    assert set(memory["rises"]["bolts"]) == set(names)
