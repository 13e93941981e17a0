"""Writes traces as CSV, and any file so that it is there whole or not at all. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pasps.data.steps import END_MICROS, iso_time
from pasps.errors import InvalidError


def trace_lines(counts: Iterable[int], first: int, step: int) -> Iterator[str]:
    """The lines of a trace that begins at `first` and goes on every `step`, both in microseconds."""
    yield "time,count\n"
    for place, count in enumerate(counts):
        yield f"{iso_time(first + place * step)},{count}\n"


def check_span(first: int, step: int, rows: int) -> None:
    """Whether the times of so many rows can be written.

    Raises:
        InvalidError: they go beyond the year 9999.
    """
    if first + rows * step > END_MICROS:
        raise InvalidError(f"{rows:,} rows from {iso_time(first)} on end after the year 9999; give a shorter step, or an earlier start")


def refuse_existing(paths: Iterable[Path], *, overwrite: bool) -> None:
    """Before work is begun: what is there is not lost unless that is wanted, and what cannot be written need not be computed.

    Raises:
        InvalidError: a file is there and may not be overwritten, or its directory is not there.
    """
    for path in paths:
        if not path.parent.is_dir():
            raise InvalidError(f"{path}: there is no directory {str(path.parent)!r} to write it in; make it first")
        if path.is_dir():
            raise InvalidError(f"{path} is a directory, expected the name of a file to write")
        if path.exists() and not overwrite:
            raise InvalidError(f"{path} is there already; give another name, or --overwrite to replace it")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, over an older one, which stays as it is if anything fails.

    Raises:
        InvalidError: it cannot be written.
    """

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)

    replaced(path, write)


def write_bytes(path: Path, content: bytes) -> None:
    """The same for bytes."""

    def write(part: Path) -> None:
        part.write_bytes(content)

    replaced(path, write)


def replaced(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written beside its place, and put it there when it is whole.

    Raises:
        InvalidError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        part.replace(path)
    except OSError as error:
        raise InvalidError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
