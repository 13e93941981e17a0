"""Events from files: which spout's stream a file is for, its files in order, and the rows in them. Spark reads the files.

JSON lines, or CSV with a header: bad rows are counted and named. Parquet has none.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pasps.api.blueprint import Blueprint
from pasps.api.tuples import DEFAULT_STREAM
from pasps.errors import InvalidError, PaspsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Values = tuple[Any, ...]

_COMPRESSED = re.compile(r"\.(gz|bz2|zst|lz4|snappy|deflate)$")
_ENDINGS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
_MORE_LINES = 1000
"""So many lines more than events are looked at, and twice as many, since some may be bad."""
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_MOST_NAMED = 3
_CURE = "`jq -c '.[]' FILE` writes each on a line of its own"
_OPENINGS = {"[": _CURE, "[{": _CURE, "{": "`jq -c . FILE` writes it so"}
"""How JSON begins that is laid out for people, and what makes events of it."""


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
    """The first `most` events of a file, or of the files of a folder, one file after the other by name. Blocks.

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
                return _of_parquet(session.read.parquet(file.path), fields, most, where)
            files = _by_name(session.read.text(file.path), ["value"], 2 * most + _MORE_LINES)
            return rows_of(kind, (Part(name, [row.value for row in rows]) for name, rows in files), fields, most, where)
    except PaspsError as error:
        raise error if str(error).startswith(where) else type(error)(f"{where}: {error}") from error


def _by_name(frame: DataFrame, columns: Sequence[str], most: int) -> Iterator[tuple[str, list[Row]]]:
    """At most `most` rows of each file, when it is asked for. Spark itself begins with the largest file. A lone one has no name."""
    wanted = [f"`{column}`" for column in columns]
    paths = sorted(frame.inputFiles(), key=unquote)
    if len(paths) <= 1:
        yield "", frame.select(wanted).take(most)
        return
    split = [path.split("/") for path in paths]
    shared = sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, zip(*split, strict=False)))
    for path, parts in zip(paths, split, strict=True):
        # files of this machine are written in two ways
        of_file = frame["_metadata.file_path"].isin(path, path.replace("file:///", "file:/"))
        yield unquote("/".join(parts[shared:])), frame.where(of_file).select(wanted).take(most)


def _kind(path: str, where: str) -> str:
    plain = _COMPRESSED.sub("", path.rstrip("/*"))
    kind = next((kind for ending, kind in _ENDINGS.items() if plain.endswith(ending)), None)
    if kind is None:
        raise InvalidError(f"{where}: its name does not say what is in it, expected one that ends in {', '.join(_ENDINGS)}, also with .gz")
    return kind


def _of_parquet(frame: DataFrame, fields: Sequence[str], most: int, where: str) -> Rows:
    _check_columns(frame.columns, fields, where)
    rows = (row for _, rows in _by_name(frame, fields, most) for row in rows)
    taken = [tuple(_plain(value) for value in row) for row in islice(rows, most)]
    if not taken:
        raise InvalidError(f"{where}: expected events with {', '.join(fields)}, got none")
    return Rows(taken)


def _plain(value: Any) -> Any:
    """Spark's rows as dicts, so that nothing of Spark reaches a bolt."""
    if hasattr(value, "asDict"):
        return {name: _plain(part) for name, part in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return bytes(value) if isinstance(value, bytearray) else value


# ---- lines of JSON and of CSV


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
    _check_columns(header, fields, where)
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


def _check_columns(header: Sequence[str], fields: Sequence[str], where: str) -> None:
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
