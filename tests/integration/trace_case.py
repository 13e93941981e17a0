"""Records written by hand, with what plain Python makes of each: its time, or why it has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pasps.data.record_formats import Records
from pasps.data.record_source import Kind

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Line = tuple[str, str | Kind]
"""A record, and its time as `datetime.fromisoformat` reads it, or what becomes of it."""


@dataclass(frozen=True)
class Case:
    """Lines, and the request that they are counted by; `files` hold them when they are more than one."""

    name: str
    lines: Sequence[Line]
    request: Mapping[str, Any]
    step: int = 1_000_000
    files: Mapping[str, bytes] = field(default_factory=dict)
    span: tuple[str, str] | None = None

    def write(self, directory: Path) -> Records:
        """The records' files, and the request for them."""
        for name, content in (self.files or {"records": text(self.lines)}).items():
            path = directory / self.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return Records((str(directory / self.name),), **self.request)

    def expected(self) -> Counter[tuple[Kind, int | None]]:
        """How many there are of each kind and start of a step, counted by Python."""
        found: Counter[tuple[Kind, int | None]] = Counter()
        for _, time in self.lines:
            if isinstance(time, Kind):
                found[time, None] += 1
                continue
            micros = moment(time, str(self.request.get("time_zone", "UTC")))
            inside = self.span is None or moment(self.span[0], "UTC") <= micros < moment(self.span[1], "UTC")
            found[(Kind.COUNTED, micros // self.step * self.step) if inside else (Kind.OUTSIDE, None)] += 1
        return found


def text(lines: Sequence[Line], end: str = "\n") -> bytes:
    return "".join(line + end for line, _ in lines).encode()


def moment(time: str, zone: str) -> int:
    """Microseconds since 1970 of a time, of the zone's clock when it has none of its own."""
    read = datetime.fromisoformat(time)
    aware = read if read.tzinfo else read.replace(tzinfo=ZoneInfo(zone))
    return (aware.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
