"""What the client tells of brokers that are away, of logins and topics: which of it people hear, and in which words."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pasps.clock import Clock
from pasps.connectors.kafka_client import words_of
from pasps.connectors.kafka_settings import KafkaSettings

_log = logging.getLogger(__name__)

_LOG_SECONDS = 10.0
_OF_ONE_BROKER = frozenset(("_TRANSPORT", "_RESOLVE", "_TIMED_OUT"))
"""The client goes on by itself, with the others or when it is back."""


class Troubles:
    """Reported is what needs somebody: no broker at all, a login, a topic, a right. The rest is in the worker's log."""

    def __init__(self, settings: KafkaSettings, clock: Clock, tell: Callable[[str], None]) -> None:
        self._settings, self._clock, self._tell = settings, clock, tell
        self._last = ""
        self._log_at = 0.0

    def hear(self, error: Any) -> None:
        """The client has told of an error."""
        if error.name() in _OF_ONE_BROKER:
            self._last, now = f": {error.str()}", self._clock.now()
            if now >= self._log_at:
                self._log_at = now + _LOG_SECONDS
                _log.warning("%s: %s", self._settings.where, words_of(error))
        elif error.name() == "_ALL_BROKERS_DOWN":
            self._tell(f"Kafka: none of the brokers {self._settings.brokers!r} can be reached{self._last}; it is tried again")
        else:
            self._tell(words_of(error))
