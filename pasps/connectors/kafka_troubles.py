"""What the client tells of brokers that are away, of logins and topics: which of it people hear, and in which words."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pasps.clock import Clock
from pasps.connectors.kafka_client import KafkaSettings, was_answered, words_of

_log = logging.getLogger(__name__)

_LOG_SECONDS = 10.0
_ASK_SECONDS = 0.5
_REASON_SECONDS = 5.0
"""So long is waited for the reason why none can be reached; connections that were closed in good order have none yet."""
_STALE_SECONDS = 60.0
_MOST_IN_VAIN = 2
"""One question may fail since the group's coordinator is moving; that is no outage."""
_OF_ONE_BROKER = frozenset(("_TRANSPORT", "_RESOLVE", "_TIMED_OUT"))
"""The client goes on by itself, with the others or when it is back."""


class Troubles:
    """Reported is what needs somebody: no broker at all, a login, a topic, a right. The rest is in the worker's log.

    That no broker can be reached is reported once, and again when one has been back. States:

    - WELL. The client says that all are down: LOST.
    - LOST: the brokers are asked, over connections of another client. Something was read that had not been fetched before: WELL.
      A question was answered: DOUBTFUL.
    - DOUBTFUL: a broker is back, but for all that is known not for this client, which tries again in pauses of its own. While it has
      none it may not say again that all are down, or say it of a try that failed before. So when a broker fails it, the brokers are
      asked: LOST after two questions without an answer, or one when it says that all are down. Something was read: WELL.

    A question counts in the state alone in which it was asked.
    """

    def __init__(self, settings: KafkaSettings, clock: Clock, tell: Callable[[str], None], ask: Callable[[], Future[Any]]) -> None:
        """`ask` asks the brokers anything."""
        self._settings, self._clock, self._tell, self._ask = settings, clock, tell, ask
        self._reason, self._reason_at = "", 0.0
        self._log_at = 0.0
        self._lost_at: float | None = None
        self._told = self._drained = False
        self._doubtful = False
        self._in_vain = 0
        self._question: Future[Any] | None = None
        self._asked_at = 0.0
        self._ask_at: float | None = None
        """When the brokers are asked next; None: they are not."""

    @property
    def lost(self) -> bool:
        """Whether no broker can be reached, as far as is known."""
        return self._lost_at is not None

    def hear(self, error: Any) -> None:
        """The client has told of an error."""
        now = self._clock.now()
        if error.name() in _OF_ONE_BROKER:
            self._reason, self._reason_at = error.str(), now
            if now >= self._log_at:
                self._log_at = now + _LOG_SECONDS
                _log.warning("%s: %s", self._settings.where, words_of(error))
            if self._doubtful:
                self._make_sure(now)
            self.look(now)
        elif error.name() == "_ALL_BROKERS_DOWN":
            if self._doubtful:
                self._in_vain = _MOST_IN_VAIN - 1
                self._make_sure(now)
            elif self._lost_at is None:
                self._lose(now)
            self.look(now)
        else:
            self._tell(words_of(error))

    def polled(self, *, found: bool) -> None:
        """A poll found something that a broker sent, or did not.

        What was fetched before the brokers were lost comes first, and says nothing of them.
        """
        if found and (self._drained or self._lost_at is None):
            self._back(doubtful=False)
        self._drained = self._drained or not found

    def look(self, now: float) -> None:
        """Tell of brokers that are lost; find out whether one is back. Returns at once."""
        if self._lost_at is not None:
            self._say(self._lost_at, now)
        if self._question is not None and self._question.done():
            answered, self._question = was_answered(self._question), None
            if answered:
                self._back(doubtful=True)
            elif self._doubtful:
                self._in_vain += 1
                if self._in_vain >= _MOST_IN_VAIN:
                    self._lose(now)
        elif self._question is None and self._ask_at is not None and now >= self._ask_at:
            self._asked_at, self._ask_at = now, now + _ASK_SECONDS
            self._question = self._ask()

    def _say(self, lost_at: float, now: float) -> None:
        known = now - self._reason_at < _STALE_SECONDS and self._reason
        if not self._told and (known or now - lost_at >= _REASON_SECONDS):
            self._told = True
            why = f": {self._reason}" if known else ""
            self._tell(f"Kafka: none of the brokers {self._settings.brokers!r} can be reached{why}; it is tried again")

    def _make_sure(self, now: float) -> None:
        if self._ask_at is None:
            self._ask_at = max(now, self._asked_at + _ASK_SECONDS)

    def _lose(self, now: float) -> None:
        self._lost_at, self._told, self._drained, self._doubtful = now, False, False, False
        self._question, self._ask_at = None, now + _ASK_SECONDS

    def _back(self, *, doubtful: bool) -> None:
        if self._lost_at is not None:
            _log.info("%s: a broker is back", self._settings.where)
        self._lost_at, self._doubtful, self._in_vain = None, doubtful, 0
        self._question = self._ask_at = None
