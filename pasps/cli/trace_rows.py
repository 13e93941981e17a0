"""The rows of a trace that a command is given: which of them, how long each lasts, and how high they are."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from pasps.cli.options import at_least_one, events_a_second, seconds_above_zero
from pasps.errors import InvalidError
from pasps.spouts.trace_file import TraceFile, read_trace


def add_trace(parser: argparse.ArgumentParser) -> None:
    """`--trace`, and what chooses and scales its rows."""
    add = parser.add_argument
    add("--trace", metavar="FILE", required=True, help="CSV with a header: a time and the events of each row")
    add("--step", metavar="S", type=seconds_above_zero, help="how long a row lasts; default: as the times in it say")
    add("--rows", metavar="N", type=at_least_one, help="so many rows of it; default: all")
    add("--first-row", metavar="N", type=int, default=0, help="where to begin (default: 0)")
    add("--peak", metavar="R", type=events_a_second, help="scale it to so many events a second in its busiest row")


@dataclass(frozen=True, slots=True)
class TraceRows:
    """Events of each row, and how long one lasts."""

    counts: list[float]
    step_seconds: float


def rows_of(options: argparse.Namespace) -> TraceRows:
    """What `add_trace` asked for.

    Raises:
        InvalidError: the file is no trace, has no such rows, or nothing happens in them.
    """
    file = read_trace(options.trace)
    step = options.step or _spacing(file)
    first, rows = options.first_row, options.rows
    if not 0 <= first < len(file.counts):
        raise InvalidError(f"--first-row {first}: trace file {options.trace!r} has {len(file.counts)} rows, counted from 0")
    counts = file.counts[first:] if rows is None else file.counts[first : first + rows]
    if not max(counts):
        raise InvalidError(f"trace file {options.trace!r}: nothing happens in the rows that are meant; choose others with --first-row")
    factor = 1.0 if options.peak is None else options.peak * step / float(max(counts))
    return TraceRows([float(count) * factor for count in counts], step)


def _spacing(file: TraceFile) -> float:
    try:
        return float(file.spacing_seconds())
    except InvalidError as error:
        raise InvalidError(f"{error} (here: --step S)") from error
