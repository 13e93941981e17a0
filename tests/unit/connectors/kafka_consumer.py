"""Clients without brokers: what it is to give out is put into it, and rebalances happen when they are told to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast

from confluent_kafka import ConsumerGroupState, TopicPartition
from confluent_kafka.admin import OffsetSpec

from pasps import TopologyContext
from pasps.connectors.kafka_client import KafkaSettings, settings_of
from pasps.connectors.kafka_partitions import Key
from pasps.connectors.kafka_reader import KafkaReader
from pasps.connectors.read_ahead import Event
from pasps.testing import FakeClock

KEY, OTHER = ("orders", 0), ("orders", 1)
NEEDED = {"kafka.brokers": "one:9092,two:9092", "kafka.topics": ["orders"], "kafka.group": "shop"}


class Context:
    topology_name, component_id, task_index = "shop", "orders", 2


def settings(**more: Any) -> KafkaSettings:
    """`consumer__group.id=x` is the key kafka.consumer.group.id."""
    conf = {**NEEDED, **{f"kafka.{name.replace('__', '.')}": value for name, value in more.items()}, "topology.debug": False}
    return settings_of(conf, cast("TopologyContext", Context()))


@dataclass(frozen=True)
class Error:
    """What the client's errors have."""

    label: str
    text: str = "something"
    deadly: bool = False

    def name(self) -> str:
        return self.label

    def str(self) -> str:
        return self.text

    def fatal(self) -> bool:
        return self.deadly


@dataclass(frozen=True)
class Message:
    """What the client's messages have."""

    key_of_it: Key
    at: int
    trouble: Error | None = None
    data: bytes = b"value"
    stamp: tuple[int, int] = (1, 1_700_000_000_500)
    bad_headers: Exception | None = None

    def topic(self) -> str:
        return self.key_of_it[0]

    def partition(self) -> int:
        return self.key_of_it[1]

    def offset(self) -> int:
        return self.at

    def error(self) -> Error | None:
        return self.trouble

    def key(self) -> bytes:
        return b"key"

    def value(self) -> bytes:
        return self.data

    def timestamp(self) -> tuple[int, int]:
        return self.stamp

    def headers(self) -> list[tuple[str, bytes]] | None:
        if self.bad_headers is not None:
            raise self.bad_headers
        return [("trace", b"1")]


@dataclass
class FakeConsumer:
    """`events` happen in the next poll, one after the other: calls, messages, errors; a poll with none lets time pass.

    A commit is answered with what stands first in `verdicts`, if anything does; None: it was accepted.
    """

    clock: FakeClock = field(default_factory=FakeClock)
    events: deque[Any] = field(default_factory=deque)
    commits: list[dict[Key, int]] = field(default_factory=list)
    verdicts: deque[Error | None] = field(default_factory=deque)
    paused: set[Key] = field(default_factory=set)
    ends: dict[Key, int] = field(default_factory=dict)
    group: dict[Key, int] = field(default_factory=dict)
    """Where the group reads on."""
    away: Exception | None = None
    refuses: Exception | None = None
    breaks: Exception | None = None
    topics: list[str] = field(default_factory=list)
    owned: list[Key] = field(default_factory=list)
    closed: bool = False
    connected: int = 0
    polls: int = 0

    def connect(self, _: Any, on_error: Callable[[Any], None], on_commit: Callable[[Any, list[Any]], None]) -> FakeConsumer:
        self.on_error, self.on_commit = on_error, on_commit
        self.connected += 1
        return self

    def subscribe(self, topics: list[str], *, on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        self.topics, self.on_assign, self.on_revoke, self.on_lost = topics, on_assign, on_revoke, on_lost

    # ---- what the test lets happen

    def assign(self, *keys: Key) -> None:
        self.owned += keys
        self.events.append(lambda: self.on_assign(self, [TopicPartition(*key) for key in keys]))

    def revoke(self, *keys: Key, lost: bool = False) -> None:
        self.owned = [key for key in self.owned if key not in keys]
        self.events.append(lambda: (self.on_lost if lost else self.on_revoke)(self, [TopicPartition(*key) for key in keys]))

    def give(self, key: Key, *offsets: int) -> None:
        self.events.extend(Message(key, offset) for offset in offsets)

    def at_end(self, key: Key, offset: int) -> None:
        self.events.append(Message(key, offset, Error("_PARTITION_EOF")))

    def answer(self, offsets: dict[Key, int], error: Error | None = None) -> None:
        self.events.append(lambda: self.on_commit(error, [TopicPartition(*key, offset) for key, offset in offsets.items()]))

    # ---- the client's own

    def poll(self, timeout: float) -> Message | None:
        self.polls += 1
        while self.events:
            event = self.events.popleft()
            if isinstance(event, Message):
                if event.key_of_it not in self.paused:
                    return event
            else:
                event()
        self.clock.advance(timeout)
        return None

    def consume(self, most: int, timeout: float) -> list[Message]:
        found: list[Message] = []
        if self.breaks is not None:
            raise self.breaks
        while len(found) < most and self.events and isinstance(self.events[0], Message):
            found.append(self.events.popleft())
        return found

    def commit(self, *, offsets: list[Any], asynchronous: bool) -> None:
        assert asynchronous
        if self.refuses is not None:
            raise self.refuses
        self.commits.append({(o.topic, o.partition): o.offset for o in offsets})
        if self.verdicts:
            self.answer(self.commits[-1], self.verdicts.popleft())

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        if self.away is not None:
            self.clock.advance(timeout)
            raise self.away
        return [TopicPartition(p.topic, p.partition, self.group.get((p.topic, p.partition), -1001)) for p in partitions]

    def pause(self, partitions: list[Any]) -> None:
        self.paused |= {(p.topic, p.partition) for p in partitions}

    def resume(self, partitions: list[Any]) -> None:
        self.paused -= {(p.topic, p.partition) for p in partitions}

    def get_watermark_offsets(self, partition: Any, *, cached: bool) -> tuple[int, int]:
        assert cached
        return (0, self.ends.get((partition.topic, partition.partition), -1001))

    def close(self) -> None:
        self.revoke(*self.owned)
        self.poll(0)
        self.closed = True


@dataclass(frozen=True)
class Answer:
    """What the client's answers have."""

    offset: int = -1
    state: ConsumerGroupState = ConsumerGroupState.STABLE


@dataclass
class FakeAdmin:
    """Answers at once what is in it, or, while `silent`, when `speak` is called. A partition that is in none fails.

    What the group does is the first of `states`, until one is left.
    """

    states: deque[ConsumerGroupState | None] = field(default_factory=lambda: deque([ConsumerGroupState.STABLE]))
    ends: dict[Key, int] = field(default_factory=dict)
    begins: dict[Key, int] = field(default_factory=dict)
    silent: bool = False
    made: int = 0
    questions: int = 0
    _waiting: list[tuple[Future[Any], Answer | None]] = field(default_factory=list)

    def connect(self, _: KafkaSettings) -> FakeAdmin:
        self.made += 1
        return self

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> dict[Any, Future[Any]]:
        found = {}
        for partition, spec in asked.items():
            known = self.ends if isinstance(spec, type(OffsetSpec.latest())) else self.begins
            offset = known.get((partition.topic, partition.partition))
            found[partition] = self._answer(None if offset is None else Answer(offset))
        return found

    def describe_consumer_groups(self, groups: list[str], request_timeout: float) -> dict[str, Future[Any]]:
        state = self.states.popleft() if len(self.states) > 1 else self.states[0]
        return {group: self._answer(None if state is None else Answer(state=state)) for group in groups}

    def _answer(self, answer: Answer | None) -> Future[Any]:
        self.questions += 1
        future: Future[Any] = Future()
        self._waiting.append((future, answer))
        if not self.silent:
            self.speak()
        return future

    def speak(self) -> None:
        for future, answer in self._waiting:
            if answer is None:
                future.set_exception(OSError("away"))
            else:
                future.set_result(answer)
        self._waiting.clear()


class Run:
    """A reader over a fake; `read` is a step."""

    def __init__(self, **more: Any) -> None:
        self.events: list[Event] = []
        self.clock = FakeClock()
        self.client, self.admin = FakeConsumer(clock=self.clock), FakeAdmin()
        self.clock.advance(100.0)
        self.reader = KafkaReader(settings(**more), self.clock, self.client.connect, self.admin.connect, wait_seconds=0.0)

    def read(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.reader.step()

    def take(self, most: int = 1000, most_bytes: int = 1 << 40) -> list[int]:
        self.events = self.reader.take(most, most_bytes)
        return [event.record.offset for event in self.events]

    def given(self, *offsets: int) -> None:
        """These are assigned, read and taken."""
        self.client.assign(KEY)
        self.client.give(KEY, *offsets)
        self.read()
        self.take()
