"""Equations 2 to 7: the papers' worked examples, and the readings that spec and docs fix."""

from __future__ import annotations

import pytest

from pasps.control.model import Reading, estimate, queues, rounded_up, selectivities, shares, terms
from pasps.control.situation import Estimates, Interval, SpoutInterval, TopologyShape
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

FIGURE_6 = shape(bolt("o1", "s"), bolt("o2", "o1"), bolt("o3", "o1"), bolt("o4", "o2", "o3"))


def figure_6() -> Interval:
    """θ_2^1 = 0.7, θ_3^1 = 0.3, θ_4^2 = 0.4, θ_4^3 = 1, as counters."""
    bolts = {
        "o1": did(100, received={"s": 100}),
        "o2": did(70, received={"o1": 70}),
        "o3": did(30, received={"o1": 30}),
        "o4": did(58, received={"o2": 28, "o3": 30}),
    }
    return interval({"s": due(100)}, bolts)


def test_figure_6_gives_the_paper_s_input_of_each_operator() -> None:
    estimates = estimate(FIGURE_6, figure_6(), Estimates(), {})
    found = terms(situation(FIGURE_6, figure_6(), estimates), 100.0, Reading(30.0))
    assert [found[name].from_input for name in ("o1", "o2", "o3", "o4")] == pytest.approx([100, 70, 30, 58])
    assert estimates.selectivity["o4"] == {"o2": 0.4, "o3": 1.0}


def test_ten_events_of_200_100_and_400_ms_in_a_second_need_2_1_and_4_replicas() -> None:
    of = shape(bolt("a", "s"), bolt("b", "a"), bolt("c", "b"))
    now = interval({"s": due(10)}, {name: did() for name in "abc"}, seconds=1.0)
    found = terms(situation(of, now, known(of, {"a": 0.2, "b": 0.1, "c": 0.4})), 10.0, Reading(1.0))
    assert [found[name].total for name in "abc"] == [10.0, 10.0, 10.0]
    assert [rounded_up(found[name].replicas or 0.0) for name in "abc"] == [2, 1, 4]


@pytest.mark.parametrize(("replicas", "expected"), [(0.0, 1), (0.1 * 30, 3), (2.0000000001, 2), (2.001, 3), (0.3 * 10 / 3 * 3, 3)])
def test_replicas_are_rounded_up_but_not_for_a_rounding_error(replicas: float, expected: int) -> None:
    assert rounded_up(replicas) == expected


def test_a_source_that_sent_nothing_keeps_its_last_known_selectivity_and_one_never_known_is_1() -> None:
    of = shape(bolt("a", "s"), bolt("b", "a", "t"), spouts=("s", "t"))
    now = interval({"s": due(10), "t": due(0)}, {"a": did(0, received={"s": 10}), "b": did(3, received={"a": 5, "t": 2})})
    found = selectivities(of, now, {"b": {"a": 0.25}})
    assert found == {"a": {"s": 1.0}, "b": {"a": 0.25, "t": 1.0}}


def test_a_filter_that_lets_nothing_through_is_known_to_be_0() -> None:
    of = shape(bolt("a", "s"), bolt("b", "a"))
    now = interval({"s": due(10)}, {"a": did(10, received={"s": 10}), "b": did()})
    assert selectivities(of, now, {"b": {"a": 0.5}})["b"] == {"a": 0.0}


def test_an_edge_from_a_spout_is_of_what_it_emitted_not_of_what_became_due() -> None:
    of = shape(bolt("a", "s"))
    held_back = SpoutInterval(due=1000, emitted=200, backlog=800)
    assert selectivities(of, interval({"s": held_back}, {"a": did(received={"s": 400})}), {})["a"] == {"s": 2.0}


def test_several_spouts_share_the_input_by_what_became_due() -> None:
    of = shape(bolt("a", "s"), bolt("b", "t"), bolt("c", "a", "b"), spouts=("s", "t"))
    bolts = {"a": did(30, received={"s": 30}), "b": did(5, received={"t": 10}), "c": did(35, received={"a": 30, "b": 5})}
    now = interval({"s": due(30), "t": due(10)}, bolts)
    found = shares(of, now, selectivities(of, now, {}), {})
    assert found == {"s": 0.75, "t": 0.25, "a": 0.75, "b": 0.25, "c": 1.0}


def test_a_quiet_interval_keeps_the_spouts_last_shares_and_at_first_they_are_equal() -> None:
    of = shape(bolt("a", "s", "t"), spouts=("s", "t"))
    now = interval({"s": due(0), "t": due(0)}, {"a": did()})
    edges = selectivities(of, now, {})
    assert shares(of, now, edges, {"s": 0.9, "t": 0.1})["s"] == 0.9
    assert shares(of, now, edges, {}) == {"s": 0.5, "t": 0.5, "a": 1.0}


def waiting() -> tuple[TopologyShape, Interval, Estimates]:
    """Two spouts with θ 0.75 and 0.25; backlogs 100 and 20; queues 10, 4 and 6; θ_c^a = 0.5."""
    of = shape(bolt("a", "s"), bolt("b", "t"), bolt("c", "a", "b"), spouts=("s", "t"))
    bolts = {
        "a": did(60, received={"s": 60}, queued=10),
        "b": did(20, received={"t": 20}, queued=4),
        "c": did(50, received={"a": 30, "b": 20}, queued=6),
    }
    now = interval({"s": due(75, emitted=60, backlog=100), "t": due(25, emitted=20, backlog=20)}, bolts)
    return of, now, estimate(of, now, Estimates(), {})


def test_equation_7_as_printed_multiplies_by_the_predecessor_s_share_of_the_input() -> None:
    found = queues(situation(*waiting()), "paper")
    a, b = 10 + 100 * 0.75, 4 + 20 * 0.25
    assert found == {"s": 100.0, "t": 20.0, "a": a, "b": b, "c": 6 + a * 0.75 + b * 0.25}


def test_equation_7_by_its_text_multiplies_by_what_the_edge_passes_on() -> None:
    found = queues(situation(*waiting()), "edge")
    assert found == {"s": 100.0, "t": 20.0, "a": 110.0, "b": 24.0, "c": 6 + 110 * 0.5 + 24 * 1.0}


def test_presps_counts_its_own_queue_alone() -> None:
    found = queues(situation(*waiting()), "own")
    assert {name: found[name] for name in "abc"} == {"a": 10.0, "b": 4.0, "c": 6.0}


def test_target_drain_time_and_concurrency_are_where_the_terms_say() -> None:
    of = shape(bolt("a", "s", concurrency=4, waits=True))
    now = interval({"s": due(300)}, {"a": did(300, received={"s": 300}, queued=40)})
    needs = terms(situation(of, now, known(of, {"a": 0.5})), 300.0, Reading(30.0, target=0.8, drain_seconds=2.0))["a"]
    assert (needs.from_input, needs.from_queues, needs.total, needs.concurrency) == (300.0, 40.0, 340.0, 4)
    assert needs.replicas == pytest.approx((300 * 0.5 / (30 * 0.8) + 40 * 0.5 / 2.0) / 4)


def test_without_a_target_or_drain_time_the_terms_are_equation_2() -> None:
    of = shape(bolt("a", "s"))
    now = interval({"s": due(300)}, {"a": did(300, received={"s": 300}, queued=40)})
    needs = terms(situation(of, now, known(of, {"a": 0.5})), 300.0, Reading(30.0))["a"]
    assert needs.replicas == pytest.approx(needs.total * 0.5 / 30.0)


def test_a_bolt_whose_execution_time_nobody_knows_has_terms_but_no_replicas() -> None:
    of = shape(bolt("a", "s"))
    now = interval({"s": due(300)}, {"a": did()})
    needs = terms(situation(of, now, known(of, {"a": None})), 300.0, Reading(30.0))["a"]
    assert (needs.from_input, needs.execution_seconds, needs.replicas) == (300.0, None, None)


def test_what_is_learned_carries_over_to_the_next_interval() -> None:
    first = estimate(FIGURE_6, figure_6(), Estimates(), {})
    quiet = interval({"s": due(0)}, {name: did() for name in ("o1", "o2", "o3", "o4")})
    second = estimate(FIGURE_6, quiet, first, {})
    assert second.share == first.share
    assert second.selectivity == first.selectivity
