"""Events from files: which spout's stream a file is for, and its files in order. Spark reads them; `et_rows` knows what is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pasps.api.blueprint import Blueprint
from pasps.api.tuples import DEFAULT_STREAM
from pasps.data.et_rows import Part, Rows, check_columns, rows_of
from pasps.errors import InvalidError, PaspsError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_COMPRESSED = re.compile(r"\.(gz|bz2|zst|lz4|snappy|deflate)$")
_ENDINGS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
_MORE_LINES = 1000
"""So many lines more than events are looked at, and twice as many, since some may be bad."""


@dataclass(frozen=True, slots=True)
class EventFile:
    """A file of events of one stream of a spout; `path` is local, or one of Spark's, as gs://."""

    spout: str
    stream: str
    path: str


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
    check_columns(frame.columns, fields, where)
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
