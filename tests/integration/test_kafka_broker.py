"""What librdkafka's mock brokers do not do, on a real one: members that wait for each other, fixed names, a log that outlives a crash.

Its jars are fetched when they are not there, for a minute at most; `make kafka-test` waits longer.
"""

from __future__ import annotations

import logging
import os
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from pasps import LocalCluster, Topology
from pasps.connectors.read_ahead import Event
from tests.integration.broker_bolts import Slow
from tests.integration.kafka_broker import KafkaBroker, NoKafkaError, jars
from tests.integration.kafka_tasks import Flow, Numbers, Task
from tests.integration.running import config, rows, until, written
from tests.integration.topologies import WriteDown

pytestmark = pytest.mark.integration

PARTITIONS = 4
HEARTBEAT = "kafka.consumer.heartbeat.interval.ms"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    asked_for = "PASPS_KAFKA_TEST" in os.environ
    try:
        libraries = jars(600.0 if asked_for else 60.0)
    except NoKafkaError as error:
        (pytest.fail if asked_for else pytest.skip)(f"{error}; `make kafka-test` tries it for longer")
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka") / "broker", libraries)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


@pytest.fixture
def topic(kafka: KafkaBroker) -> str:
    """The name of a new topic, of the group that reads it, and of the topology."""
    name = f"numbers-{uuid.uuid4().hex[:8]}"
    kafka.topic(name, PARTITIONS)
    return name


@pytest.fixture
def tasks() -> Iterator[list[Task]]:
    """Ended after the test, whatever becomes of it."""
    started: list[Task] = []
    yield started
    for task in started:
        task.reader.close()


class OneTask(Topology):
    numbers = Numbers.spec()
    slow = Slow.spec(inputs=[numbers])
    sink = WriteDown.spec(inputs=[slow])


def fill(kafka: KafkaBroker, topic: str, total: int) -> None:
    for partition in range(PARTITIONS):
        kafka.send(topic, partition, [b"%d" % n for n in range(partition, total, PARTITIONS)])


def numbers(directory: Path) -> set[int]:
    return {row[0] for row in rows(directory)}


class Worked:
    """How far a task has done its messages: a few with each look, and only those that are still its own."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.last: dict[int, Event] = {}
        self.count = 0

    def go_on(self) -> int:
        for event in self.task.reader.take(5, 1 << 20):
            if self.task.reader.owns(event):
                self.task.reader.done(event)
                self.last[event.record.partition] = event
                self.count += 1
        return self.count


@pytest.mark.parametrize("static", [True, False])
def test_two_tasks_that_stop_while_one_waits_for_the_other_have_committed_all(
    kafka: KafkaBroker, topic: str, tasks: list[Task], static: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pasps.connectors.kafka_reader")
    fill(kafka, topic, 40_000)
    keys = {"kafka.topics": topic, "kafka.group": topic, "kafka.static": static}
    first = Task(kafka, 0, **keys)
    tasks.append(first)
    worked = Worked(first)
    until(lambda: worked.go_on() >= 500, "500 messages")
    # it hears late that the first one has given up two partitions, and has joined again
    second = Task(kafka, 1, **keys, **{HEARTBEAT: 3000})
    tasks.append(second)

    def waits() -> bool:
        worked.go_on()
        return "gives up" in caplog.text and kafka.rebalances(topic)

    until(waits, "the first task to wait for the second one")
    enough = worked.count + 100
    until(lambda: worked.go_on() >= enough, "more messages of the partitions that stay")
    lows = {place: event.record.offset + 1 for place, event in worked.last.items() if first.reader.owns(event)}
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda task: task.reader.close(30), tasks))  # what a busy machine needs is not the matter here
    assert (first.reader.news(), second.reader.news()) == ([], [])
    committed = kafka.committed(topic, topic, PARTITIONS)
    assert lows
    assert {partition: committed[partition] for partition in lows} == lows


def test_what_could_not_be_committed_before_the_end_is_among_the_errors(kafka: KafkaBroker, topic: str, tmp_path: Path) -> None:
    fill(kafka, topic, 20_000)
    keys = {"kafka.brokers": kafka.brokers, "kafka.topics": topic, "kafka.group": topic, "kafka.pending": 50}
    # hears so late that it is to join again that nobody can wait for it
    late = {"heartbeat.interval.ms": 60_000, "session.timeout.ms": 90_000, "partition.assignment.strategy": "cooperative-sticky"}
    stranger = Consumer({"bootstrap.servers": kafka.brokers, "group.id": topic, **late})
    assigned: list[Any] = []
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(OneTask, config=config(tmp_path, **keys))
        until(lambda: written(tmp_path) >= 200, lambda: f"200 lines: {running.stats()}, {[e.text for e in running.errors]}")
        stranger.subscribe([topic], on_assign=lambda _, partitions: assigned.append(partitions))

        def waits() -> bool:
            stranger.poll(0)
            return bool(assigned) and kafka.rebalances(topic)

        until(waits, "the task to wait for the stranger")
        enough = written(tmp_path) + 100
        until(lambda: written(tmp_path) >= enough, "more messages of the partitions that stay")
        running.kill()
        (told,) = [error.text for error in running.errors]
    assert told.startswith("Kafka: what is done could not be committed, and comes again at the next start: ")
    committed = kafka.committed(topic, topic, PARTITIONS)
    spans = re.findall(r"\[(\d+)\] (\d+) to (\d+)", told)
    # a negative position says that nothing of the partition was ever committed
    assert [(max(0, committed[int(partition)]), int(last) >= int(first)) for partition, first, last in spans] == [
        (int(first), True) for _, first, _ in spans
    ]
    stranger.close()


def test_after_an_orderly_stop_nothing_comes_again(kafka: KafkaBroker, topic: str, tmp_path: Path) -> None:
    total = 1000
    keys = {"kafka.brokers": kafka.brokers, "kafka.topics": topic, "kafka.group": topic, "kafka.pending": 100}
    before, after = tmp_path / "before", tmp_path / "after"
    with LocalCluster(workers=2) as cluster:
        for directory in (before, after):
            directory.mkdir()
            running = cluster.submit(Flow, config=config(directory, **keys))
            # messages of a partition that moves meanwhile may be done by both
            until(lambda: kafka.members(topic) == 2, "both tasks to have their partitions")
            if directory == before:
                fill(kafka, topic, total)
                until(lambda: written(before) >= 200, lambda: f"200 lines: {running.stats()}")  # noqa: B023
                running.drain(30)
            else:
                until(lambda: numbers(before) | numbers(after) == set(range(total)), lambda: f"the rest: {running.stats()}")  # noqa: B023
            running.kill()
            assert [error.text for error in running.errors if "committed" in error.text] == []
    assert numbers(before).isdisjoint(numbers(after))


def test_a_broker_that_crashed_is_told_of_once_and_read_on_where_it_was(kafka: KafkaBroker, topic: str, tasks: list[Task]) -> None:
    fill(kafka, topic, 4000)
    keys = {"kafka.topics": topic, "kafka.group": topic, "kafka.consumer.reconnect.backoff.max.ms": 200}
    task = Task(kafka, **keys)
    tasks.append(task)
    worked = Worked(task)
    until(lambda: worked.go_on() >= 500, "500 messages")
    kafka.kill()
    until(lambda: "_ALL_BROKERS_DOWN" in task.errors, "the client to say that none is there")
    kafka.start()
    until(lambda: worked.go_on() >= 4000, lambda: f"the rest of the messages: {worked.count}")
    ends = [1000] * PARTITIONS
    until(lambda: kafka.committed(topic, topic, PARTITIONS) == ends, "the offsets of all")
    news = task.reader.news()
    # a commit that was on its way when the broker crashed may be told of too
    (problem,) = [problem for problem in news if not problem.endswith(" is not committed, and tried again")]
    assert problem.startswith(f"Kafka: none of the brokers '{kafka.brokers}' can be reached: "), news
