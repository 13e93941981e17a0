"""From the keys of a trace spout's configuration to its trace."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from pasps.errors import ConfigError, InvalidError
from pasps.spouts.trace import Trace
from pasps.spouts.trace_file import Count, TraceFile, read_trace

_PREFIX = "trace."
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
    keys = Keys({name: value for name, value in conf.items() if name.startswith(_PREFIX) and value is not None}, _KEYS, where)
    keys.at_most_one("trace.file", "trace.rows")
    keys.at_most_one("trace.step.seconds", "trace.speed")
    keys.at_most_one("trace.peak", "trace.scale")
    path, speed = keys.text("trace.file", "the path of a CSV file"), keys.number("trace.speed") or Fraction(1)
    file = None if path is None else read_trace(path)
    counts = keys.rows("trace.rows") if file is None else file.counts
    step = keys.number("trace.step.seconds") or _spacing_seconds(file) / speed
    counts = _stretch(keys, counts)
    return Trace(counts, step, _scale(keys, counts, step), repeat=keys.flag("trace.repeat"))


def _spacing_seconds(file: TraceFile | None) -> Fraction:
    return Fraction(1) if file is None else file.spacing_seconds()


def _stretch(keys: Keys, counts: list[Count]) -> list[Count]:
    first = keys.whole("trace.first.row", 0, len(counts) - 1, _NO_MORE_ROWS) or 0
    count = keys.whole("trace.row.count", 1, len(counts) - first, _NO_MORE_ROWS)
    return counts[first:] if count is None else counts[first : first + count]


def _scale(keys: Keys, counts: list[Count], step: Fraction) -> Fraction:
    peak, largest = keys.number("trace.peak"), max(counts)
    if peak is not None and largest:
        return peak * step / largest
    return keys.number("trace.scale") or Fraction(1)


class Keys:
    """Typed access to what was given for `names`, a component's keys; a method gives None for a key that is not there.

    Every method raises ConfigError for a value that its key does not take.
    """

    def __init__(self, given: Mapping[str, Any], names: Collection[str], where: str) -> None:
        """`given` may have other keys: somebody else's. `where` is whose they are, for messages.

        Raises:
            ConfigError: one is nearly one of `names`, a slip of the pen.
        """
        self._given = given
        self._where = where
        for name in given.keys() - set(names):
            near = get_close_matches(name, names, n=1, cutoff=0.8)
            if near:
                raise ConfigError(name, "is unknown", where=where, cure=f"the nearest known name is {near[0]!r}")

    def at_most_one(self, one: str, other: str) -> None:
        """Not both."""
        if one in self._given and other in self._given:
            raise ConfigError(one, f"and {other!r} say the same thing twice", where=self._where, cure="set one of them")

    def text(self, name: str, what: str) -> str | None:
        """Text that is not empty; `what` it is to be is for the message."""
        value = self._given.get(name)
        if value is not None and not (isinstance(value, str) and value):
            raise self._wrong(name, what, value)
        return value

    def flag(self, name: str) -> bool:
        """False when it is not there."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def number(self, name: str) -> Fraction | None:
        """Above 0."""
        value = self._given.get(name)
        if value is None:
            return None
        number = _exact(value)
        if number is None or number <= 0:
            raise self._wrong(name, "a number above 0", value)
        return number

    def whole(self, name: str, least: int, most: int, why: str = "") -> int | None:
        """An integer within bounds; `why` these is for the message."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._wrong(name, f"an integer from {least} to {most}{why}", value)
        return value

    def rows(self, name: str) -> list[Count]:
        """Counts; they must be there."""
        values = self._given.get(name)
        if values is None:
            raise InvalidError(f"{self._where}: expected 'trace.file', a CSV file, or 'trace.rows', a list of counts, got neither")
        if not isinstance(values, (list, tuple)) or not values:
            raise self._wrong(name, "a list of counts", values)
        counts: list[Count] = []
        for place, value in enumerate(values):
            count = _exact(value)
            if count is None or count < 0:
                raise self._wrong(name, f"counts of at least 0 (place {place})", value)
            counts.append(count)
        return counts

    def _wrong(self, name: str, expected: str, value: object) -> ConfigError:
        return ConfigError(name, f"must be {expected}, got {value!r} ({type(value).__name__})", where=self._where)


def _exact(value: object) -> Fraction | None:
    """The number as it was written: 0.1 is a tenth."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))
