"""Where the partitions of one task end, so that its lag is known. Called on the reader's thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from pasps.connectors.kafka_client import KafkaException, ask_offsets, committed_of, partition_of
from pasps.connectors.kafka_partitions import Key, Partition
from pasps.connectors.kafka_settings import KafkaSettings

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5

Owned = Mapping[Key, Partition]


class Ends:
    """Each fetch says where its partition ends. While there is no room nothing is fetched, so the brokers are asked.

    That goes over other connections than the consumer's, which are held up by fetches that wait. Only where the group reads on in
    partitions of which nothing has come the consumer itself asks its coordinator, which may take half a second.
    """

    def __init__(self, settings: KafkaSettings, client: Callable[[], Any]) -> None:
        """`client` gives the client that asks, and makes it when it is needed first."""
        self._settings, self._client = settings, client
        self._looked_at = self._asked_at = 0.0
        self._answers: list[tuple[Future[Any], Callable[[Any], None]]] = []

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
        client = self._client()
        for key, answer in ask_offsets(client, owned, at_end=True).items():
            self._answers.append((answer, partial(_met, owned[key])))
        unknown = {key: partition for key, partition in owned.items() if partition.position is None and partition.begins is None}
        if unknown:
            self._begins(consumer, unknown)

    def _take(self) -> None:
        answers, self._answers = self._answers, []
        for answer, use in answers:
            if not answer.done():
                self._answers.append((answer, use))
            elif answer.exception() is not None:
                _log.debug("%s: %s", self._settings.where, answer.exception())
            else:
                use(answer.result())

    def _begins(self, consumer: Any, unknown: Owned) -> None:
        """Where the group reads on; of partitions that it has no offset of, ask where they begin."""
        try:
            offsets = committed_of(consumer, unknown)
        except KafkaException as error:  # next time
            _log.debug("%s: %s", self._settings.where, error)
            return
        for key, offset in offsets.items():
            unknown[key].begins = offset
        new = {key: partition for key, partition in unknown.items() if partition.begins is None}
        if new:
            for key, answer in ask_offsets(self._client(), new, at_end=self._settings.from_the_end).items():
                self._answers.append((answer, partial(_begin, new[key])))


def _met(partition: Partition, answer: Any) -> None:
    partition.met(answer.offset)


def _begin(partition: Partition, answer: Any) -> None:
    partition.begins = max(0, answer.offset)
