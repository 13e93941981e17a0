"""What the keys `kafka.*` say, and the one place that imports confluent-kafka: makes clients, and says in words what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from operator import methodcaller
from threading import Thread
from typing import Any

from pasps.api.context import TopologyContext
from pasps.api.keys import Keys
from pasps.connectors.kafka_partitions import Headers, Key
from pasps.errors import ConfigError, InvalidError

try:
    from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
    from confluent_kafka import KafkaException as KafkaException  # for the reader
    from confluent_kafka.admin import AdminClient, OffsetSpec
except ImportError as error:
    raise InvalidError(f"KafkaSpout needs confluent-kafka, which cannot be imported ({error}); pip install 'pasps[kafka]'") from error

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
    password = keys.content("kafka.password.file")
    if password is not None:
        passed_on["sasl.password"] = password
    brokers = keys.needed("kafka.brokers", "the brokers to begin with, such as 'kafka-1:9092,kafka-2:9092'")
    group = keys.needed("kafka.group", "the name of a consumer group: it keeps how far the topics are read")
    start = keys.choice("kafka.start", ("earliest", "latest"))
    # in the new protocol a name is given free only when its member has timed out, which makes it useless here
    static = keys.flag("kafka.static", passed_on.get("group.protocol") != "consumer")
    usual = {name: value for name, value in _USUAL.items() if passed_on.get("group.protocol") != "consumer" or name not in _CLASSIC}
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
        consumer={"client.id": task, **usual, **passed_on, **_FIXED, "bootstrap.servers": brokers, **member},
        client={"client.id": task, **shared, "bootstrap.servers": brokers},
        where=where,
    )


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


# ---- clients

_ANSWER_SECONDS = 5.0
_COORDINATOR_SECONDS = 3600.0
"""As long as the client can wait. When a question to a group's coordinator has timed out, librdkafka may end the whole process when
brokers are back (github.com/confluentinc/librdkafka/issues/4605); so there are few of them, and none times out."""
_COMMITTED_SECONDS = 0.5
_headers = methodcaller("headers")
"""For a name that is not UTF-8 the client returns a list and sets an error; calls by C always see that, Python's fast ones do not."""


class _NoLostConnections(logging.Filter):
    """Leaves out what librdkafka writes of each, 20 lines a second while a broker is away; `on_error` hears of them too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (isinstance(record.args, tuple) and record.args[:1] == ("FAIL",))


_log = logging.getLogger(f"{__name__}.librdkafka")
_log.addFilter(_NoLostConnections())

_LETTERS: Mapping[str, Any] = {
    "message.max.bytes": 1_000_000_000,  # no limit of the client's own: what is too large the topic says
    "batch.num.messages": 1,  # so what it says is of one message
    "message.timeout.ms": 30_000,  # after that it is told
}
"""Not idempotent: one that is does nothing more after some errors, and a letter that is there twice does no harm."""
_CURES: Mapping[str, str] = {
    "UNKNOWN_TOPIC_OR_PART": "make the topic, or correct 'kafka.topics'; it is looked for again",
    "TOPIC_AUTHORIZATION_FAILED": "the user needs READ on the topic",
    "GROUP_AUTHORIZATION_FAILED": "the user needs READ on the group, or another 'kafka.group'",
    "_AUTHENTICATION": f"correct '{PASSED_ON}sasl.*' and '{PASSED_ON}security.protocol'; it is tried again",
    "SASL_AUTHENTICATION_FAILED": f"correct '{PASSED_ON}sasl.*'; it is tried again",
    "_SSL": f"correct '{PASSED_ON}ssl.*' and '{PASSED_ON}security.protocol'; it is tried again",
    "FENCED_INSTANCE_ID": "a task of the same name reads too: is a topology of this name running elsewhere? "
    "Give one of them another name or 'kafka.group', or set 'kafka.static' to false",
    "INCONSISTENT_GROUP_PROTOCOL": "another member of the group has another protocol; give this topology its own 'kafka.group'",
    "INVALID_SESSION_TIMEOUT": f"the brokers do not allow this '{PASSED_ON}session.timeout.ms'",
}


def open_consumer(settings: KafkaSettings, on_error: Callable[[Any], None], on_commit: Callable[[Any, list[Any]], None]) -> Any:
    """A consumer; it connects in the background, and calls these two within `poll` and `consume`.

    Raises:
        ConfigError: librdkafka does not take a property, or its value.
    """
    return _made(Consumer, {**settings.consumer, "error_cb": on_error, "on_commit": on_commit}, settings)


def open_producer(settings: KafkaSettings) -> Any:
    """A producer for what is given up.

    Raises:
        ConfigError: as for a consumer.
    """
    return _made(Producer, {**settings.client, **_LETTERS}, settings)


def _made(kind: Callable[..., Any], conf: Mapping[str, Any], settings: KafkaSettings) -> Any:
    try:
        return kind(conf, logger=_log)
    except (KafkaException, TypeError, ValueError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        password = settings.consumer.get("sasl.password")
        if password:
            reason = reason.replace(str(password), "***")
        name = next((name for name in settings.consumer if f'"{name}"' in reason), "*")
        raise ConfigError(PASSED_ON + name, f"is refused by librdkafka: {reason}", where=settings.where) from error


def open_admin(settings: KafkaSettings) -> Any:
    """A client that asks questions; it logs nothing, since nobody polls it: what is wrong the consumer says."""
    return AdminClient({**settings.client, "log_level": 0})


def ask_offsets(client: Any, keys: Iterable[Key], *, at_end: bool) -> dict[Key, Future[Any]]:
    """Where partitions end, or begin; the answers have an `offset`."""
    spec = OffsetSpec.latest() if at_end else OffsetSpec.earliest()
    asked = client.list_offsets({partition_of(key): spec for key in keys}, request_timeout=_ANSWER_SECONDS)
    return {key_of(partition): answer for partition, answer in asked.items()}


def ask_brokers(client: Any) -> Future[Any]:
    """Whether any broker is there, in no matter which state the cluster is; on a thread, since this question can only be waited for."""
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            answer.set_result(client.list_topics(timeout=_ANSWER_SECONDS))
        except Exception as error:  # noqa: BLE001 - it is the answer
            answer.set_exception(error)

    Thread(target=ask, name="asks for Kafka's brokers", daemon=True).start()
    return answer


def committed_of(consumer: Any, keys: Iterable[Key]) -> dict[Key, int]:
    """Where the group of a consumer reads on; those partitions are left out that it has no offset of. Waits half a second at most.

    Raises:
        KafkaException: there was no answer.
    """
    found = consumer.committed([partition_of(key) for key in keys], timeout=_COMMITTED_SECONDS)
    return {key_of(partition): partition.offset for partition in found if partition.error is None and partition.offset >= 0}


def ask_group(client: Any, group: str) -> Future[Any]:
    """What the group is doing; `is_rebalancing` reads the answer, for which nobody should wait long."""
    answer: Future[Any] = client.describe_consumer_groups([group], request_timeout=_COORDINATOR_SECONDS)[group]
    return answer


def was_answered(question: Future[Any]) -> bool:
    """Whether a broker answered, be it with a refusal; of what is done. Errors that the client makes itself begin with `_`."""
    error = question.exception()
    return error is None or (isinstance(error, KafkaException) and not error.args[0].name().startswith("_"))


def is_rebalancing(answer: Future[Any]) -> bool:
    """Whether the group waits for members to join it, again or anew; where nobody may know, it is taken for at rest."""
    waits = (ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupState.COMPLETING_REBALANCING)
    return answer.exception() is None and answer.result().state in waits


def partition_of(key: Key, offset: int | None = None) -> Any:
    """The client's word for a partition, with an offset or without."""
    return TopicPartition(*key) if offset is None else TopicPartition(*key, offset)


def key_of(partition: Any) -> Key:
    """And back."""
    return partition.topic, partition.partition


def headers_of(message: Any) -> Headers:
    """The headers of a message. Asked once: after an error the client gives a list with holes.

    Raises:
        ValueError: the client cannot give them, since the name of one is not UTF-8.
    """
    try:
        return tuple(_headers(message) or ())
    except Exception as error:  # a SystemError, whose cause says why
        raise ValueError(f"its headers: {error.__cause__ or error}") from error


def words_of(error: Any, cures: Mapping[str, str] = _CURES) -> str:
    """What is wrong, and what to do about it where `cures` know that; they are a consumer's unless others are given."""
    cure = cures.get(error.name())
    return f"Kafka: {error.str()}" + (f"; {cure}" if cure else "")
