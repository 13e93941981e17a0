"""What failed too often, on its way to a topic of its own."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaException

from pasps.connectors.kafka_partitions import KafkaRecord
from pasps.connectors.kafka_reader import DeadMessages
from pasps.connectors.read_ahead import Event
from pasps.testing import FakeClock
from tests.unit.connectors.kafka_consumer import Error, settings


class FakeProducer:
    """Answers in the next poll: `answers` are errors, or None for delivered."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.answers: list[Error | None] = []
        self.flushed: list[float] = []
        self.room = 100
        self.refuses: dict[int, Error] = {}
        """By the call of `produce`."""
        self._asked: list[Any] = []

    def produce(self, topic: str, value: bytes, key: bytes, *, headers: list[Any], on_delivery: Any) -> None:
        if len(self._asked) >= self.room:
            raise BufferError
        error = self.refuses.pop(len(self.sent), None)
        if error is not None:
            raise KafkaException(error)
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
        self.clock = FakeClock()
        found = settings(tries=2, dead__topic="dead")
        self.dead = DeadMessages("dead", found, self.clock, self.done.append, self.told.append, lambda _: self.producer)

    def put(self, offset: int) -> Event:
        event = Event(None, KafkaRecord("orders", 3, offset, b"k", b"v", None, (("trace", b"1"),)), None, 8)
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
    origin = [("pasps.topic", "orders"), ("pasps.partition", "3"), ("pasps.offset", "12"), ("pasps.reason", b"failed 2 times")]
    assert letters.producer.sent == [("dead", b"k", b"v", [("trace", b"1"), *origin])]


def test_what_is_not_delivered_is_told_and_sent_again() -> None:
    letters = Letters()
    event = letters.put(12)
    letters.producer.answers += [Error("_MSG_TIMED_OUT", "timed out"), None]
    letters.dead.send()
    assert letters.told == ["Kafka: timed out; message 12 of orders[3] could not be put into 'dead', and is tried again"]
    letters.dead.send()
    assert len(letters.producer.sent) == 1, "it waits"
    letters.clock.advance(0.1)
    letters.dead.send()
    assert (letters.done, len(letters.producer.sent), letters.dead.parting()[0]) == ([event], 2, 0)


def test_many_that_are_not_delivered_are_told_of_once_and_tried_after_pauses_that_grow() -> None:
    letters = Letters()
    for offset in range(3):
        letters.put(offset)
    for _ in range(100):
        letters.producer.answers += [Error("TOPIC_AUTHORIZATION_FAILED", "no")] * 3
        letters.dead.send()
        letters.clock.advance(0.1)
    assert letters.told == [
        "Kafka: no; the user needs WRITE on the topic; message 0 of orders[3] could not be put into 'dead', and is tried again"
    ]
    assert (len(letters.producer.sent), letters.dead.parting()[0]) == (7 * 3, 3)


def test_what_the_client_refuses_is_told_and_does_not_hold_up_the_others() -> None:
    letters = Letters()
    events = [letters.put(offset) for offset in range(3)]
    letters.producer.refuses[1] = Error("_UNKNOWN_TOPIC", "unknown")
    letters.producer.answers += [None, None]
    letters.dead.send()
    assert letters.done == [events[0], events[2]]
    assert letters.told == [
        "Kafka: unknown; make the topic, or correct 'kafka.dead.topic'; message 1 of orders[3] could not be put into 'dead', "
        "and is tried again"
    ]
    letters.clock.advance(0.1)
    letters.producer.answers.append(None)
    letters.dead.send()
    assert letters.done == [events[0], events[2], events[1]]


def test_of_a_message_that_is_too_large_there_it_is_told_where_it_is() -> None:
    for refused_by_the_client in (True, False):
        letters = Letters()
        events = [letters.put(offset) for offset in range(2)]
        error = Error("MSG_SIZE_TOO_LARGE", "too large")
        if refused_by_the_client:
            letters.producer.refuses[0] = error
        else:
            letters.producer.answers.append(error)
        letters.producer.answers += [None, None]
        letters.dead.send()
        letters.dead.send()
        assert (letters.done, letters.dead.parting()[0]) == ([events[1], events[0]], 0)
        assert letters.told == ["Kafka: too large; message 0 of orders[3] goes to 'dead' without its key, value and headers"]
        topic, key, value, headers = letters.producer.sent[-1]
        assert (topic, key, value) == ("dead", None, None)
        assert dict(headers)["pasps.offset"] == "0"
        assert headers[-1] == ("pasps.left.out", "key, value and headers")


def test_what_is_not_taken_without_its_value_either_is_left_out_and_told() -> None:
    letters = Letters()
    event = letters.put(12)
    letters.producer.answers += [Error("INVALID_RECORD", "invalid"), Error("INVALID_RECORD", "invalid")]
    letters.dead.send()
    letters.dead.send()
    assert (letters.done, letters.dead.parting()[0]) == ([event], 0)
    assert letters.told[1] == "Kafka: invalid; message 12 of orders[3] is left out of 'dead': not even its origin is taken there"


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
    letters.dead.flush(3.0)
    letters.dead.flush(0.5)
    assert (letters.done, letters.producer.flushed) == ([event], [2.0, 0.5])
