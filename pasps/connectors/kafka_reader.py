"""One task's member of a consumer group: reads ahead, commits what is done, hands its partitions over when the group says so.

`KafkaReader` is the member, and all of it happens on its thread: `Pauses` keeps it one while there is no room, `Ends` knows how far
there is to go, `DeadMessages` brings away what is given up. What is done stands in kafka_partitions, outages in kafka_troubles.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from functools import cache, partial
from typing import Any

from pasps.clock import Clock
from pasps.connectors.kafka_client import (
    KafkaException,
    KafkaSettings,
    ask_brokers,
    ask_group,
    ask_offsets,
    committed_of,
    headers_of,
    is_rebalancing,
    key_of,
    open_admin,
    open_consumer,
    open_producer,
    partition_of,
    words_of,
)
from pasps.connectors.kafka_partitions import NO_HEADERS, KafkaRecord, Key, Partition, Partitions
from pasps.connectors.kafka_troubles import Troubles
from pasps.connectors.read_ahead import DeadLetters, Event, Letter, Reader

_log = logging.getLogger(__name__)

_COMMIT_SECONDS = 1.0
_PAUSE_SECONDS = 1.0
"""So long is waited for room before partitions are paused: what librdkafka has fetched of them is dropped then."""
_BROKEN_SECONDS = 10.0
_MOMENT_SECONDS = 0.05
_REST_SECONDS = 1.0
"""So long is waited at the end to hear what the group does."""
_LOOK_SECONDS = 0.5
_FLUSH_SECONDS = 2.0
_UNFIT = frozenset(("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG_SIZE", "INVALID_RECORD", "INVALID_TIMESTAMP"))
"""What brokers say of one message that they will never take; everything else is tried again."""
_CURES: Mapping[str, str] = {
    "UNKNOWN_TOPIC_OR_PART": "make the topic, or correct 'kafka.dead.topic'",
    "_UNKNOWN_TOPIC": "make the topic, or correct 'kafka.dead.topic'",
    "TOPIC_AUTHORIZATION_FAILED": "the user needs WRITE on the topic",
}
_MOVING = frozenset(("ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH", "_NO_OFFSET", "_DESTROY"))
"""Why a commit fails while partitions change hands: those that stay are committed again, of those that go it is told."""

Connect = Callable[[KafkaSettings, Callable[[Any], None], Callable[[Any, list[Any]], None]], Any]
Owned = Mapping[Key, Partition]
_End = tuple[Partition, int]
"""A partition was read up to here."""


class KafkaReader(Reader):
    """Reads up to 1,000 messages and 16 MiB ahead of the spout, and polls also when nobody takes any: so it stays a member of the group.

    States of the consumer: READING; FULL (enough is read: waits for room); PAUSED (there was none for a second: the partitions
    are paused, and polls fetch nothing); BROKEN (the client gave up, for example because another member has its name: it is
    closed, and a new one is made after ten seconds). Rebalances are answered in every state but the last.
    """

    dead_key = "kafka.dead.topic"

    def __init__(
        self,
        settings: KafkaSettings,
        clock: Clock,
        connect: Connect = open_consumer,
        inquire: Callable[[KafkaSettings], Any] = open_admin,
        wait_seconds: float = 0.1,
    ) -> None:
        """`connect` and `inquire` make clients, which connect in the background; a step waits `wait_seconds` for messages or room.

        Raises:
            ConfigError: librdkafka does not take a property.
        """
        super().__init__(f"{settings.where} reads Kafka", wait_seconds)
        self._settings, self._clock, self._connect = settings, clock, connect
        self._parts = Partitions()
        """Under the lock, as what was read ahead."""
        self._admin = cache(lambda: inquire(settings))
        self._ends = Ends(settings, self._admin)
        self._commit_at = 0.0
        self._full_at: float | None = None
        self._pauses = Pauses()
        self._troubles = Troubles(settings, clock, self.tell, lambda: ask_brokers(self._admin()))
        self._broken = False
        topic = settings.dead_topic
        self._dead: DeadMessages | None = None if topic is None else DeadMessages(topic, settings, clock, self.done, self.tell)
        self._consumer: Any = self._open()

    def _open(self) -> Any:
        consumer = self._connect(self._settings, self._on_error, self._on_commit)
        self._committing = self._refused = False
        consumer.subscribe(list(self._settings.topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        return consumer

    # ---- on the thread

    def step(self) -> None:
        """Read what there is room for; commit once a second."""
        if self._broken:
            self._begin_anew()
            return
        if self._dead is not None:
            self._dead.send()
        now = self._clock.now()
        if now >= self._commit_at and not self._committing:
            self._commit_at = now + _COMMIT_SECONDS
            self._committing = self._commit(self._parts.owned)
        self._troubles.look(now)
        self._ends.look(self._consumer, self._parts.owned, now)
        if not self._ahead.room():
            self._hold(now)
            return
        self._full_at = None
        self._pauses.resume(self._consumer, self._parts.owned)
        message = self._consumer.poll(self._wait_seconds)
        self._troubles.polled(found=message is not None and _is_from_broker(message))
        if message is not None:
            self._keep([message])  # before anything that might raise: it has left the client
            self._keep(self._consumer.consume(self._ahead.room(), timeout=0))

    def _keep(self, messages: list[Any]) -> None:
        with self._lock:
            for message in messages:
                if not _is_from_broker(message):
                    self._on_error(message.error())
                    continue
                partition = self._parts.owned.get((message.topic(), message.partition()))
                if partition is None:
                    continue  # revoked since it was fetched
                partition.arrived(message.offset())
                self._ahead.put(*_item(partition, message))

    def _hold(self, now: float) -> None:
        """There is no room."""
        if self._full_at is None:
            self._full_at = now
        elif now - self._full_at >= _PAUSE_SECONDS:
            self._pauses.pause(self._consumer, self._parts.owned)
            message = self._consumer.poll(0)
            if message is not None:
                self._keep([message])
        self._ends.ask(self._consumer, self._parts.owned, now)
        self._wait_for_room()

    def _commit(self, among: Collection[Key]) -> bool:
        """Ask for it, of these partitions; True when an answer will come."""
        with self._lock:
            offsets = [partition_of(key, offset) for key, offset in self._parts.to_commit() if key in among]
        if not offsets:
            return False
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self._on_error(error.args[0])
            return False
        return True

    def _begin_anew(self) -> None:
        self.end()
        if not self.over.wait(_BROKEN_SECONDS):
            self._consumer, self._broken = self._open(), False

    def end(self) -> None:
        """Commit and leave; a member with a name of its own only goes away, and has its partitions again when it comes back.

        What could not be committed by then is told.
        """
        until = self._clock.now() + self.leave_seconds
        if self._dead is not None:
            self._dead.flush(self.leave_seconds)
        self._settle(until)
        self._tell_uncommitted(self._parts.owned, "comes again at the next start")
        self._consumer.close()
        self._give_up(list(self._parts.owned))

    def _settle(self, until: float) -> None:
        """Commit until the brokers have all that is done, and stay until the group does not wait for this member.

        When a member joins again the brokers answer it, and what it sends after that, when the last one has joined: so commits
        take as long as the slowest member needs to hear of the rebalance, and are refused before it is over. If this one went
        now, the others would wait for it, with their last commits, until its session times out.
        """
        asked: Future[Any] | None = None
        ask_until = self._clock.now() + _REST_SECONDS
        at_rest = self._settings.consumer.get("group.protocol") == "consumer"  # there nobody waits for others
        while not self._broken and (now := self._clock.now()) < until:
            if not self._committing and not self._refused:
                self._committing = self._commit(self._parts.owned)
            at_rest |= self._troubles.lost  # nobody says
            if not at_rest and asked is None:
                asked = ask_group(self._admin(), self._settings.group)
            elif asked is not None and asked.done():
                at_rest, asked, ask_until = not is_rebalancing(asked), None, now + _REST_SECONDS
            elif now >= ask_until:
                at_rest = True
            if at_rest and not self._committing:
                return
            self._consumer.poll(_MOMENT_SECONDS)  # answers the group; messages that come now are left to whoever is next

    def _tell_uncommitted(self, keys: Iterable[Key], what_becomes: str) -> None:
        with self._lock:
            parts = [self._parts.owned[key] for key in keys if key in self._parts.owned]
            found = [f"{part.key[0]}[{part.key[1]}] {span[0]} to {span[1] - 1}" for part in parts if (span := part.uncommitted)]
        if found:
            text = f"Kafka: what is done could not be committed, and {what_becomes}: {', '.join(found)}"
            _log.warning("%s: %s", self._settings.where, text)
            self.tell(text)

    # ---- called by the client, within its `poll`, `consume` and `close`

    def _on_assign(self, _: Any, partitions: list[Any]) -> None:
        keys = [key_of(partition) for partition in partitions]
        _log.info("%s has now %s", self._settings.where, keys)
        self._pauses.assigned(keys)
        with self._lock:
            self._parts.assign(keys)

    def _on_revoke(self, _: Any, partitions: list[Any]) -> None:
        """The group waits for the commit before it gives them to anybody else, and what stays is not committed before that."""
        self._commit(self._parts.owned)
        self._give_up([key_of(partition) for partition in partitions])

    def _on_lost(self, _: Any, partitions: list[Any]) -> None:
        """Too late to commit."""
        keys = [key_of(partition) for partition in partitions]
        self._tell_uncommitted(keys, "comes again, since the group has given the partitions away")
        self._give_up(keys)

    def _give_up(self, keys: list[Key]) -> None:
        _log.info("%s gives up %s", self._settings.where, keys)
        self._pauses.gone(keys)
        with self._lock:
            self._parts.revoke(keys)

    def _on_commit(self, error: Any, partitions: list[Any]) -> None:
        self._committing = False
        with self._lock:
            for partition in partitions:
                key, failed = key_of(partition), error or partition.error
                if failed is None:
                    self._parts.committed(key, partition.offset)
                elif key not in self._parts.owned:
                    self.tell(
                        f"{words_of(failed)}; offset {partition.offset} of {key} is not committed: what is done before it comes again"
                    )
                elif failed.name() not in _MOVING:
                    self._refused = True
                    self.tell(f"{words_of(failed)}; offset {partition.offset} of {key} is not committed, and tried again")

    def _on_error(self, error: Any) -> None:
        self._broken |= error.fatal()
        self._troubles.hear(error)

    # ---- on the spout's loop

    def _taken(self, item: Event | _End) -> Event | None:
        """Messages of partitions that are still this task's."""
        partition = item.place if isinstance(item, Event) else item[0]
        if not self._parts.owns(partition):
            return None
        if isinstance(item, Event):
            partition.take(item.record.offset)
            return item
        partition.reach(item[1])
        return None

    def owns(self, event: Event) -> bool:
        """Whether its partition was not revoked since."""
        return self._parts.owns(event.place)

    def done(self, event: Event) -> None:
        """Its offset may be committed as soon as all before it are done."""
        with self._lock:
            event.place.done(event.record.offset)

    def backlog(self) -> int | None:
        """The lag of this task's partitions."""
        with self._lock:
            return self._parts.backlog()


def _is_from_broker(message: Any) -> bool:
    """A message or the end of a partition; errors come the same way, and may be the client's own."""
    error = message.error()
    return error is None or error.name() == "_PARTITION_EOF"


def _item(partition: Partition, message: Any) -> tuple[Event | _End, int]:
    """A message or the mark of an end, and its bytes."""
    if message.error() is not None:
        return (partition, message.offset()), 0
    event = _event(partition, message)
    return event, event.size


def _event(partition: Partition, message: Any) -> Event:
    """One whose headers the client cannot give is an event too; else the next would pass its offset, and it would be lost unseen."""
    kind, millis = message.timestamp()
    seconds = millis / 1000 if kind else None
    headers, trouble = NO_HEADERS, ""
    try:
        headers = headers_of(message)
    except ValueError as error:
        trouble = str(error)
    record = KafkaRecord(message.topic(), message.partition(), message.offset(), message.key(), message.value(), seconds, headers)
    return Event(partition, record, seconds, record.size, trouble)


class Pauses:
    """The client drops what it has fetched of a partition when that is paused, so it is done late, and not for a moment."""

    def __init__(self) -> None:
        self._paused: set[Key] = set()
        self._fresh: set[Key] = set()

    def assigned(self, keys: Iterable[Key]) -> None:
        """These are new here. The client may have them as paused, from when this task had them last."""
        self._fresh.update(keys)

    def gone(self, keys: Iterable[Key]) -> None:
        """These are somebody else's."""
        self._paused.difference_update(keys)

    def pause(self, consumer: Any, owned: Collection[Key]) -> None:
        """Fetch nothing; polls go on."""
        more = set(owned) - self._paused
        if more:
            consumer.pause([partition_of(key) for key in more])
            self._paused |= more

    def resume(self, consumer: Any, owned: Collection[Key]) -> None:
        """Fetch."""
        again = (self._paused | self._fresh) & set(owned)
        if again:
            consumer.resume([partition_of(key) for key in again])
        self._paused.clear()
        self._fresh.clear()


class Ends:
    """Each fetch says where its partition ends. While there is no room nothing is fetched, so the brokers are asked.

    That goes over other connections than the consumer's, which are held up by fetches that wait. Only where the group reads on in
    partitions of which nothing has come the consumer itself asks its coordinator, which may take half a second.
    """

    def __init__(self, settings: KafkaSettings, client: Callable[[], Any]) -> None:
        """`client` gives the client that asks, and makes it when it is needed first."""
        self._settings, self._client = settings, client
        self._looked_at = self._asked_at = 0.0
        self._answers: list[tuple[Future[Any], Callable[[int], None]]] = []

    def look(self, consumer: Any, owned: Owned, now: float) -> None:
        """What the last fetches said; no request."""
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        for key, partition in owned.items():
            _, end = consumer.get_watermark_offsets(partition_of(key), cached=True)
            if end >= 0:
                partition.met(end)

    def ask(self, consumer: Any, owned: Owned, now: float) -> None:
        """Take the answers that have come; when they all have, and it is time, ask again."""
        self._take()
        if self._answers or now - self._asked_at < _LOOK_SECONDS or not owned:
            return
        self._asked_at = now
        self._ask(owned, Partition.met, at_end=True)
        unknown = {key: partition for key, partition in owned.items() if partition.position is None and partition.begins is None}
        if unknown:
            self._begins(consumer, unknown)

    def _ask(self, among: Owned, use: Callable[[Partition, int], None], *, at_end: bool) -> None:
        for key, answer in ask_offsets(self._client(), among, at_end=at_end).items():
            self._answers.append((answer, partial(use, among[key])))

    def _take(self) -> None:
        answers, self._answers = self._answers, []
        for answer, use in answers:
            if not answer.done():
                self._answers.append((answer, use))
            elif answer.exception() is not None:
                _log.debug("%s: %s", self._settings.where, answer.exception())
            else:
                use(answer.result().offset)

    def _begins(self, consumer: Any, unknown: Owned) -> None:
        """Where the group reads on; of partitions that it has no offset of, ask where they begin."""
        try:
            offsets = committed_of(consumer, unknown)
        except KafkaException as error:  # next time
            _log.debug("%s: %s", self._settings.where, error)
            return
        for key, offset in offsets.items():
            unknown[key].may_begin(offset)
        new = {key: partition for key, partition in unknown.items() if partition.begins is None}
        if new:
            self._ask(new, Partition.may_begin, at_end=self._settings.from_the_end)


class DeadMessages(DeadLetters):
    """A message that is given up goes to a topic whole; where the brokers do not take it, as a stub that says where it is; where they
    do not take that either, it is left out, and is done.
    """

    def __init__(
        self,
        topic: str,
        settings: KafkaSettings,
        clock: Clock,
        done: Callable[[Event], None],
        tell: Callable[[str], None],
        connect: Callable[[KafkaSettings], Any] = open_producer,
    ) -> None:
        """`connect` makes the client.

        Raises:
            ConfigError: librdkafka does not take a property.
        """
        super().__init__(topic, done, tell)
        self._clock = clock
        self._producer = connect(settings)

    def send(self) -> None:
        """Send what waits; what could not be delivered waits again. Returns at once."""
        count = 0 if self._setback.lasts(self._clock.now()) else len(self._waiting)
        for _ in range(count):
            letter = self._waiting.popleft()
            try:
                self._produce(letter)
            except BufferError:  # the client has so many already
                self._waiting.appendleft(letter)
                break
            except KafkaException as error:
                self._failed(letter, error.args[0])
        self._producer.poll(0)

    def flush(self, seconds: float) -> None:
        """Wait until they are there; so long, and two seconds at most."""
        self.send()
        self._producer.flush(min(seconds, _FLUSH_SECONDS))

    def _produce(self, letter: Letter) -> None:
        record = letter.event.record
        headers: list[tuple[str, str | bytes | None]] = [
            ("pasps.topic", record.topic),
            ("pasps.partition", str(record.partition)),
            ("pasps.offset", str(record.offset)),
            ("pasps.reason", letter.reason),
        ]
        key, value = record.key, record.value
        if letter.stub:
            key = value = None
            headers.append(("pasps.left.out", "key, value and headers"))
        else:
            headers[:0] = record.headers
        self._producer.produce(self.target, value, key, headers=headers, on_delivery=partial(self._answered, letter))

    def _answered(self, letter: Letter, error: Any, _: Any) -> None:
        if error is not None:
            self._failed(letter, error)
            return
        self._setback.over()
        self._finish(letter)

    def _failed(self, letter: Letter, error: Any) -> None:
        words, record = words_of(error, _CURES), letter.event.record
        if error.name() not in _UNFIT:
            if self._setback.failed(self._clock.now()):
                self._tell(f"{words}; {record} could not be put into {self.target!r}, and is tried again")
            self._waiting.append(letter)
        elif not letter.stub:
            letter.stub = True
            self._tell(f"{words}; {record} goes to {self.target!r} without its key, value and headers")
            self._waiting.append(letter)
        else:
            self._tell(f"{words}; {record} is left out of {self.target!r}: not even its origin is taken there")
            self._finish(letter)
