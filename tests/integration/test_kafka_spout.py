"""Kafka in real workers, and its reader on a real thread, over librdkafka's mock brokers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pasps import LocalCluster, RunningTopology
from pasps.connectors import kafka_client, kafka_reader
from pasps.connectors.kafka_client import ask_brokers
from tests.integration.kafka_mock import KafkaMock
from tests.integration.kafka_tasks import ROOM, Flow, Task
from tests.integration.running import config, kill, rows, spout_worker, until, until_replaced, written

pytestmark = pytest.mark.integration

SHORT = {"kafka.consumer.session.timeout.ms": 1000, "kafka.consumer.heartbeat.interval.ms": 100}
"""The mock brokers wait for a dead member; real ones know a task that comes back."""
NEW_PROTOCOL = {"kafka.consumer.group.protocol": "consumer"}


@pytest.fixture
def kafka() -> Iterator[KafkaMock]:
    mock = KafkaMock()
    yield mock
    mock.close()


def complete(running: RunningTopology, directory: Path, total: int) -> None:
    def missing() -> set[int]:
        return set(range(total)) - {row[0] for row in rows(directory)}

    until(lambda: not missing(), lambda: f"{sorted(missing())[:5]} ...: {running.stats()}, {[e.text for e in running.errors]}")


def test_every_message_comes_through_a_worker_s_death_and_is_committed(tmp_path: Path, kafka: KafkaMock) -> None:
    total, partitions = 2000, 4
    kafka.topic("numbers", partitions)
    for partition in range(partitions):
        kafka.send("numbers", partition, [b"%d" % n for n in range(partition, total, partitions)])
    keys = {"kafka.brokers": kafka.brokers, "kafka.topics": "numbers", "kafka.group": "flow", "kafka.pending": 200, **SHORT}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Flow, config=config(tmp_path, **keys))
        until(lambda: written(tmp_path) >= 300, lambda: f"300 lines: {running.stats()}")
        victim = spout_worker(running)
        kill(victim)
        until_replaced(running, victim)
        complete(running, tmp_path, total)
        ends = [total // partitions] * partitions
        until(lambda: kafka.committed("flow", "numbers", partitions) == ends, "the offsets of all")
        stats = until(lambda: s if (s := running.stats()).components["numbers"].knows_backlog else None, "the backlog of both tasks")
        assert stats.components["numbers"].backlog == 0
        assert stats.components["numbers"].restarts > 0
        running.kill()


@pytest.fixture
def tasks() -> Iterator[list[Task]]:
    """Ended after the test, whatever becomes of it."""
    started: list[Task] = []
    yield started
    for task in started:
        task.reader.close()


def test_partitions_go_to_a_second_task_with_what_is_done(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 4)
    for partition in range(4):
        kafka.send("numbers", partition, [b"x"] * 10)
    first = Task(kafka, 0, **NEW_PROTOCOL)
    tasks.append(first)
    until(first.taken(40), "all messages at the first task")
    for event in first.events:
        if event.record.offset != 5:
            first.reader.done(event)
    second = Task(kafka, 1, **NEW_PROTOCOL)
    tasks.append(second)
    until(second.taken(10), "messages at the second task")
    moved = second.offsets()
    assert list(moved.values()) == [[5, 6, 7, 8, 9]] * 2, "of two partitions, from the first that was not done"
    left = [event for event in first.events if first.reader.owns(event)]
    assert {event.record.partition for event in left}.isdisjoint(moved)
    until(lambda: (first.reader.backlog(), second.reader.backlog()) == (0, 0), "both to know their backlog")
    for event in [*left, *second.events]:
        (first if event in left else second).reader.done(event)
    until(lambda: kafka.committed("flow", "numbers", 4) == [10] * 4, "the offsets of all")


def test_a_stopped_task_leaves_what_is_done_committed(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 1)
    kafka.send("numbers", 0, [b"x"] * 10)
    first = Task(kafka, **NEW_PROTOCOL)
    tasks.append(first)
    until(first.taken(10), "all messages")
    for event in first.events[:7]:
        first.reader.done(event)
    first.reader.close()
    assert kafka.committed("flow", "numbers", 1) == [7]
    second = Task(kafka, **NEW_PROTOCOL)
    tasks.append(second)
    until(second.taken(3), "the rest")
    assert second.offsets() == {0: [7, 8, 9]}


def test_brokers_that_go_away_are_told_of_and_come_back(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 1)
    kafka.down()
    task = Task(kafka)
    tasks.append(task)
    (problem,) = until(task.reader.news, "news")
    assert problem.startswith(f"Kafka: none of the brokers '{kafka.brokers}' can be reached: ")
    assert task.reader.backlog() is None
    kafka.up()
    kafka.send("numbers", 0, [b"x"] * 10)
    until(task.taken(10), "all messages")
    kafka.down()
    for event in task.events:
        task.reader.done(event)
    until(task.reader.news, "news")
    kafka.up()
    until(lambda: kafka.committed("flow", "numbers", 1) == [10], "the offset")


def test_brokers_that_stay_away_are_told_of_once_and_noticed_when_they_are_back_each_time(
    kafka: KafkaMock, tasks: list[Task], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Future[Any]] = []

    def ask(client: Any) -> Future[Any]:
        asked.append(ask_brokers(client))
        return asked[-1]

    monkeypatch.setattr(kafka_client, "_ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(kafka_reader, "ask_brokers", ask)
    caplog.set_level(logging.INFO, "pasps.connectors.kafka_troubles")
    kafka.topic("numbers", 1)
    task = Task(kafka, **{"kafka.consumer.reconnect.backoff.max.ms": 200})
    tasks.append(task)
    until(lambda: task.reader.backlog() == 0, "the end of an empty topic")
    for outage in (1, 2):
        kafka.down()
        (problem,) = until(task.reader.news, "news")
        assert problem.startswith(f"Kafka: none of the brokers '{kafka.brokers}' can be reached: ")
        before = len(asked)
        until(lambda: len([question for question in asked[before:] if question.done()]) >= 3, "questions that nobody answers")  # noqa: B023
        assert task.reader.news() == []
        kafka.up()
        until(lambda: caplog.text.count("a broker is back") == outage, "the task to notice")  # noqa: B023


def test_a_topic_that_is_not_there_is_told_of_and_read_when_it_is(kafka: KafkaMock, tasks: list[Task]) -> None:
    task = Task(kafka, **{"kafka.consumer.topic.metadata.refresh.interval.ms": 300})
    tasks.append(task)
    (problem,) = until(task.reader.news, "news")
    assert problem.endswith("Unknown topic or partition; make the topic, or correct 'kafka.topics'; it is looked for again")
    kafka.topic("numbers", 1)
    kafka.send("numbers", 0, [b"x"])
    until(task.taken(1), "the message")


def test_a_header_that_the_client_cannot_give_makes_one_message_unreadable(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 1)
    kafka.send("numbers", 0, [b"x"] * 100)  # after some calls Python's fast ones take over, which see no error
    kafka.send_with_header("numbers", b"caf\xe9", b"odd")
    kafka.send("numbers", 0, [b"x"] * 100)
    task = Task(kafka)
    tasks.append(task)
    until(task.taken(201), "all messages")
    (odd,) = [event for event in task.events if event.trouble]
    assert (odd.record.offset, odd.record.value, odd.record.headers) == (100, b"odd", ())
    assert odd.trouble.startswith("its headers: 'utf-8' codec can't decode byte 0xe9")
    assert task.reader.news() == []


def test_a_group_that_begins_at_the_end_does_not_lose_its_beginning(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 1)
    kafka.send("numbers", 0, [b"old"] * 5)
    task = Task(kafka, **{"kafka.start": "latest"})
    tasks.append(task)

    def begun() -> bool:
        task.reader.take(10, ROOM)
        return kafka.committed("flow", "numbers", 1) == [5]

    until(begun, "the offset where it begins, though nothing was emitted yet")
    kafka.send("numbers", 0, [b"new"])
    until(task.taken(1), "the message")
    assert task.offsets() == {0: [5]}


def test_while_nobody_takes_messages_the_lag_is_known_and_nothing_is_lost_after(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 2)
    for partition in range(2):
        kafka.send("numbers", partition, [b"x"] * 2000)
    task = Task(kafka)
    tasks.append(task)
    until(lambda: task.reader.backlog() == 4000, "the lag, also of the partition that waits behind the other")
    kafka.send("numbers", 0, [b"x"] * 500)
    until(lambda: task.reader.backlog() == 4500, "the lag, though nothing is fetched")
    until(task.taken(4500), "all messages")
    assert task.offsets() == {0: [*range(2500)], 1: [*range(2000)]}
    assert task.reader.backlog() == 0


def test_what_is_given_up_is_in_its_topic_before_it_is_committed(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 1)
    kafka.topic("dead", 1)
    kafka.send("numbers", 0, [b"one", b"bad"], key=b"k")
    task = Task(kafka, **{"kafka.tries": 2, "kafka.dead.topic": "dead"})
    tasks.append(task)
    until(task.taken(2), "both messages")
    task.reader.done(task.events[0])
    assert task.reader.set_aside(task.events[1], "failed 2 times") == "it goes to the topic 'dead'"
    until(lambda: kafka.committed("flow", "numbers", 1) == [2], "the offset")
    (letter,) = kafka.messages("dead")
    assert (letter.key(), letter.value()) == (b"k", b"bad")
    origin = {"pasps.topic": b"numbers", "pasps.partition": b"0", "pasps.offset": b"1", "pasps.reason": b"failed 2 times"}
    assert dict(letter.headers()) == origin


def test_a_dead_letter_may_be_large_and_one_that_is_refused_leaves_its_origin(kafka: KafkaMock, tasks: list[Task]) -> None:
    kafka.topic("numbers", 1)
    kafka.topic("dead", 1)
    large = b"x" * 1_500_000
    kafka.send("numbers", 0, [b"refused", large, b"small"], key=b"k")
    task = Task(kafka, **{"kafka.dead.topic": "dead"})
    tasks.append(task)
    until(task.taken(3), "all messages")
    kafka.refuse_produce(KafkaError.MSG_SIZE_TOO_LARGE)
    for event in task.events:
        task.reader.set_aside(event, "cannot be read")
    until(lambda: task.reader.parting()[0] == 0, "all to be there")
    assert {letter.value() for letter in kafka.messages("dead")} == {large, b"small", None}
    (problem,) = task.reader.news()
    assert problem.endswith("message 0 of numbers[0] goes to 'dead' without its key, value and headers")
