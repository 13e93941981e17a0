"""Messages that failed too often, to a topic of their own; each is done when the brokers have it there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pasps.clock import Clock
from pasps.connectors.ahead import Tally
from pasps.connectors.backoff import Setback
from pasps.connectors.kafka_client import KafkaException, open_producer, words_of
from pasps.connectors.kafka_settings import KafkaSettings
from pasps.connectors.read_ahead import Event, written

_FLUSH_SECONDS = 2.0
_UNFIT = frozenset(("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG_SIZE", "INVALID_RECORD", "INVALID_TIMESTAMP"))
"""What brokers say of one message that they will never take; everything else is tried again."""
_CURES: Mapping[str, str] = {
    "UNKNOWN_TOPIC_OR_PART": "make the topic, or correct 'kafka.dead.topic'",
    "_UNKNOWN_TOPIC": "make the topic, or correct 'kafka.dead.topic'",
    "TOPIC_AUTHORIZATION_FAILED": "the user needs WRITE on the topic",
}


@dataclass(eq=False, slots=True)
class _Letter:
    event: Event
    reason: bytes
    stub: bool = False
    """It goes without key, value and headers of the message."""


class DeadLetters:
    """`put` and `parting` are called by the spout, everything else by the reader's thread.

    A letter goes whole; where the brokers do not take it, as a stub that says where the message is; where they do not take that
    either, it is left out, and the message is done. While they take nothing, letters wait, and are tried after pauses up to 5 s.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        clock: Clock,
        done: Callable[[Event], None],
        tell: Callable[[str], None],
        connect: Callable[[KafkaSettings], Any] = open_producer,
    ) -> None:
        """`done` hears of each that has arrived, `tell` of what went wrong; `connect` makes the client.

        Raises:
            ConfigError: librdkafka does not take a property.
        """
        self._topic, self._clock = settings.dead_topic, clock
        self._waiting: deque[_Letter] = deque()
        self._producer = connect(settings)
        self._done, self._tell = done, tell
        self._tally = Tally()
        self._setback = Setback()

    def parting(self) -> tuple[int, int]:
        """How many are not there yet, and their bytes."""
        return self._tally.now()

    def put(self, event: Event, reason: str) -> None:
        """It is to go there."""
        self._tally.put(event.size)
        self._waiting.append(_Letter(event, written(reason)))

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

    def _produce(self, letter: _Letter) -> None:
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
        self._producer.produce(self._topic, value, key, headers=headers, on_delivery=partial(self._answered, letter))

    def _answered(self, letter: _Letter, error: Any, _: Any) -> None:
        if error is not None:
            self._failed(letter, error)
            return
        self._setback.over()
        self._finish(letter)

    def _failed(self, letter: _Letter, error: Any) -> None:
        words, record = words_of(error, _CURES), letter.event.record
        if error.name() not in _UNFIT:
            if self._setback.failed(self._clock.now()):
                self._tell(f"{words}; {record} could not be put into {self._topic!r}, and is tried again")
            self._waiting.append(letter)
        elif not letter.stub:
            letter.stub = True
            self._tell(f"{words}; {record} goes to {self._topic!r} without its key, value and headers")
            self._waiting.append(letter)
        else:
            self._tell(f"{words}; {record} is left out of {self._topic!r}: not even its origin is taken there")
            self._finish(letter)

    def _finish(self, letter: _Letter) -> None:
        self._tally.gone(letter.event.size)
        self._done(letter.event)
