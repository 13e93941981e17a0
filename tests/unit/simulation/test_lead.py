"""Replicas that take a while to come: when they are there, what is paid, and what a forecast is worth then."""

from __future__ import annotations

import pytest

from pasps.control.run_log import Sample
from pasps.control.situation import PolicySettings
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.lead import Orders
from pasps.simulation.run import Order, Simulated, simulate
from tests.unit.simulation.graphs import bolt, graph


def test_what_was_asked_for_is_there_after_a_while_and_what_is_given_back_goes_at_once() -> None:
    orders = Orders(10.0)
    orders.order({"a": 4}, {"a": 1}, 0.0)
    assert (orders.ordered, orders.next(), orders.come(9.9, {"a": 1})) == ({"a": 4}, 10.0, {})
    assert orders.come(10.0, {"a": 1}) == {"a": 4}
    assert orders.next() is None
    orders.order({"a": 2}, {"a": 4}, 11.0)
    assert orders.come(11.0, {"a": 4}) == {"a": 2}


def test_the_latest_orders_are_cancelled_first() -> None:
    orders = Orders(10.0)
    orders.order({"a": 2}, {"a": 1}, 0.0)
    orders.order({"a": 4}, {"a": 1}, 5.0)
    orders.order({"a": 3}, {"a": 1}, 6.0)
    assert orders.come(10.0, {"a": 1}) == {"a": 2}
    assert orders.come(14.9, {"a": 2}) == {}
    assert orders.come(15.0, {"a": 2}) == {"a": 3}


def test_who_asks_for_less_than_there_is_gets_nothing_of_what_was_on_its_way() -> None:
    orders = Orders(10.0)
    orders.order({"a": 4}, {"a": 2}, 0.0)
    orders.order({"a": 1}, {"a": 2}, 1.0)
    assert orders.come(1.0, {"a": 2}) == {"a": 1}
    assert orders.come(10.0, {"a": 1}) == {}


def test_who_asks_again_waits_again() -> None:
    orders = Orders(10.0)
    for count, now in ((3, 0.0), (1, 4.0), (3, 5.0)):
        orders.order({"a": count}, {"a": 1}, now)
    assert orders.come(10.0, {"a": 1}) == {}
    assert orders.come(15.0, {"a": 1}) == {"a": 3}


def test_what_is_to_begin_together_is_there_when_the_last_is_and_is_paid_before() -> None:
    orders = Orders(10.0)
    orders.order({"a": 3, "b": 4}, {"a": 1, "b": 2}, 0.0)
    assert orders.gather({"a": 4, "b": 1}, {"a": 1, "b": 2}) == 10.0
    assert (orders.ordered, orders.next()) == ({"a": 4, "b": 2}, None), "what is to go works until then"
    orders.gathered({"a": 4, "b": 1})
    assert orders.ordered == {"a": 4, "b": 1}
    assert orders.come(20.0, {"a": 4, "b": 1}) == {}
    assert orders.gather({"a": 2}, {"a": 4, "b": 1}) == 0.0, "fewer are there already"


STEPS = Arrivals(((10,) * 30 + (70,) * 30) * 3)
SLOW = graph(bolt("a", "s", et=0.1, pool=10, par=2), workers=1)


def led(lead: float, predictor: str, **options: object) -> tuple[Simulated, list[Sample]]:
    samples: list[Sample] = []
    order = Order(
        "pasps", predictor, PolicySettings(interval_seconds=5.0, correction_seconds=1.0), benchmark={"a": 0.1},
        options={"change_seconds": 0.0, **options}, lead_seconds=lead,
    )  # fmt: skip
    return simulate(SLOW, STEPS, order, samples.append), samples


def test_replicas_that_come_late_leave_a_queue_behind_which_who_knows_what_comes_has_ordered_against() -> None:
    at_once, _ = led(0.0, "none")
    late, _ = led(10.0, "none")
    knows, _ = led(10.0, "clairvoyant", lead_seconds=10.0)
    assert at_once.latency.mean < 0.5 < 3.0 < late.latency.mean
    assert knows.latency.mean < 0.5
    assert late.done == knows.done == late.events


def test_what_is_on_its_way_is_paid() -> None:
    _, samples = led(10.0, "none")
    ordered = [sample.bolts["a"].active for sample in samples if 31.0 < sample.uptime < 35.0]
    assert min(ordered) >= 7
    found = [sample.bolts["a"].queued for sample in samples if 38.0 < sample.uptime < 40.0]
    assert min(found) > 100, "but it does not work yet"


def test_the_same_order_gives_the_same_run() -> None:
    assert led(5.0, "auto", lead_seconds=5.0)[0] == led(5.0, "auto", lead_seconds=5.0)[0]


@pytest.mark.parametrize("lead", [0.3, 90.0])
def test_any_lead_time_ends_with_all_events_done_or_a_while_after(lead: float) -> None:
    found, _ = led(lead, "none")
    assert found.events == sum(STEPS.counts)
    assert found.done <= found.events
