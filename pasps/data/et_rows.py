"""The rows in files of events: JSON lines, or CSV with a header; bad ones are counted and named. Pure; `et_events` has the files read."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pasps.errors import InvalidError

Values = tuple[Any, ...]

_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_MOST_NAMED = 3
_CURE = "`jq -c '.[]' FILE` writes each on a line of its own"
_OPENINGS = {"[": _CURE, "[{": _CURE, "{": "`jq -c . FILE` writes it so"}
"""How JSON begins that is laid out for people, and what makes events of it."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The events of a file, at most as many as were asked for; `bad` rows before and between them, `problems` of the first of these."""

    values: list[Values]
    bad: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of one file; its name in the folder, "" when it is the only one."""

    name: str
    lines: Sequence[str]

    def place(self, line: int) -> str:
        """Where a problem is."""
        return f"{self.name}, line {line}" if self.name else f"line {line}"


def rows_of(kind: str, parts: Iterable[Part], fields: Sequence[str], most: int, where: str) -> Rows:
    """The first `most` events; no more parts are asked for than it takes. `kind` is json or csv, `where` begins messages.

    Raises:
        InvalidError: there is no event, or a file of CSV has not the columns.
    """
    reading = _Reading(most)
    for part in parts:
        (_read_json if kind == "json" else _read_csv)(part, fields, reading, where)
        if reading.full:
            break
    if not reading.values:
        found = f"none, and {reading.bad:,} bad: {reading.problems[0]}{reading.hint}" if reading.bad else "none"
        raise InvalidError(f"{where}: expected events with {', '.join(fields)}, got {found}")
    if kind == "csv":
        columns = [_typed(column) for column in zip(*reading.values, strict=True)]
        reading.values = list(zip(*columns, strict=True))
    return reading.rows()


class _Reading:
    """Takes good rows, and counts bad ones."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.values: list[Values] = []
        self.bad = 0
        self.problems: list[str] = []
        self.hint = ""
        """What may have gone wrong when no row is good."""

    @property
    def full(self) -> bool:
        return len(self.values) >= self._most

    def refuse(self, place: str, problem: str) -> None:
        self.bad += 1
        if len(self.problems) < _MOST_NAMED:
            self.problems.append(f"{place}: {problem}")

    def rows(self) -> Rows:
        return Rows(self.values, self.bad, tuple(self.problems))


def _read_json(part: Part, fields: Sequence[str], reading: _Reading, where: str) -> None:
    """Objects by field name, or arrays in the order of the fields. Values are as JSON has them; blank lines are left out."""
    for number, line in enumerate(part.lines, 1):
        if reading.full:
            break
        if not line.strip():
            continue
        try:
            reading.values.append(_values(json.loads(line), fields))
        except (ValueError, RecursionError) as error:
            if not reading.bad and line.strip() in _OPENINGS:
                reading.hint = f"; the file is one value over many lines, expected an event on each; {_OPENINGS[line.strip()]}"
            reading.refuse(part.place(number), str(error))


def _values(found: object, fields: Sequence[str]) -> Values:
    if isinstance(found, dict):
        for name in fields:
            if name not in found:
                raise ValueError(f"expected field {name!r}, got only {', '.join(map(str, found)) or 'an empty object'}")
        return tuple(found[name] for name in fields)
    if isinstance(found, list):
        if found and all(isinstance(each, dict) and each.keys() >= set(fields) for each in found):
            raise ValueError(f"expected one event, got an array of them; {_CURE}")
        if len(found) != len(fields):
            raise ValueError(f"expected {len(fields)} values ({', '.join(fields)}), got {len(found)}")
        return tuple(found)
    raise ValueError(f"expected an object or an array, got {str(found)[:60]!r}")


def _read_csv(part: Part, fields: Sequence[str], reading: _Reading, where: str) -> None:
    """The cells of the columns with the fields' names, as text; each file has a header of its own, and its own order of columns.

    Raises:
        InvalidError: there is no such column.
    """
    if part.name:
        where = f"{where}: {part.name}"
    reader = csv.reader(line + "\n" for line in part.lines)
    try:
        header = _names(next((cells for cells in reader if cells), []))
    except csv.Error as error:
        raise InvalidError(f"{where}: expected CSV with a header, got what is none ({error})") from error
    if part.name and not part.lines:
        return
    check_columns(header, fields, where)
    for cells in _rows(reader, part, reading):
        if reading.full:
            break
        if sorted(_names(cells)) == sorted(header):  # files that were put one behind the other
            header = _names(cells)
        elif cells and len(cells) != len(header):
            reading.refuse(part.place(reader.line_num), f"expected {len(header)} cells, got {len(cells)}")
        elif cells:
            reading.values.append(tuple(cells[header.index(name)] for name in fields))


def _names(cells: Sequence[str]) -> list[str]:
    return [name.strip().removeprefix("\ufeff") for name in cells]


def _rows(reader: Any, part: Part, reading: _Reading) -> Iterable[list[str]]:
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reading.refuse(part.place(reader.line_num), str(error))


def check_columns(header: Sequence[str], fields: Sequence[str], where: str) -> None:
    """Whether all are there.

    Raises:
        InvalidError: one is not.
    """
    for name in fields:
        if name not in header:
            near = get_close_matches(name, header, n=1)
            hint = f"; is it {near[0]!r}? then rename that" if near else ""
            raise InvalidError(f"{where}: expected a column {name!r}, got {', '.join(header) or 'no header'}{hint}")


def _typed(column: Sequence[str]) -> list[Any]:
    """A column whose cells are all numbers is read as numbers; an empty cell is None."""
    cells = [cell for cell in column if cell != ""]
    read: Callable[[str], Any] = str
    if cells and all(_INTEGER.fullmatch(cell) for cell in cells):
        read = int
    elif cells and all(map(_is_number, cells)):
        read = float
    return [None if cell == "" else read(cell) for cell in column]


def _is_number(cell: str) -> bool:
    """Not what only looks like one: 007 is a name, and so is nan."""
    try:
        return math.isfinite(float(cell)) and "_" not in cell and not re.match(r"[-+]?0\d", cell.strip())
    except ValueError:
        return False
