"""Without room the lag is known all the same."""

from __future__ import annotations

from confluent_kafka import KafkaException

from tests.unit.connectors.kafka_consumer import KEY, OTHER, Run

THIRD = ("orders", 2)


def full(run: Run) -> None:
    """As much is read as there is room for."""
    run.client.assign(KEY)
    run.client.give(KEY, *range(1100))
    run.read(4)
    assert 95 < len(run.client.events) <= 100


def test_without_room_the_brokers_are_asked_where_partitions_end() -> None:
    run = Run()
    full(run)
    run.admin.ends[KEY] = 5000
    run.read(2)
    assert run.reader.backlog() == 5000
    run.admin.ends[KEY] = 6000
    run.read(3)
    assert run.reader.backlog() == 5000, "not all the time"
    run.clock.advance(0.5)
    run.read(2)
    assert (run.reader.backlog(), run.admin.made) == (6000, 1)


def test_with_room_nobody_is_asked() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, 1)
    run.read(3)
    assert run.admin.made == 0


def test_while_no_answer_comes_nobody_is_asked_again() -> None:
    run = Run()
    full(run)
    run.admin.silent = True
    run.admin.ends[KEY] = 5000
    for _ in range(5):
        run.read()
        run.clock.advance(1.0)
    assert (run.admin.questions, run.reader.backlog()) == (1, None)
    run.admin.speak()
    run.read()
    assert run.reader.backlog() == 5000


def test_partitions_of_which_nothing_has_come_count_from_where_they_will_begin() -> None:
    for start, third in (("earliest", 30), ("latest", 0)):
        run = Run(start=start)
        full(run)
        run.client.events.clear()
        run.client.assign(OTHER, THIRD)
        run.read()
        run.clock.advance(1.0)
        run.admin.ends = {KEY: 1100, OTHER: 150, THIRD: 40}
        run.admin.begins = {THIRD: 10}
        run.client.group = {OTHER: 120}
        run.read(4)
        assert run.reader.backlog() == 1100 + 30 + third


def test_brokers_that_do_not_say_are_asked_again() -> None:
    run = Run()
    full(run)
    run.read(2)
    assert (run.reader.backlog(), run.admin.questions) == (None, 1)
    run.admin.ends[KEY] = 1100
    run.clock.advance(0.5)
    run.read(2)
    assert run.reader.backlog() == 1100


def test_an_answer_for_a_partition_that_is_gone_is_of_no_use() -> None:
    run = Run()
    full(run)
    run.admin.silent = True
    run.admin.ends[KEY] = 5000
    run.read(2)
    run.client.events.clear()
    run.client.revoke(KEY)
    run.clock.advance(1.0)
    run.read(2)
    run.admin.speak()
    run.client.assign(KEY)
    run.read(2)
    assert run.reader.backlog() is None


def test_while_the_group_s_coordinator_does_not_say_the_lag_is_not_known_and_it_is_asked_again() -> None:
    run = Run()
    full(run)
    run.client.events.clear()
    run.client.assign(OTHER)
    run.read()
    run.admin.ends = {KEY: 1100, OTHER: 150}
    run.client.away = KafkaException("timed out")
    run.clock.advance(1.0)
    run.read(4)
    assert run.reader.backlog() is None
    run.client.away, run.client.group = None, {OTHER: 120}
    run.clock.advance(0.5)
    run.read(2)
    assert run.reader.backlog() == 1100 + 30
