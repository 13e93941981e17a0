"""How much of a spout that reads ahead is in flight at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.connectors.read_ahead_runs import Judge, Reads, as_it_was, emitted, executors, started


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    with as_it_was():
        yield


def test_at_most_so_many_are_in_flight() -> None:
    Reads.most_pending, Judge.keeps = 3, frozenset(range(10))
    run, reader = started()
    with run:
        reader.put(*range(10))
        run.advance(1.0)
        assert emitted(run) == [0, 1, 2]
        assert executors(run)[0].instance.backlog() == 7


def test_what_was_put_aside_and_is_not_there_yet_counts_as_in_flight() -> None:
    Reads.most_pending = 3
    run, reader = started()
    with run:
        reader.put(404, 404, 404)
        reader.away = (3, 0)
        run.advance(0.5)
        assert (len(reader.aside), len(reader.waiting)) == (0, 3)
        reader.away = (1, 0)
        run.advance(0.5)
        assert len(reader.aside) == 3


def test_at_most_so_many_bytes_are_in_flight() -> None:
    Judge.keeps = frozenset(range(10))
    run, reader = started()
    with run:
        reader.put(*range(10), size=30 << 20)
        run.advance(1.0)
        assert emitted(run) == [0, 1, 2], "the last one may go beyond"


def test_bytes_of_what_is_done_are_free_again() -> None:
    run, reader = started()
    with run:
        reader.put(*range(10), size=30 << 20)
        run.advance(1.0)
        assert reader.finished == [*range(10)]


def test_bytes_of_what_was_put_aside_and_is_not_there_yet_count_too() -> None:
    run, reader = started()
    with run:
        reader.put(1)
        reader.away = (1, 64 << 20)
        run.advance(0.5)
        assert emitted(run) == []
        reader.away = (0, 0)
        run.advance(0.5)
        assert emitted(run) == [1]


def test_an_event_of_any_size_is_emitted() -> None:
    run, reader = started()
    with run:
        reader.put(1, 2, size=1 << 30)
        run.advance(0.5)
        assert reader.finished == [1, 2]
