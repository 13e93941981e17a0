"""Our own policy: target, corrections, queues, late scale-down, keyed bolts, and what the cores carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pasps.control.plan import Clamp, Plan
from pasps.control.plan_checks import remembered
from pasps.control.policies.pasps import POLICY
from pasps.control.situation import BoltInterval, BoltShape, Forecast, Situation
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
    given: dict[str, Any] = {"moment": "correction", "arrivals": (rate,) * 10, "judged": ahead, "scale_down_plans": 2, **changes}
    return situation(topology, what, known(topology, {"a": et}), ahead, recent=recent, **given)


def replicas(now: Situation) -> int:
    return plan(now).replicas["a"]


def test_replicas_are_to_be_busy_for_four_fifths_of_their_time() -> None:
    assert replicas(deciding(rate=40)) == 5
    assert replicas(deciding(rate=40, target_utilisation=1.0)) == 4
    assert replicas(deciding(rate=40, target_utilisation=0.5)) == 8


def test_without_a_forecast_the_input_goes_on_with_half_of_its_last_change() -> None:
    assert plan(deciding(rate=40)).input == 40
    assert plan(deciding(arrivals=(40.0, 40.0, 40.0, 60.0))).input == 60 + 0.5 * 20
    assert plan(deciding(arrivals=(40.0, 40.0, 60.0, 40.0))).input == 40 - 0.5 * 20
    assert plan(deciding(arrivals=(90.0, 90.0, 5.0))).input == 0, "never less than nothing"


def test_a_forecast_counts_as_far_as_it_was_right_in_the_last_second() -> None:
    arrivals = (10.0, 10.0, 10.0, 40.0)  # the trend did not see that coming, and was wrong by 30; it expects 55 now
    right = forecast(40.0, 80.0, *[80.0] * 28, made_at=99.0)
    wrong = forecast(10.0, 10.0, *[10.0] * 28, made_at=99.0)
    assert plan(deciding(arrivals=arrivals, ahead=right)).input == 80
    assert plan(deciding(arrivals=arrivals, ahead=wrong)).input == pytest.approx((10 + 55) / 2), "both were wrong by as much"
    steady = (10.0,) * 4
    assert plan(deciding(arrivals=steady, ahead=forecast(*[70.0] * 30, made_at=99.0))).input == 10, "the trend was right"
    assert plan(deciding(arrivals=steady, ahead=forecast(*[10.0] * 30, made_at=99.0))).input == 10, "both were"


def test_a_forecast_that_said_nothing_of_the_last_second_is_not_trusted_yet() -> None:
    assert plan(deciding(rate=10, ahead=forecast(*[70.0] * 30), judged=None)).input == 10


def test_it_looks_as_far_ahead_as_to_the_next_correction() -> None:
    assert plan(deciding(rate=8)).input == 8.0
    assert plan(deciding(rate=8, correction_seconds=0.5)).input == 4.0


def test_before_the_first_whole_second_the_interval_says_what_comes() -> None:
    assert replicas(deciding(rate=40, arrivals=())) == 5


def test_a_queue_is_worked_off_within_a_second() -> None:
    queue = did(active=1, queued=31)
    assert plan(deciding(now=queue)).bolts["a"].terms.from_queues == 30  # type: ignore[union-attr]
    assert replicas(deciding(now=queue)) == 3
    assert replicas(deciding(now=queue, drain_seconds=3.0)) == 1


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


KEYED = bolt("a", "s", waits=True, keyed=True)
LATER = (8.0,) * 20 + (40.0,) * 10


def test_at_a_cycle_keyed_tasks_of_several_workers_are_planned_for_the_highest_moment_to_come() -> None:
    ahead = forecast(*LATER)
    assert replicas(deciding(KEYED, ahead=ahead, workers=2, moment="cycle")) == 5
    assert replicas(deciding(KEYED, ahead=ahead, workers=1, moment="cycle")) == 1, "they change no worker: correct them later"
    assert replicas(deciding(WAITS, ahead=ahead, workers=2, moment="cycle")) == 1


def test_what_keyed_tasks_were_planned_for_is_not_given_up_before_the_next_cycle() -> None:
    now = did(active=5)
    assert replicas(deciding(KEYED, now, ahead=forecast(*LATER), workers=2)) == 5
    assert replicas(deciding(KEYED, now, rate=64, workers=2)) == 8
    assert replicas(deciding(KEYED, now, workers=1)) == 1


def test_computing_bolts_get_no_more_than_the_cores_and_waiting_ones_what_they_need() -> None:
    found = plan(deciding(bolt("a", "s"), rate=64, workers=2)).bolts["a"]
    assert (found.asked, found.replicas, found.clamps) == (8, 2, (Clamp.CAPPED,))
    assert found.unmet == pytest.approx(64 * (1 - 2 / 6.4))
    assert replicas(deciding(WAITS, rate=64, workers=2)) == 8


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
    assert set(memory) == set(names)
