"""What failed too often, on its way to a topic of its own."""

from __future__ import annotations

from typing import Any

from pasps.connectors.kafka_dead import DeadLetters
from pasps.connectors.kafka_partitions import KafkaRecord
from pasps.connectors.read_ahead import Event
from tests.unit.connectors.kafka_consumer import Error, settings


class FakeProducer:
    """Answers in the next poll: `answers` are errors, or None for delivered."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.answers: list[Error | None] = []
        self.flushed: list[float] = []
        self.room = 100
        self._asked: list[Any] = []

    def produce(self, topic: str, value: bytes, key: bytes, *, headers: list[Any], on_delivery: Any) -> None:
        if len(self._asked) >= self.room:
            raise BufferError
        self.sent.append((topic, key, value, headers))
        self._asked.append(on_delivery)

    def poll(self, _: float) -> None:
        while self._asked and self.answers:
            self._asked.pop(0)(self.answers.pop(0), None)

    def flush(self, seconds: float) -> None:
        self.flushed.append(seconds)
        self.poll(0)


class Letters:
    def __init__(self) -> None:
        self.producer = FakeProducer()
        self.done: list[Event] = []
        self.told: list[str] = []
        self.dead = DeadLetters(settings(tries=2, dead__topic="dead"), self.done.append, self.told.append, lambda _: self.producer)

    def put(self, offset: int) -> Event:
        event = Event(None, KafkaRecord("orders", 3, offset, b"k", b"v", None, (("trace", b"1"),)), None)
        self.dead.put(event, "failed 2 times")
        return event


def test_a_message_is_done_when_it_is_delivered_with_where_it_came_from() -> None:
    letters = Letters()
    event = letters.put(12)
    letters.dead.send()
    assert letters.done == []
    letters.producer.answers.append(None)
    letters.dead.send()
    assert letters.done == [event]
    origin = [("pasps.topic", "orders"), ("pasps.partition", "3"), ("pasps.offset", "12"), ("pasps.reason", "failed 2 times")]
    assert letters.producer.sent == [("dead", b"k", b"v", [("trace", b"1"), *origin])]


def test_what_is_not_delivered_is_told_and_sent_again() -> None:
    letters = Letters()
    event = letters.put(12)
    letters.producer.answers += [Error("_MSG_TIMED_OUT", "timed out"), None]
    letters.dead.send()
    assert letters.told == ["Kafka: timed out; message 12 of orders[3] could not be put into 'dead', and is tried again"]
    letters.dead.send()
    assert (letters.done, len(letters.producer.sent)) == ([event], 2)


def test_without_room_at_the_producer_they_wait_in_order() -> None:
    letters = Letters()
    letters.producer.room = 1
    events = [letters.put(offset) for offset in range(3)]
    for _ in range(3):
        letters.producer.answers.append(None)
        letters.dead.send()
    assert letters.done == events


def test_at_the_end_it_waits_for_what_is_on_its_way() -> None:
    letters = Letters()
    event = letters.put(12)
    letters.dead.send()
    letters.producer.answers.append(None)
    letters.dead.flush()
    assert (letters.done, letters.producer.flushed) == ([event], [2.0])
