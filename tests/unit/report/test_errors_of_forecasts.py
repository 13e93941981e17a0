"""The two MAPEs, by hand."""

from __future__ import annotations

import pytest

from pasps.report.decided import Ahead, Asked
from pasps.report.errors_of_forecasts import Mean, input_error, mean, needed, replica_error
from pasps.report.timeline import Timeline


def came(*by_interval: float, seconds: float = 10.0) -> Timeline:
    """What became due, in intervals of `seconds` from 0 on."""
    found, total = Timeline(), 0.0
    found.add(0.0, 0.0)
    for number, events in enumerate(by_interval, 1):
        total += events
        found.add(number * seconds, total)
    return found


def asked(replicas: int, pool: int = 8, **given: float) -> Asked:
    fields = {"share": 1.0, "from_queues": 0.0, "execution_seconds": 0.1, "concurrency": 1, "seconds": 10.0, **given}
    return Asked(pool=pool, replicas=replicas, **fields)  # type: ignore[arg-type]


def ahead(began: float, events: float, *bolts: Asked) -> Ahead:
    return Ahead(began, 10.0, events, bolts)


def test_the_error_of_the_input_is_the_mean_over_the_intervals_that_followed() -> None:
    due = came(500, 100, 200)
    # 150 for 100: 0.5; 100 for 200: 0.5; 180 for 200: 0.1
    errors = input_error([ahead(10, 150), ahead(20, 100), ahead(20, 180)], due)
    assert errors.value == pytest.approx((0.5 + 0.5 + 0.1) / 3)
    assert errors.counted == 3


def test_intervals_without_input_are_left_out_and_counted() -> None:
    assert input_error([ahead(0, 150), ahead(10, 5)], came(100, 0)) == Mean(0.5, 1, left_out=1)


def test_an_interval_that_is_not_over_is_not_counted() -> None:
    assert input_error([ahead(0, 110), ahead(5, 1)], came(100)) == Mean(pytest.approx(0.1), 1)  # type: ignore[arg-type]
    assert input_error([ahead(5, 1)], came(100)) == Mean(None, 0)


@pytest.mark.parametrize(
    ("events", "given", "replicas"),
    [
        (200, {}, 2),  # 200 · 0.1 / 10
        (201, {}, 3),
        (300, {}, 3),  # 0.1 · 300 is a little above 30 in binary
        (200, {"share": 0.5}, 1),
        (200, {"from_queues": 150}, 4),  # 350 · 0.1 / 10 = 3.5
        (200, {"share": 2.0, "from_queues": 100}, 5),
        (0, {}, 1),
        (5000, {}, 8),  # 50, the pool has 8
        (5000, {"seconds": 100.0}, 5),
        (300, {"concurrency": 2}, 2),
    ],
)
def test_needed_is_eq_2_with_the_input_that_came(events: float, given: dict[str, float], replicas: int) -> None:
    assert needed(asked(1, **given), events) == replicas


def test_the_error_of_the_replicas_is_the_mean_over_cycles_and_bolts() -> None:
    due = came(200, 400, 0)
    # 200 came: 2 and 1 were needed; 400 came: 4 and 2
    first = ahead(0, 0, asked(3), asked(1, share=0.5))
    second = ahead(10, 0, asked(3), asked(4, share=0.5))
    error = replica_error([first, second], due)
    assert error.value == pytest.approx((1 / 2 + 0 / 1 + 1 / 4 + 2 / 2) / 4)
    assert error.counted == 4


def test_an_interval_without_input_needs_one_replica() -> None:
    assert replica_error([ahead(0, 0, asked(3))], came(0)).value == 2.0


def test_a_plan_that_looks_less_far_is_measured_by_as_much() -> None:
    due = came(100, 900)  # 10 a second in the first ten
    assert replica_error([ahead(0, 0, asked(1, seconds=2.0, execution_seconds=0.3))], due).value == pytest.approx(2 / 3)


def test_nothing_has_no_mean() -> None:
    assert mean([]) == Mean(None, 0, 0)
    assert mean([1.0, 3.0], left_out=2) == Mean(2.0, 2, 2)
