"""Entries that dead members left, and entries that were deleted before they were done."""

from __future__ import annotations

from tests.unit.connectors.redis_stream import Run


def test_what_was_deleted_while_it_was_pending_is_acked_and_told() -> None:
    dead = Run()
    dead.stream.add(1, 2, 3)
    dead.read()
    dead.take()
    dead.stream.delete(1, 3)
    fresh = Run(dead.stream)
    fresh.read()
    assert (fresh.take(), list(fresh.stream.pending)) == ([2], ["2-0"])
    (problem,) = fresh.reader.news()
    assert problem.startswith("Redis: 2 entries of stream 'orders' were deleted while they were pending, and are lost; trim the stream")


def test_what_was_deleted_while_it_is_in_flight_is_processed_all_the_same() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.read()
    assert run.take() == [1, 2]
    run.stream.delete(1)
    run.stream.away = "refused"
    run.read(1)
    run.stream.away = ""
    run.clock.advance(0.2)
    run.read()
    run.finish()
    assert (run.reader.news()[1:], run.stream.pending) == ([], {})


def test_what_a_dead_member_left_is_taken_over_when_it_was_idle_for_long() -> None:
    dead = Run(index=1, tasks=2, claim__seconds=60)
    dead.stream.add(1, 2, 3)
    dead.read()
    dead.stream.delete(3)
    run = Run(dead.stream, index=0, tasks=2, claim__seconds=60)
    run.read()
    run.clock.advance(59.0)
    run.read()
    assert run.take() == []
    run.clock.advance(31.0)
    run.read()
    assert run.take() == [1, 2]
    assert run.reader.news()[0].startswith("Redis: 1 entries")


def test_a_living_member_s_entries_are_not_taken_over_however_long_they_take() -> None:
    slow = Run(index=1, tasks=2, claim__seconds=60)
    slow.stream.add(1, 2, 3)
    slow.read()
    slow.take(1)
    run = Run(slow.stream, index=0, tasks=2, claim__seconds=60)
    for _ in range(30):
        run.clock.advance(10.0)
        slow.read()
        run.read()
    assert (run.take(), slow.take()) == ([], [2, 3])


def test_much_that_others_left_is_taken_over_as_there_is_room() -> None:
    dead = Run(index=1, tasks=2)
    dead.stream.add(*range(1, 2501))
    while len(dead.stream.pending) < 2500:
        dead.read(1)
        dead.take()
    run = Run(dead.stream, index=0, tasks=2)
    run.clock.advance(100.0)
    taken: list[int] = []
    while len(taken) < 2500:
        run.read(1)
        taken += run.take()
    assert taken == [*range(1, 2501)]
