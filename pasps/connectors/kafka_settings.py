"""What the keys `kafka.*` say; standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pasps.api.context import TopologyContext
from pasps.api.keys import Keys
from pasps.errors import ConfigError

PASSED_ON = "kafka.consumer."
"""What follows it is a property of librdkafka's."""
PATH_KEYS = (
    "kafka.password.file",
    "kafka.consumer.sasl.kerberos.keytab",
    *(f"kafka.consumer.ssl.{what}.location" for what in ("ca", "certificate", "crl", "key", "keystore")),
)
"""Keys whose values are paths."""
_KEYS = (
    "kafka.brokers",
    "kafka.topics",
    "kafka.group",
    "kafka.start",
    "kafka.static",
    "kafka.pending",
    "kafka.tries",
    "kafka.dead.topic",
    "kafka.password.file",
)
_OURS: Mapping[str, str] = {
    "bootstrap.servers": "set 'kafka.brokers'",
    "metadata.broker.list": "set 'kafka.brokers'",
    "group.id": "set 'kafka.group'",
    "group.instance.id": "each task has its own; set 'kafka.static' to false to have none",
    "auto.offset.reset": "set 'kafka.start'",
    "enable.auto.commit": "an offset is committed when all before it is acked",
    "enable.auto.offset.store": "an offset is committed when all before it is acked",
    "enable.partition.eof": "the spout needs it to know its backlog",
}
"""Properties that nobody else may set, and why not or what instead."""
_FIXED: Mapping[str, Any] = {"enable.auto.commit": False, "enable.auto.offset.store": False, "enable.partition.eof": True}
_SHARED = ("security.", "sasl.", "ssl.", "enable.ssl", "socket.", "broker.address.", "client.dns.", "reconnect.")
"""Properties that hold for every client begin so: how brokers are reached."""
_USUAL: Mapping[str, Any] = {
    # partitions that stay where they are go on; with the other strategies everybody drops what is in flight
    "partition.assignment.strategy": "cooperative-sticky",
    "heartbeat.interval.ms": 300,  # a member hears of a rebalance with the next one, and all wait for the last member that hears
    "queued.min.messages": 10_000,
    "queued.max.messages.kbytes": 16_384,
    "fetch.queue.backoff.ms": 50,  # a full queue would stop a fast reader for a whole second
}
"""Properties that anybody may set otherwise."""
_CLASSIC = frozenset(("partition.assignment.strategy", "heartbeat.interval.ms"))
"""Those that the brokers decide in the new protocol, where the client does not take them."""


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """What one task reads, and the properties of its consumer and of its other clients."""

    brokers: str
    topics: tuple[str, ...]
    group: str
    from_the_end: bool
    most_pending: int
    most_tries: int | None
    dead_topic: str | None
    consumer: Mapping[str, Any] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)
    where: str


def settings_of(conf: Mapping[str, Any], ctx: TopologyContext) -> KafkaSettings:
    """The settings in `conf`; other keys are left alone, and null is as if left out.

    Raises:
        ConfigError: a key is missing, wrong or misspelled, or the password's file cannot be read.
    """
    where = f"component {ctx.component_id!r}"
    passed_on = _passed_on(conf, where)
    keys = Keys({name: value for name, value in conf.items() if not name.startswith(PASSED_ON)}, _KEYS, where, "kafka.")
    password_file = keys.text("kafka.password.file", "the path of a file")
    if password_file is not None:
        passed_on["sasl.password"] = _read(password_file, where)
    brokers = keys.needed("kafka.brokers", "the brokers to begin with, such as 'kafka-1:9092,kafka-2:9092'")
    group = keys.needed("kafka.group", "the name of a consumer group: it keeps how far the topics are read")
    start = keys.choice("kafka.start", ("earliest", "latest"))
    # in the new protocol a name is given free only when its member has timed out, which makes it useless here
    static = keys.flag("kafka.static", passed_on.get("group.protocol") != "consumer")
    task = f"{ctx.topology_name}-{ctx.component_id}-{ctx.task_index}"
    shared = {name: value for name, value in passed_on.items() if name.startswith(_SHARED)}
    member = {"group.id": group, "auto.offset.reset": start, **({"group.instance.id": task} if static else {})}
    return KafkaSettings(
        brokers=brokers,
        topics=_topics(conf.get("kafka.topics"), where),
        group=group,
        from_the_end=start == "latest",
        most_pending=keys.whole("kafka.pending", 10_000),
        most_tries=keys.whole_or_none("kafka.tries"),
        dead_topic=keys.text("kafka.dead.topic", "the name of a topic"),
        consumer={"client.id": task, **_usual(passed_on), **passed_on, **_FIXED, "bootstrap.servers": brokers, **member},
        client={"client.id": task, **shared, "bootstrap.servers": brokers},
        where=where,
    )


def _usual(passed_on: Mapping[str, Any]) -> dict[str, Any]:
    left_out = _CLASSIC if passed_on.get("group.protocol") == "consumer" else frozenset()
    return {name: value for name, value in _USUAL.items() if name not in left_out}


def _passed_on(conf: Mapping[str, Any], where: str) -> dict[str, Any]:
    found = {}
    for name, value in conf.items():
        if not name.startswith(PASSED_ON) or value is None:
            continue
        short = name.removeprefix(PASSED_ON)
        if short in _OURS:
            raise ConfigError(name, "is the spout's own", where=where, cure=_OURS[short])
        if not isinstance(value, (str, int, float)):
            raise ConfigError(name, f"must be text, a number, true or false, got a {type(value).__name__}", where=where)
        found[short] = value
    return found


def _topics(value: object, where: str) -> tuple[str, ...]:
    topics = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if isinstance(topics, (list, tuple)) and topics and all(isinstance(topic, str) and topic for topic in topics):
        return tuple(topics)
    if value is None:
        raise ConfigError("kafka.topics", "is missing", where=where, cure="set it to a list of topics")
    raise ConfigError("kafka.topics", f"must be a list of topics, or text such as 'orders,returns', got {value!r}", where=where)


def _read(path: str, where: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError("kafka.password.file", f"{path!r} cannot be read: {reason}", where=where) from error
