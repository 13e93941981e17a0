"""The files by which every subject tells the measuring parent what its sources emitted and its sinks received."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What one source emitted by its end: the first `emitted` ids of its residue class `part` of `parts`."""

    part: int
    parts: int
    emitted: int
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class SinkRecord:
    """What one sink saw. `marks` are (time, received so far), `samples` (due or emitted, arrived); times are CLOCK_MONOTONIC."""

    received: int
    first: float
    last: float
    marks: list[tuple[float, int]]
    samples: list[tuple[float, float]]
    classes: dict[str, int]


Record = TypeVar("Record", SourceRecord, SinkRecord)
_PREFIXES: dict[type, str] = {SourceRecord: "source", SinkRecord: "sink"}


def write(record: SourceRecord | SinkRecord, directory: Path) -> None:
    """Leave `record` in `directory`, whole or not at all."""
    path = directory / f"{_PREFIXES[type(record)]}-{os.getpid()}-{next(_numbers)}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(record)))
    partial.rename(path)


def read(kind: type[Record], directory: Path) -> list[Record]:
    """All records of one kind."""
    return [kind(**json.loads(path.read_text())) for path in sorted(directory.glob(f"{_PREFIXES[kind]}-*.json"))]


def count(kind: type[Record], directory: Path) -> int:
    """How many there are, without reading them."""
    return sum(1 for _ in directory.glob(f"{_PREFIXES[kind]}-*.json"))
