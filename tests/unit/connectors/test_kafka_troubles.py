"""Which errors of the client people hear of."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pasps.connectors.kafka_troubles import Troubles
from pasps.testing import FakeClock
from tests.unit.connectors.kafka_consumer import Error, settings

REFUSED = Error("_TRANSPORT", "one:9092: refused")
ALL = Error("_ALL_BROKERS_DOWN", "2/2 brokers are down")
NONE_THERE = -195
"""The number of `_TRANSPORT`, with which the client itself answers."""
LOST = "Kafka: none of the brokers 'one:9092,two:9092' can be reached"


class Heard:
    """What is told, over a clock and brokers that are away or not."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.clock, self.answer, self.questions = FakeClock(), NONE_THERE, 0
        self.clock.advance(100)
        self.troubles = Troubles(settings(), self.clock, self.told.append, self.ask)

    def ask(self) -> Future[Any]:
        self.questions += 1
        question: Future[Any] = Future()
        if self.answer == KafkaError.NO_ERROR:
            question.set_result("offsets")
        else:
            question.set_exception(KafkaException(KafkaError(self.answer)))
        return question

    def hear(self, *errors: Error) -> None:
        for error in errors:
            self.troubles.hear(error)

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.1)):
            self.clock.advance(0.1)
            self.troubles.look(self.clock.now())


def test_that_no_broker_can_be_reached_is_told_once() -> None:
    heard = Heard()
    for _ in range(6):
        heard.hear(REFUSED, ALL)
        heard.wait(10)
    assert heard.told == [f"{LOST}: one:9092: refused; it is tried again"]


def test_the_reason_is_waited_for() -> None:
    heard = Heard()
    heard.hear(ALL)
    heard.wait(1)
    assert heard.told == []
    heard.hear(REFUSED)
    assert heard.told == [f"{LOST}: one:9092: refused; it is tried again"]


def test_without_a_reason_it_is_told_all_the_same() -> None:
    heard = Heard()
    heard.hear(ALL)
    heard.wait(20)
    assert heard.told == [f"{LOST}; it is tried again"]


def test_a_reason_of_long_ago_is_none() -> None:
    heard = Heard()
    heard.hear(REFUSED)
    heard.wait(3600)
    heard.hear(ALL)
    heard.wait(6)
    assert heard.told == [f"{LOST}; it is tried again"]


def test_brokers_that_were_back_before_anybody_knew_why_are_not_told_of() -> None:
    heard = Heard()
    heard.hear(ALL)
    heard.answer = KafkaError.NO_ERROR
    heard.wait(20)
    assert heard.told == []


@pytest.mark.parametrize("answer", [KafkaError.NO_ERROR, KafkaError.GROUP_AUTHORIZATION_FAILED])
def test_after_a_broker_was_back_it_is_told_again(answer: int) -> None:
    heard = Heard()
    heard.hear(REFUSED, ALL)
    heard.wait(10)
    heard.answer = answer
    heard.wait(1)
    heard.answer = NONE_THERE
    heard.hear(REFUSED, ALL)
    assert len(heard.told) == 2


def test_messages_tell_that_a_broker_is_back_but_not_those_that_were_fetched_before() -> None:
    heard = Heard()
    heard.hear(REFUSED, ALL)
    heard.troubles.polled(found=True)
    heard.hear(ALL)
    assert len(heard.told) == 1
    heard.troubles.polled(found=False)
    heard.troubles.polled(found=True)
    heard.hear(ALL)
    assert len(heard.told) == 2


def test_nobody_is_asked_while_brokers_can_be_reached() -> None:
    heard = Heard()
    heard.hear(REFUSED)
    heard.wait(10)
    assert heard.questions == 0


def test_a_broker_that_is_away_is_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    for _ in range(40):
        heard.hear(Error("_TRANSPORT", "one:9092 refused"))
        heard.clock.advance(0.5)
    assert heard.told == []
    assert [record.getMessage() for record in caplog.records] == ["component 'orders': Kafka: one:9092 refused"] * 2


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("UNKNOWN_TOPIC_OR_PART", "make the topic, or correct 'kafka.topics'; it is looked for again"),
        ("_AUTHENTICATION", "correct 'kafka.consumer.sasl.*' and 'kafka.consumer.security.protocol'; it is tried again"),
        ("TOPIC_AUTHORIZATION_FAILED", "the user needs READ on the topic"),
    ],
)
def test_what_needs_somebody_is_told_with_what_to_do(name: str, cure: str) -> None:
    heard = Heard()
    heard.hear(Error(name, "refused"))
    assert heard.told == [f"Kafka: refused; {cure}"]


def test_of_what_has_no_cure_the_client_s_own_words_are_told() -> None:
    heard = Heard()
    heard.hear(Error("OFFSET_OUT_OF_RANGE", "out of range"))
    assert heard.told == ["Kafka: out of range"]
