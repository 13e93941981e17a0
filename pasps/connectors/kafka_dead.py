"""Messages that failed too often, to a topic of their own; each is done when the brokers have it there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from pasps.connectors.kafka_client import KafkaException, open_producer, words_of
from pasps.connectors.kafka_settings import KafkaSettings
from pasps.connectors.read_ahead import Event

_FLUSH_SECONDS = 2.0


class DeadLetters:
    """`put` and `len` are called by the spout, everything else by the reader's thread."""

    def __init__(
        self,
        settings: KafkaSettings,
        done: Callable[[Event], None],
        tell: Callable[[str], None],
        connect: Callable[[KafkaSettings], Any] = open_producer,
    ) -> None:
        """`done` hears of each that has arrived, `tell` of what went wrong; `connect` makes the client.

        Raises:
            ConfigError: librdkafka does not take a property.
        """
        self._topic = settings.dead_topic
        self._waiting: deque[tuple[Event, str]] = deque()
        self._producer = connect(settings)
        self._done, self._tell = done, tell
        self._put = self._arrived = 0

    def __len__(self) -> int:
        """How many are not there yet."""
        return self._put - self._arrived

    def put(self, event: Event, reason: str) -> None:
        """It is to go there."""
        self._put += 1
        self._waiting.append((event, reason))

    def send(self) -> None:
        """Send what waits; what could not be delivered waits again. Returns at once."""
        for _ in range(len(self._waiting)):
            event, reason = self._waiting.popleft()
            record = event.record
            origin = [("pasps.topic", record.topic), ("pasps.partition", str(record.partition)), ("pasps.offset", str(record.offset))]
            headers = [*record.headers, *origin, ("pasps.reason", reason)]
            told = partial(self._delivered, event, reason)
            try:
                self._producer.produce(self._topic, record.value, record.key, headers=headers, on_delivery=told)
            except (BufferError, KafkaException):
                self._waiting.appendleft((event, reason))
                break
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until they are there; two seconds at most."""
        self.send()
        self._producer.flush(_FLUSH_SECONDS)

    def _delivered(self, event: Event, reason: str, error: Any, _: Any) -> None:
        if error is None:
            self._arrived += 1
            self._done(event)
        else:
            self._tell(f"{words_of(error)}; {event.record} could not be put into {self._topic!r}, and is tried again")
            self._waiting.append((event, reason))
