"""Events from files: which spout's stream a file is for, and the rows in it. Spark reads the files; what is in them is read here."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pasps.api.blueprint import Blueprint
from pasps.api.tuples import DEFAULT_STREAM
from pasps.errors import InvalidError, PaspsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Values = tuple[Any, ...]

_COMPRESSED = re.compile(r"\.(gz|bz2|zst|lz4|snappy|deflate)$")
_ENDINGS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_MOST_NAMED = 3
_MORE_LINES = 1000
"""So many lines more than events are looked at, and twice as many, since some may be bad."""


@dataclass(frozen=True, slots=True)
class EventFile:
    """A file of events of one stream of a spout; `path` is local, or one of Spark's, as gs://."""

    spout: str
    stream: str
    path: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The events of a file, at most as many as were asked for; `bad` rows before and between them, `problems` of the first of these."""

    values: list[Values]
    bad: int = 0
    problems: tuple[str, ...] = ()


def event_files(texts: Sequence[str], blueprint: Blueprint) -> list[EventFile]:
    """What `--events` says: PATH, SPOUT=PATH or SPOUT:STREAM=PATH.

    Raises:
        InvalidError: no such spout or stream, it is not clear which is meant, or one is given twice.
    """
    files = [_event_file(text, blueprint) for text in texts]
    for place, file in enumerate(files):
        if any((file.spout, file.stream) == (other.spout, other.stream) for other in files[:place]):
            cure = "put both into one folder, and name that"
            raise InvalidError(f"--events {file.path}: spout {file.spout!r}, stream {file.stream!r}, has a file already; {cure}")
    return files


def _event_file(text: str, blueprint: Blueprint) -> EventFile:
    where, equals, path = text.partition("=")
    spouts = [name for name, plan in blueprint.components.items() if plan.is_spout]
    name, _, stream = where.partition(":")
    # a path may have an equals sign too, as in events/day=3/
    if not equals or "/" in where:
        path, name, stream = text, "", ""
        if len(spouts) > 1:
            raise InvalidError(f"--events {text}: the topology has several spouts ({', '.join(spouts)}); write SPOUT={text}")
        name = spouts[0]
    if name not in spouts:
        near = get_close_matches(name, spouts, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its spouts are {', '.join(spouts)}"
        raise InvalidError(f"--events {text}: the topology has no spout {name!r}; {hint}")
    streams = blueprint.components[name].streams
    stream = stream or (next(iter(streams)) if len(streams) == 1 else DEFAULT_STREAM)
    if stream not in streams:
        example = f"{name}:{next(iter(streams), DEFAULT_STREAM)}={path}"
        raise InvalidError(f"--events {text}: spout {name!r} has no stream {stream!r}; it has {', '.join(streams)}; write {example}")
    if streams[stream].direct:
        raise InvalidError(f"--events {text}: of direct stream {stream!r} spout {name!r} itself chooses the tasks; leave --events out")
    return EventFile(name, stream, path)


def read_events(session: SparkSession, file: EventFile, fields: Sequence[str], most: int) -> Rows:
    """The first `most` events of a file, or of the files of a folder. Blocks.

    Raises:
        InvalidError: there is no such file, its name does not say what it is, or it does not have the fields.
        BrokenError: Spark cannot read it.
    """
    where = f"--events {file.path}"
    kind = _kind(file.path, where)
    # what knows pyspark, which is optional, is imported when there is a session
    errors = import_module("pasps.data.spark_errors")
    try:
        with errors.errors_translated():
            if kind == "parquet":
                return _of_parquet(session, file.path, fields, most, where)
            taken = session.read.text(file.path).take(2 * most + _MORE_LINES)
    except PaspsError as error:
        raise error if str(error).startswith(where) else type(error)(f"{where}: {error}") from error
    lines = [row.value for row in taken]
    rows = (_from_json if kind == "json" else _from_csv)(lines, fields, most, where)
    if not rows.values:
        found = f"none, and {rows.bad:,} bad: {rows.problems[0]}" if rows.bad else "none"
        raise InvalidError(f"{where}: expected events with {', '.join(fields)}, got {found}")
    return rows


def _kind(path: str, where: str) -> str:
    plain = _COMPRESSED.sub("", path.rstrip("/*"))
    kind = next((kind for ending, kind in _ENDINGS.items() if plain.endswith(ending)), None)
    if kind is None:
        raise InvalidError(f"{where}: its name does not say what is in it, expected one that ends in {', '.join(_ENDINGS)}, also with .gz")
    return kind


class _Reading:
    """Takes good rows, and counts bad ones."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.values: list[Values] = []
        self.bad = 0
        self.problems: list[str] = []

    @property
    def full(self) -> bool:
        return len(self.values) >= self._most

    def refuse(self, place: str, problem: str) -> None:
        self.bad += 1
        if len(self.problems) < _MOST_NAMED:
            self.problems.append(f"{place}: {problem}")

    def rows(self) -> Rows:
        return Rows(self.values, self.bad, tuple(self.problems))


def _from_json(lines: Iterable[str], fields: Sequence[str], most: int, where: str) -> Rows:
    """Objects by field name, or arrays in the order of the fields. Values are as JSON has them; blank lines are left out."""
    reading = _Reading(most)
    for number, line in enumerate(lines, 1):
        if reading.full:
            break
        if not line.strip():
            continue
        try:
            reading.values.append(_values(json.loads(line), fields))
        except (ValueError, RecursionError) as error:
            reading.refuse(f"line {number}", str(error))
    return reading.rows()


def _values(found: object, fields: Sequence[str]) -> Values:
    if isinstance(found, dict):
        for name in fields:
            if name not in found:
                raise ValueError(f"expected field {name!r}, got only {', '.join(map(str, found)) or 'an empty object'}")
        return tuple(found[name] for name in fields)
    if isinstance(found, list):
        if len(found) != len(fields):
            raise ValueError(f"expected {len(fields)} values ({', '.join(fields)}), got {len(found)}")
        return tuple(found)
    raise ValueError(f"expected an object or an array, got {str(found)[:60]!r}")


def _from_csv(lines: Sequence[str], fields: Sequence[str], most: int, where: str) -> Rows:
    """The columns with the fields' names. One whose cells are all numbers is read as numbers; an empty cell is None.

    Raises:
        InvalidError: there is no such column.
    """
    reader = csv.reader(line + "\n" for line in lines)
    try:
        header = [name.strip().removeprefix("\ufeff") for name in next(reader, [])]
    except csv.Error as error:
        raise InvalidError(f"{where}: expected CSV with a header, got what is none ({error})") from error
    _check_columns(header, fields, where)
    places = [header.index(name) for name in fields]
    reading = _Reading(most)
    for cells in _rows(reader, reading):
        if reading.full:
            break
        if not cells or cells == header:  # each file of a folder has a header
            continue
        if len(cells) != len(header):
            reading.refuse(f"line {reader.line_num}", f"expected {len(header)} cells, got {len(cells)}")
            continue
        reading.values.append(tuple(cells[place] for place in places))
    columns = [_typed(column) for column in zip(*reading.values, strict=True)]
    reading.values = list(zip(*columns, strict=True))
    return reading.rows()


def _rows(reader: Any, reading: _Reading) -> Iterable[list[str]]:
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reading.refuse(f"line {reader.line_num}", str(error))


def _check_columns(header: Sequence[str], fields: Sequence[str], where: str) -> None:
    for name in fields:
        if name not in header:
            near = get_close_matches(name, header, n=1)
            hint = f"; is it {near[0]!r}? then rename that" if near else ""
            raise InvalidError(f"{where}: expected a column {name!r}, got {', '.join(header) or 'no header'}{hint}")


def _typed(column: Sequence[str]) -> list[Any]:
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


def _of_parquet(session: SparkSession, path: str, fields: Sequence[str], most: int, where: str) -> Rows:
    frame = session.read.parquet(path)
    _check_columns(frame.columns, fields, where)
    taken = frame.select([f"`{name}`" for name in fields]).take(most)
    if not taken:
        raise InvalidError(f"{where}: expected events with {', '.join(fields)}, got none")
    return Rows([tuple(_plain(value) for value in row) for row in taken])


def _plain(value: Any) -> Any:
    """Spark's rows as dicts, so that nothing of Spark reaches a bolt."""
    if hasattr(value, "asDict"):
        return {name: _plain(part) for name, part in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return bytes(value) if isinstance(value, bytearray) else value
