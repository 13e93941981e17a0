"""Reads a trace: a CSV file with a header, whose first two columns are a time and a count."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from pasps.errors import InvalidError

Count = int | Fraction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EVEN_SHARE, _EVEN_WITHIN = 0.9, 0.01


@dataclass(frozen=True, slots=True)
class TraceFile:
    """What stands in it, exactly; `times` in whole microseconds, each later than the one before."""

    path: str
    counts: list[Count] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def spacing_seconds(self) -> Fraction:
        """How long a row lasts: the median distance of two rows.

        Raises:
            InvalidError: there is one row only, or less than nine in ten have that distance, so that no one number describes it.
        """
        steps = sorted(after - before for before, after in zip(self.times, self.times[1:], strict=False))
        if not steps:
            raise InvalidError(f"trace file {self.path!r} has one row, which does not say how long a row lasts; set trace.step.seconds")
        middle = steps[len(steps) // 2]
        even = sum(1 for step in steps if abs(step - middle) <= _EVEN_WITHIN * middle)
        if even < _EVEN_SHARE * len(steps):
            seconds = f"{steps[0] / 1e6:g} to {steps[-1] / 1e6:g} s"
            raise InvalidError(f"trace file {self.path!r}: its rows are {seconds} apart; set trace.step.seconds, how long a row lasts")
        return Fraction(middle, 1_000_000)


def read_trace(path: str) -> TraceFile:
    """The file's rows; blank lines are left out, and so are further columns.

    Raises:
        InvalidError: it cannot be read, has no rows, or a line of it is wrong: names line, column, what was expected and found.
    """
    found = TraceFile(path)
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            for line, cells in _lines(file, path):
                found.times.append(_time(cells[0], f"trace file {path!r}, line {line}, column 1", found.times))
                found.counts.append(_count(cells[1], f"trace file {path!r}, line {line}, column 2"))
    except OSError as error:
        raise InvalidError(f"trace file {path!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidError(f"trace file {path!r}: expected text in UTF-8, got byte {error.object[error.start]:#04x}") from error
    if not found.counts:
        raise InvalidError(f"trace file {path!r}: expected a header and at least one row of time and count, got no row")
    return found


def _lines(file: Iterator[str], path: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row after the header."""
    reader = csv.reader(file)
    header = True
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"trace file {path!r}, line {reader.line_num}"
            if len(cells) < 2:
                raise InvalidError(f"{where}, column 2: expected a time and a count, got {','.join(cells)!r} alone")
            if header:
                header = False
                if exact(cells[1]) is not None:
                    raise InvalidError(f"{where}, column 2: expected a header such as 'time,count', got the number {cells[1]!r}")
                continue
            yield reader.line_num, cells
    except csv.Error as error:
        raise InvalidError(f"trace file {path!r}, line {reader.line_num}: expected CSV, got what is none ({error})") from error


def exact(text: str) -> Count | None:
    """The number that `text` writes, to the last decimal (of 17); None when it writes none, or one that is not finite."""
    try:
        number = float(text)
        if not math.isfinite(number):
            return None
        return int(number) if number.is_integer() and abs(number) < 2**53 else Fraction(repr(number))
    except ValueError:
        return None


def _count(text: str, where: str) -> Count:
    count = exact(text)
    if count is None or count < 0:
        raise InvalidError(f"{where}: expected a count of at least 0, got {text[:80]!r}")
    return count


def _time(text: str, where: str, before: list[int]) -> int:
    number = exact(text)
    if number is not None:
        time = round(number * 1_000_000)
    else:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            raise InvalidError(f"{where}: expected a time, in ISO 8601 or in seconds, got {text!r}") from None
        # a time without a zone is as good as one in UTC, since only distances are used
        time = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
    if before and time <= before[-1]:
        raise InvalidError(f"{where}: expected a time later than that of the row before, got {text[:80]!r}")
    return time
