"""Without room nothing is fetched, and the group is still answered."""

from __future__ import annotations

from tests.unit.connectors.kafka_consumer import KEY, OTHER, Run


def full() -> Run:
    """As much is read as there is room for."""
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, *range(1100))
    run.read(4)
    assert 95 < len(run.client.events) <= 100
    return run


def test_without_room_partitions_are_paused_after_a_second_and_polls_go_on() -> None:
    run = full()
    polls = run.client.polls
    run.read()
    assert (run.client.paused, run.client.polls) == (set(), polls)
    run.clock.advance(1.0)
    run.read()
    assert (run.client.paused, run.client.polls) == ({KEY}, polls + 1)
    run.client.assign(OTHER)
    run.read(2)
    assert run.client.paused == {KEY, OTHER}
    assert len(run.take(600)) == 600
    run.read()
    assert run.client.paused == set()
