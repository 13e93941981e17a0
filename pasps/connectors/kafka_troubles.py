"""What the client tells of brokers that are away, of logins and topics: which of it people hear, and in which words."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pasps.clock import Clock
from pasps.connectors.kafka_client import was_answered, words_of
from pasps.connectors.kafka_settings import KafkaSettings

_log = logging.getLogger(__name__)

_LOG_SECONDS = 10.0
_ASK_SECONDS = 0.5
_REASON_SECONDS = 5.0
"""So long is waited for the reason why none can be reached; connections that were closed in good order have none yet."""
_STALE_SECONDS = 60.0
_OF_ONE_BROKER = frozenset(("_TRANSPORT", "_RESOLVE", "_TIMED_OUT"))
"""The client goes on by itself, with the others or when it is back."""


class Troubles:
    """Reported is what needs somebody: no broker at all, a login, a topic, a right. The rest is in the worker's log.

    That no broker can be reached the client says again after every try. It is reported once, and again when one has been back:
    one has answered the question that is asked meanwhile, or something was read that had not been fetched before.
    """

    def __init__(self, settings: KafkaSettings, clock: Clock, tell: Callable[[str], None], ask: Callable[[], Future[Any]]) -> None:
        """`ask` asks the brokers anything."""
        self._settings, self._clock, self._tell, self._ask = settings, clock, tell, ask
        self._reason, self._reason_at = "", 0.0
        self._log_at = 0.0
        self._lost_at: float | None = None
        self._told = self._drained = False
        self._question: Future[Any] | None = None
        self._ask_at = 0.0

    def hear(self, error: Any) -> None:
        """The client has told of an error."""
        now = self._clock.now()
        if error.name() in _OF_ONE_BROKER:
            self._reason, self._reason_at = error.str(), now
            if now >= self._log_at:
                self._log_at = now + _LOG_SECONDS
                _log.warning("%s: %s", self._settings.where, words_of(error))
            self.look(now)
        elif error.name() == "_ALL_BROKERS_DOWN":
            if self._lost_at is None:
                self._lost_at, self._told, self._drained, self._ask_at = now, False, False, now + _ASK_SECONDS
            self.look(now)
        else:
            self._tell(words_of(error))

    def polled(self, *, found: bool) -> None:
        """A poll found something, or nothing. What was fetched before the brokers were lost comes first, and says nothing of them."""
        if found and self._drained:
            self._back()
        self._drained = self._drained or not found

    def look(self, now: float) -> None:
        """Tell of brokers that are lost; find out whether one is back. Returns at once."""
        if self._lost_at is None:
            return
        known = now - self._reason_at < _STALE_SECONDS and self._reason
        if not self._told and (known or now - self._lost_at >= _REASON_SECONDS):
            self._told = True
            why = f": {self._reason}" if known else ""
            self._tell(f"Kafka: none of the brokers {self._settings.brokers!r} can be reached{why}; it is tried again")
        if self._question is not None and self._question.done():
            answered, self._question = was_answered(self._question), None
            if answered:
                self._back()
        elif self._question is None and now >= self._ask_at:
            self._question, self._ask_at = self._ask(), now + _ASK_SECONDS

    def _back(self) -> None:
        if self._lost_at is not None:
            _log.info("%s: a broker is back", self._settings.where)
            self._lost_at = None
