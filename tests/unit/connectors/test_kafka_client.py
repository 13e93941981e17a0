"""Making clients of confluent-kafka: nothing connects here, since nobody polls."""

from __future__ import annotations

import importlib
import logging
import sys

import pytest
from confluent_kafka import KafkaError, KafkaException

from pasps.connectors.kafka_client import ask_brokers, key_of, open_consumer, open_producer, partition_of, was_answered
from pasps.errors import ConfigError, InvalidError
from tests.unit.connectors.kafka_consumer import KEY, settings


def test_a_property_that_librdkafka_does_not_know_is_named() -> None:
    with pytest.raises(ConfigError) as raised:
        open_consumer(settings(**{"consumer__fetch.min.byte": 1}), print, print)
    assert str(raised.value) == (
        "component 'orders': configuration key 'kafka.consumer.fetch.min.byte' is refused by librdkafka: "
        'No such configuration property: "fetch.min.byte"'
    )


def test_a_value_that_it_does_not_take_is_named_and_a_password_is_not() -> None:
    wrong = {"consumer__sasl.password": "secret", "consumer__security.protocol": "secret"}
    for make in (lambda: open_consumer(settings(**wrong), print, print), lambda: open_producer(settings(**wrong))):
        with pytest.raises(ConfigError, match=r"'kafka\.consumer\.security\.protocol' is refused by librdkafka") as raised:
            make()
        assert "secret" not in str(raised.value)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pasps.connectors.kafka")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(InvalidError, match=r"KafkaSpout needs confluent-kafka, .*; pip install 'pasps\[kafka\]'"):
        importlib.import_module("pasps.connectors.kafka")


def test_partitions_go_to_the_client_and_back() -> None:
    assert key_of(partition_of(KEY)) == KEY
    assert partition_of(KEY, 12).offset == 12


def test_each_lost_connection_is_not_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("pasps.connectors.kafka_client.librdkafka")
    log.error("%s [%s] %s", "FAIL", "rdkafka#consumer-1", "refused")
    log.warning("%s [%s] %s", "SESSTMOUT", "rdkafka#consumer-1", "timed out")
    log.warning("plain")
    assert [record.getMessage() for record in caplog.records] == ["SESSTMOUT [rdkafka#consumer-1] timed out", "plain"]


def test_any_answer_of_a_broker_is_one_and_what_the_client_says_itself_is_none() -> None:
    class Client:
        def __init__(self, answer: KafkaError | None) -> None:
            self.answer = answer

        def list_topics(self, timeout: float) -> str:
            if self.answer is not None:
                raise KafkaException(self.answer)
            return "topics"

    found = {}
    for code in (None, KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError._TRANSPORT):  # noqa: SLF001 - its public name
        question = ask_brokers(Client(None if code is None else KafkaError(code)))
        question.exception(10)
        found[code] = was_answered(question)
    assert list(found.values()) == [True, True, False]
