"""One task's member of a consumer group: reads ahead, commits what is done, hands its partitions over when the group says so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from functools import cache
from threading import Condition
from typing import Any

from pasps.clock import Clock
from pasps.connectors.ahead import Ahead
from pasps.connectors.kafka_client import (
    KafkaException,
    ask_brokers,
    ask_group,
    headers_of,
    is_rebalancing,
    key_of,
    open_admin,
    open_consumer,
    partition_of,
    words_of,
)
from pasps.connectors.kafka_dead import DeadLetters
from pasps.connectors.kafka_ends import Ends
from pasps.connectors.kafka_partitions import NO_HEADERS, KafkaRecord, Key, Partition, Partitions
from pasps.connectors.kafka_pauses import Pauses
from pasps.connectors.kafka_settings import KafkaSettings
from pasps.connectors.kafka_troubles import Troubles
from pasps.connectors.read_ahead import Event, Reader

_log = logging.getLogger(__name__)

_COMMIT_SECONDS = 1.0
_PAUSE_SECONDS = 1.0
"""So long is waited for room before partitions are paused: what librdkafka has fetched of them is dropped then."""
_BROKEN_SECONDS = 10.0
_MOMENT_SECONDS = 0.05
_REST_SECONDS = 1.0
"""So long is waited at the end to hear what the group does."""
_MOVING = frozenset(("ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH", "_NO_OFFSET", "_DESTROY"))
"""Why a commit fails while partitions change hands: those that stay are committed again, of those that go it is told."""

Connect = Callable[[KafkaSettings, Callable[[Any], None], Callable[[Any, list[Any]], None]], Any]
_End = tuple[Partition, int]
"""A partition was read up to here."""


class KafkaReader(Reader):
    """Reads up to 1,000 messages and 16 MiB ahead of the spout, and polls also when nobody takes any: so it stays a member of the group.

    States of the consumer: READING; FULL (enough is read: waits for room); PAUSED (there was none for a second: the partitions
    are paused, and polls fetch nothing); BROKEN (the client gave up, for example because another member has its name: it is
    closed, and a new one is made after ten seconds). Rebalances are answered in every state but the last.
    """

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
        super().__init__(f"{settings.where} reads Kafka")
        self._settings, self._clock, self._connect, self._wait_seconds = settings, clock, connect, wait_seconds
        self._ahead: Ahead[Event | _End] = Ahead()
        self._parts = Partitions()
        self._lock = Condition()
        """Of the two above. The reader's thread waits on it for room; nothing of Kafka's is called under it."""
        self._admin = cache(lambda: inquire(settings))
        self._ends = Ends(settings, self._admin)
        self._commit_at = 0.0
        self._full_at: float | None = None
        self._pauses = Pauses()
        self._troubles = Troubles(settings, clock, self.tell, lambda: ask_brokers(self._admin()))
        self._broken = False
        self._dead = None if settings.dead_topic is None else DeadLetters(settings, clock, self.done, self.tell)
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
        with self._lock:
            self._lock.wait_for(self._ahead.is_low, self._wait_seconds)

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
                at_rest, asked, ask_until = not _is_rebalancing(asked), None, now + _REST_SECONDS
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

    def take(self, most: int, most_bytes: int) -> list[Event]:
        """Messages of partitions that are still this task's."""
        found: list[Event] = []
        with self._lock:
            while self._ahead and len(found) < most and most_bytes > 0:
                item = self._ahead.pop()
                partition = item.place if isinstance(item, Event) else item[0]
                if not self._parts.owns(partition):
                    continue
                if isinstance(item, Event):
                    partition.take(item.record.offset)
                    found.append(item)
                    most_bytes -= item.size
                else:
                    partition.reach(item[1])
            if self._ahead.is_low():
                self._lock.notify()
        return found

    def owns(self, event: Event) -> bool:
        """Whether its partition was not revoked since."""
        return self._parts.owns(event.place)

    def done(self, event: Event) -> None:
        """Its offset may be committed as soon as all before it are done."""
        with self._lock:
            event.place.done(event.record.offset)

    def set_aside(self, event: Event, reason: str) -> str:
        """To the topic for such messages, or nowhere."""
        if self._dead is None:
            self.done(event)
            return "it is left out; with 'kafka.dead.topic' it would be kept"
        self._dead.put(event, reason)
        return f"it goes to the topic {self._settings.dead_topic!r}"

    def parting(self) -> tuple[int, int]:
        """Those that wait for that topic, or are on their way."""
        return (0, 0) if self._dead is None else self._dead.parting()

    def backlog(self) -> int | None:
        """The lag of this task's partitions."""
        with self._lock:
            return self._parts.backlog()


def _is_from_broker(message: Any) -> bool:
    """A message or the end of a partition; errors come the same way, and may be the client's own."""
    error = message.error()
    return error is None or error.name() == "_PARTITION_EOF"


def _is_rebalancing(asked: Future[Any]) -> bool:
    """Where nobody may know, it is taken for at rest."""
    return asked.exception() is None and is_rebalancing(asked.result())


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
