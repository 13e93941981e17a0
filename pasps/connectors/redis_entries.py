"""Entries of a stream, and the order of their ids. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIRST = "0-0"
"""Before every id."""


@dataclass(frozen=True, slots=True)
class RedisEntry:
    """An entry as `values` gets it; the values of `fields` are bytes, as Redis has them."""

    stream: str
    id: str
    fields: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """Bytes of the fields."""
        return sum(len(name) + len(value) for name, value in self.fields.items())

    @property
    def seconds(self) -> float:
        """When it was added, since the epoch, as its id says."""
        return int(self.id.partition("-")[0]) / 1000

    def __str__(self) -> str:
        return f"entry {self.id} of {self.stream!r}"


def entry_of(stream: str, raw: tuple[bytes, Mapping[bytes, bytes] | None]) -> RedisEntry:
    """From what the client gives. An entry that was deleted while it was pending has no fields; every other has some."""
    fields = raw[1] or {}
    return RedisEntry(stream, raw[0].decode(), {name.decode("utf-8", "backslashreplace"): value for name, value in fields.items()})


def place_of(entry_id: str) -> tuple[int, int]:
    """What ids are ordered by."""
    millis, _, number = entry_id.partition("-")
    return int(millis), int(number or 0)


def share_of(count: int, index: int, tasks: int) -> int:
    """What one task counts of something that all have together; the shares add up."""
    return count // tasks + (index < count % tasks)


def entries_of(stream: str, answer: Any) -> list[RedisEntry]:
    """From the answer to XREADGROUP of one stream."""
    return [entry_of(stream, raw) for _, entries in answer or () for raw in entries]
