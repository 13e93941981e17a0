"""Which errors of the client people hear of."""

from __future__ import annotations

import pytest

from pasps.connectors.kafka_troubles import Troubles
from pasps.testing import FakeClock
from tests.unit.connectors.kafka_consumer import Error, settings


def test_a_broker_that_is_away_is_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    clock = FakeClock()
    clock.advance(100)
    troubles = Troubles(settings(), clock, told.append)
    for _ in range(40):
        troubles.hear(Error("_TRANSPORT", "one:9092 refused"))
        clock.advance(0.5)
    assert told == []
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
    told: list[str] = []
    Troubles(settings(), FakeClock(), told.append).hear(Error(name, "refused"))
    assert told == [f"Kafka: refused; {cure}"]


def test_of_what_has_no_cure_the_client_s_own_words_are_told() -> None:
    told: list[str] = []
    Troubles(settings(), FakeClock(), told.append).hear(Error("OFFSET_OUT_OF_RANGE", "out of range"))
    assert told == ["Kafka: out of range"]
