"""What a build has found, as numbers; and names of files for keys. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class KeySummary:
    """One key's part: `file` is its trace, in `by-key`."""

    file: str
    counted: int
    peak: int


@dataclass(frozen=True, slots=True)
class Summary:
    """All numbers of a build.

    `records` is `counted`, the bad ones and `outside`; lines that are blank, or a CSV file's header, are no records. `first` and
    `last` are times of records, not of steps, of which there are `steps`; None when none was counted.
    """

    out: str
    format: str
    paths: tuple[str, ...]
    time_zone: str
    records: int
    counted: int
    bad: Mapping[str, int]
    outside: int
    blank: int
    headers: int
    first: str | None
    last: str | None
    steps: int
    step_seconds: float
    peak: int
    peak_time: str | None
    mean: float
    keys: Mapping[str, KeySummary] | None = field(default=None)

    @property
    def bad_total(self) -> int:
        """All bad records."""
        return sum(self.bad.values())

    def as_object(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def key_files(keys: Iterable[str]) -> dict[str, str]:
    """A file name for each key that every file system takes, and no two of which differ by case only."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for key in sorted(keys):
        safe = re.sub(r"[^A-Za-z0-9.-]+", "_", key)[:_LONGEST_NAME].strip("._-") or "none"
        if safe != key or safe.casefold() in taken:
            safe += "-" + hashlib.sha256(key.encode()).hexdigest()[:8]
        taken.add(safe.casefold())
        found[key] = f"{safe}.csv"
    return found
