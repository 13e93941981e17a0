"""The keys `kafka.*`: what they make of it, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pasps.errors import ConfigError
from tests.unit.connectors.kafka_consumer import settings as of


def test_what_is_set_when_nothing_else_is() -> None:
    found = of()
    assert (found.topics, found.group, found.most_pending, found.most_tries) == (("orders",), "shop", 10_000, None)
    assert (found.dead_topic, found.from_the_end) == (None, False)
    expected = {
        "bootstrap.servers": "one:9092,two:9092",
        "group.id": "shop",
        "group.instance.id": "shop-orders-2",
        "client.id": "shop-orders-2",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
    }
    assert expected.items() <= found.consumer.items()


def test_topics_may_be_text() -> None:
    assert of(topics="orders, returns").topics == ("orders", "returns")


def test_properties_of_librdkafka_are_passed_on_and_go_before_ours() -> None:
    found = of(**{"consumer__session.timeout.ms": 6000, "consumer__queued.min.messages": 5, "consumer__sasl.username": "ann"})
    assert found.consumer["session.timeout.ms"] == 6000
    assert found.consumer["queued.min.messages"] == 5
    assert found.client == {
        "client.id": "shop-orders-2",
        "sasl.username": "ann",
        "bootstrap.servers": "one:9092,two:9092",
    }


def test_a_group_may_be_without_fixed_names() -> None:
    assert "group.instance.id" not in of(static=False).consumer


def test_with_the_new_protocol_the_brokers_share_partitions_out() -> None:
    assert of().consumer["partition.assignment.strategy"] == "cooperative-sticky"
    found = of(**{"consumer__group.protocol": "consumer"})
    assert not {"partition.assignment.strategy", "heartbeat.interval.ms", "group.instance.id"} & found.consumer.keys()


def test_members_hear_of_a_rebalance_soon_unless_told_otherwise() -> None:
    assert of().consumer["heartbeat.interval.ms"] == 300
    assert of(**{"consumer__heartbeat.interval.ms": 3000}).consumer["heartbeat.interval.ms"] == 3000


def test_it_may_begin_at_the_end() -> None:
    found = of(start="latest")
    assert (found.consumer["auto.offset.reset"], found.from_the_end) == ("latest", True)


def test_the_password_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    found = of(password__file=str(tmp_path / "password"))
    assert (found.consumer["sasl.password"], found.client["sasl.password"]) == ("secret", "secret")
    assert "secret" not in repr(found)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"brokers": None}, "component 'orders': configuration key 'kafka.brokers' is missing; set it to the brokers"),
    ({"group": None}, "'kafka.group' is missing"),
    ({"topics": None}, "'kafka.topics' is missing; set it to a list of topics"),
    ({"topics": []}, "'kafka.topics' must be a list of topics, or text such as 'orders,returns', got []"),
    ({"topics": [1]}, "'kafka.topics' must be a list of topics"),
    ({"topics": "orders,"}, "'kafka.topics' must be a list of topics"),
    ({"start": "newest"}, "'kafka.start' must be 'earliest' or 'latest', got 'newest'"),
    ({"pending": 0}, "'kafka.pending' must be an integer of at least 1, got 0"),
    ({"tries": "3"}, "'kafka.tries' must be an integer of at least 1, got '3'"),
    ({"static": "no"}, "'kafka.static' must be true or false"),
    ({"dead__topic": 1}, "'kafka.dead.topic' must be the "),
    ({"topic": "orders"}, "'kafka.topic' is unknown; the nearest known name is 'kafka.topics'"),
    ({"consumer__group.id": "x"}, "'kafka.consumer.group.id' is the spout's own; set 'kafka.group'"),
    ({"consumer__enable.auto.commit": True}, "'kafka.consumer.enable.auto.commit' is the spout's own; an offset is committed when"),
    ({"consumer__ssl.ca": ["a"]}, "'kafka.consumer.ssl.ca' must be text, a number, true or false, got a list"),
    ({"password__file": "/nowhere/password"}, "'/nowhere/password' cannot be read: No such file or directory"),
]


@pytest.mark.parametrize(("more", "message"), WRONG)
def test_a_wrong_key_says_what_is_wrong(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        of(**more)
    assert message in str(raised.value)


def test_a_password_file_that_is_no_text_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="it is not text in UTF-8"):
        of(password__file=str(tmp_path / "password"))
