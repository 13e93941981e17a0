"""Which events reached the end of the line, by id: what its last bolt wrote down, 8 bytes for each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class IdCounts:
    """Of so many events: how many came at least once, how often one came again, and how many arrivals have no such id."""

    events: int
    seen: int
    again: int
    unknown: int

    @property
    def missing(self) -> int:
        """Events that never came."""
        return self.events - self.seen


def count_ids(arrivals: Iterable[int], events: int) -> IdCounts:
    """Count arrivals of the ids 0 to `events` - 1."""
    seen = bytearray(events)
    total = found = unknown = 0
    for number in arrivals:
        total += 1
        if not 0 <= number < events:
            unknown += 1
        elif not seen[number]:
            seen[number] = 1
            found += 1
    return IdCounts(events, found, total - found - unknown, unknown)


def read_ids(directory: Path) -> array[int]:
    """All arrivals that were written down, in no order; a killed writer's half of a number is left out."""
    numbers = array("q")
    for path in sorted(directory.glob("*.ids")):
        data = path.read_bytes()
        numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return numbers
