"""From the keys of a trace spout's configuration to its trace."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pasps.api.keys import Keys
from pasps.errors import InvalidError
from pasps.spouts.trace import Trace
from pasps.spouts.trace_file import Count, TraceFile, read_trace

_KEYS = (
    "trace.file",
    "trace.rows",
    "trace.step.seconds",
    "trace.speed",
    "trace.peak",
    "trace.scale",
    "trace.first.row",
    "trace.row.count",
    "trace.repeat",
)

_NO_MORE_ROWS = ", for the trace has no more rows"


def trace_of(conf: Mapping[str, Any], where: str) -> Trace:
    """The trace that these keys describe; keys that do not begin with `trace.` are left alone, and null is as if left out.

    Args:
        conf: As given to `initialize`.
        where: Whose it is, for the message: `component 'input'`.

    Raises:
        InvalidError: a key is missing, wrong, misspelled, or says what another one says too; or the file is wrong.
    """
    keys = Keys(conf, _KEYS, where, "trace.")
    keys.at_most_one("trace.file", "trace.rows")
    keys.at_most_one("trace.step.seconds", "trace.speed")
    keys.at_most_one("trace.peak", "trace.scale")
    path, speed = keys.text("trace.file", "the path of a CSV file"), keys.number("trace.speed") or Fraction(1)
    file = None if path is None else read_trace(path)
    counts = keys.counts("trace.rows") if file is None else file.counts
    if counts is None:
        raise InvalidError(f"{where}: expected 'trace.file', a CSV file, or 'trace.rows', a list of counts, got neither")
    step = keys.number("trace.step.seconds") or _spacing_seconds(file) / speed
    counts = _stretch(keys, counts)
    return Trace(counts, step, _scale(keys, counts, step), repeat=keys.flag("trace.repeat", False))


def _spacing_seconds(file: TraceFile | None) -> Fraction:
    return Fraction(1) if file is None else file.spacing_seconds()


def _stretch(keys: Keys, counts: list[Count]) -> list[Count]:
    first = keys.whole_or_none("trace.first.row", 0, len(counts) - 1, _NO_MORE_ROWS) or 0
    count = keys.whole_or_none("trace.row.count", 1, len(counts) - first, _NO_MORE_ROWS)
    return counts[first:] if count is None else counts[first : first + count]


def _scale(keys: Keys, counts: list[Count], step: Fraction) -> Fraction:
    peak, largest = keys.number("trace.peak"), max(counts)
    if peak is not None and largest:
        return peak * step / largest
    return keys.number("trace.scale") or Fraction(1)
