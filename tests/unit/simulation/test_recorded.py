"""A run's input by the second, and where two courses differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pasps.control.run_log import BoltSample, Sample
from pasps.errors import InvalidError
from pasps.simulation.recorded import Difference, differences, input_of, mean_active, replicas_of


def sample(uptime: float, due: int, active: int = 1, complete: bool = True) -> Sample:
    bolts = {"a": BoltSample(active, 0, 8, 0, due, 0.0)}
    return Sample(uptime, 0.0, complete, 1, due, due, 0, due, 0, 0, 0, bolts)


def test_the_input_of_each_second_lies_on_the_line_between_two_samples() -> None:
    samples = [sample(1.5, 10), sample(2.6, 32), sample(3.5, 50), *(sample(3.5 + second, 50 + 5 * second) for second in range(1, 6))]
    arrivals, begin = input_of(samples, "run")
    assert begin == 0.5, "the first sample is a second after the begin"
    assert arrivals.counts == (10, 20, 20, 5, 5, 5, 5, 5)


def test_a_last_part_of_a_second_is_no_burst() -> None:
    samples = [*(sample(float(second), 60 * second) for second in range(6)), sample(5.95, 357)]
    assert input_of(samples, "run")[0].counts == (60, 60, 60, 60, 60, 57)


def test_what_was_long_before_the_first_sample_is_left_out() -> None:
    samples = [sample(1000.0 + second, 50_000 + 10 * second) for second in range(8)]
    arrivals, begin = input_of(samples, "run")
    assert (begin, arrivals.counts) == (1000.0, (10,) * 7)


def test_incomplete_samples_and_falls_say_nothing() -> None:
    samples = [sample(float(second), 10 * second) for second in range(8)]
    samples[3] = sample(3.0, 0, complete=False)
    samples[5] = sample(5.0, 7)
    assert sum(input_of(samples, "run")[0].counts) == 70


@pytest.mark.parametrize(("samples", "words"), [([], "0 samples"), ([sample(0, 1), sample(9, 1)], "no event became due")])
def test_too_little_is_refused(samples: list[Sample], words: str) -> None:
    with pytest.raises(InvalidError, match=words):
        input_of(samples, "run")


def test_courses_differ_from_one_moment_to_the_next() -> None:
    first = [(0.0, {"a": 1, "b": 2}), (10.0, {"a": 3, "b": 2})]
    second = [(0.0, {"a": 1, "b": 2}), (4.0, {"a": 2, "b": 2}), (15.0, {"a": 3, "b": 5})]
    assert differences(first, second, 20.0) == [
        Difference(4.0, 10.0, "a", 1, 2),
        Difference(10.0, 15.0, "a", 3, 2),
        Difference(15.0, 20.0, "b", 2, 5),
    ]
    assert differences(first, first, 20.0) == []


def test_means_are_over_time() -> None:
    course = replicas_of([sample(5, 0, 1), sample(6, 0, 1), sample(10, 0, 4), sample(11, 0, 4, complete=False)], 5.0)
    assert course == [(0.0, {"a": 1}), (5.0, {"a": 4})]
    assert mean_active(course, 10.0) == {"a": 2.5}


class Read(list[Any]):
    """A course that counts how often somebody looks into it."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.looks += 1
            yield each


def test_courses_of_a_long_run_are_gone_through_once_for_each_bolt() -> None:
    first = Read((float(second), {"a": second % 3}) for second in range(500))
    second = Read((second + 0.5, {"a": second % 2}) for second in range(500))
    assert len(differences(first, second, 500.0)) > 500
    assert max(first.looks, second.looks) < 10 * 500
