"""Which partitions of one task are paused: while there is no room, all. Called on the reader's thread."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pasps.connectors.kafka_client import partition_of
from pasps.connectors.kafka_partitions import Key


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
