"""What the tests of Kafka share: a topology, questions to brokers, mock or real, and a reader on its thread without a topology."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from pasps import Topology, TopologyContext
from pasps.clock import SystemClock
from pasps.connectors.kafka import KafkaRecord, KafkaSpout
from pasps.connectors.kafka_client import KafkaSettings, open_consumer, settings_of
from pasps.connectors.kafka_reader import KafkaReader
from pasps.connectors.read_ahead import Event
from tests.integration.broker_bolts import Slow
from tests.integration.topologies import WriteDown

SECONDS = 60.0
ROOM = 64 << 20


class Numbers(KafkaSpout):
    outputs = ("n",)

    def values(self, record: KafkaRecord) -> tuple[int]:
        return (int(record.value or b""),)


class Flow(Topology):
    numbers = Numbers.spec(par=2)
    slow = Slow.spec(inputs=[numbers], par=4)
    sink = WriteDown.spec(inputs=[slow])


class Brokers:
    """Subclasses say where they are."""

    brokers: str

    def send(self, topic: str, partition: int, values: list[bytes], **more: Any) -> None:
        """Append to a partition."""
        producer = Producer({"bootstrap.servers": self.brokers, "linger.ms": 0, "message.max.bytes": 10_000_000})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(SECONDS) == 0

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        """The offset of each partition; -1001: none."""
        with self._reader(group) as reader:
            found = reader.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=SECONDS)
        return [partition.offset for partition in found]

    def messages(self, topic: str, partition: int = 0) -> list[Any]:
        """All that stand in a partition now."""
        with self._reader("nobody") as reader:
            _, end = reader.get_watermark_offsets(TopicPartition(topic, partition), timeout=SECONDS)
            reader.assign([TopicPartition(topic, partition, 0)])
            found: list[Any] = []
            while len(found) < end:
                found += reader.consume(end - len(found), timeout=1.0)
        return found

    @contextmanager
    def _reader(self, group: str) -> Iterator[Any]:
        reader = Consumer({"bootstrap.servers": self.brokers, "group.id": group})
        try:
            yield reader
        except KafkaException as error:
            raise AssertionError(f"the brokers do not answer: {error}") from error
        finally:
            reader.close()


class Context:
    topology_name, component_id = "flow", "numbers"

    def __init__(self, index: int) -> None:
        self.task_index = index


class Task:
    """A reader on its thread, without a topology."""

    def __init__(self, kafka: Brokers, index: int = 0, **more: Any) -> None:
        self.errors: list[str] = []
        """Names of what the client has told of."""
        keys = {"kafka.brokers": kafka.brokers, "kafka.topics": "numbers", "kafka.group": "flow", **more}
        self.reader = KafkaReader(settings_of(keys, cast("TopologyContext", Context(index))), SystemClock(), self._connect)
        self.reader.start()
        self.events: list[Event] = []

    def _connect(self, settings: KafkaSettings, on_error: Callable[[Any], None], on_commit: Callable[[Any, list[Any]], None]) -> Any:
        def heard(error: Any) -> None:
            self.errors.append(error.name())
            on_error(error)

        return open_consumer(settings, heard, on_commit)

    def taken(self, count: int) -> Callable[[], bool]:
        """Take what comes, until there are so many."""

        def enough() -> bool:
            self.events += self.reader.take(1000, ROOM)
            return len(self.events) >= count

        return enough

    def offsets(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for event in self.events:
            found.setdefault(event.record.partition, []).append(event.record.offset)
        return found
