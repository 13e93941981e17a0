"""Which errors of the client people hear of."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st

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
        self.open: list[Future[Any]] | None = None
        """Questions that wait for their answer; None: each is answered at once."""
        self.clock.advance(100)
        self.troubles = Troubles(settings(), self.clock, self.told.append, self.ask)

    def ask(self) -> Future[Any]:
        self.questions += 1
        question: Future[Any] = Future()
        if self.open is None:
            self.reply(question)
        else:
            self.open.append(question)
        return question

    def reply(self, question: Future[Any]) -> None:
        if self.answer == KafkaError.NO_ERROR:
            question.set_result("offsets")
        else:
            question.set_exception(KafkaException(KafkaError(self.answer)))

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
    heard.wait(1)
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


def test_an_answer_to_a_question_of_the_outage_before_says_nothing_of_this_one() -> None:
    heard = Heard()
    heard.open = []
    heard.hear(REFUSED, ALL)
    heard.wait(1)
    heard.troubles.polled(found=False)
    heard.troubles.polled(found=True)  # it is back, and the question is still under way
    assert not heard.troubles.lost
    heard.answer = KafkaError.NO_ERROR
    (question,) = heard.open
    heard.reply(question)
    heard.answer, heard.open = NONE_THERE, None
    heard.hear(REFUSED, ALL)
    heard.wait(20)
    assert heard.troubles.lost
    heard.hear(ALL)
    assert len(heard.told) == 2


def test_an_outage_that_the_client_does_not_tell_of_since_it_never_saw_the_end_of_the_last_one_is_told() -> None:
    heard = Heard()
    heard.hear(REFUSED, ALL)
    heard.answer = KafkaError.NO_ERROR
    heard.wait(1)
    assert not heard.troubles.lost, "another client's question was answered"
    heard.answer = NONE_THERE
    heard.hear(REFUSED)
    heard.wait(2)
    assert (heard.troubles.lost, len(heard.told)) == (True, 2)
    heard.answer = KafkaError.NO_ERROR
    heard.wait(1)
    assert not heard.troubles.lost


def test_what_the_client_says_late_of_a_try_that_failed_before_a_broker_was_back_is_no_outage() -> None:
    heard = Heard()
    heard.hear(REFUSED, ALL)
    heard.answer = KafkaError.NO_ERROR
    heard.wait(1)
    heard.hear(REFUSED, ALL)
    heard.wait(10)
    assert (heard.troubles.lost, len(heard.told)) == (False, 1)


def test_one_broker_that_is_away_after_an_outage_is_no_outage() -> None:
    heard = Heard()
    heard.hear(REFUSED, ALL)
    heard.answer = KafkaError.NO_ERROR
    heard.wait(1)
    heard.hear(REFUSED)
    heard.wait(10)
    assert (heard.troubles.lost, len(heard.told)) == (False, 1)
    questions = heard.questions
    heard.troubles.polled(found=True)  # the client itself has a broker again, and would say when it has none
    heard.hear(REFUSED)
    heard.wait(10)
    assert heard.questions == questions


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


class World:
    """Brokers that come and go, the client, which sees them late, and the one that asks, which sees them late too.

    The client says that all are down when it has lost them, and not again before it had one; each of its tries fails or not.
    """

    def __init__(self) -> None:
        self.up, self.connected, self.since = True, True, 0.0
        self.heard = Heard()
        self.heard.open = []
        self.asked: list[tuple[float, Future[Any]]] = []

    def go_on(self, seconds: float, *, reconnects: float, answers: float, found: bool) -> None:
        """Tries are `reconnects` apart, answers need `answers`; with `found` there is something to read when connected."""
        heard, end = self.heard, self.heard.clock.now() + seconds
        assert heard.open is not None
        while (now := heard.clock.now()) < end - 1e-9:
            if self.connected and not self.up:
                self.connected, self.since = False, now
                heard.hear(REFUSED, ALL)
            elif not self.connected and now - self.since >= reconnects:
                self.connected, self.since = self.up, now
                if not self.up:
                    heard.hear(REFUSED)
            heard.troubles.polled(found=found and self.connected)
            self.asked += [(now, question) for question in heard.open]
            heard.open.clear()
            for at, question in [entry for entry in self.asked if now - entry[0] >= answers]:
                heard.answer = KafkaError.NO_ERROR if self.up else NONE_THERE
                heard.reply(question)
                self.asked.remove((at, question))
            heard.wait(0.1)


Stretch = st.tuples(st.booleans(), st.sampled_from([0.1, 0.5, 1.0, 3.0, 7.0, 12.0]))


@given(
    st.lists(Stretch, max_size=8),
    st.sampled_from([0.2, 1.0, 10.0]),
    st.sampled_from([0.0, 0.4, 5.0]),
    st.booleans(),
)
def test_whatever_came_before_an_outage_that_lasts_is_told_and_its_end_is_seen(
    before: list[tuple[bool, float]], reconnects: float, answers: float, found: bool
) -> None:
    world = World()
    how = {"reconnects": reconnects, "answers": answers, "found": found}
    for up, seconds in before:
        world.up = up
        world.go_on(seconds, **how)
    for _ in range(2):
        world.up = True
        world.go_on(30, **how)
        assert not world.heard.troubles.lost
        told = len(world.heard.told)
        world.up = False
        world.go_on(40, **how)
        assert (world.heard.troubles.lost, len(world.heard.told) - told) == (True, 1)
