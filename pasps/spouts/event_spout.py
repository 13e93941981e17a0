"""A spout whose events are the lines of a file, or made up, and become due by a trace or by traffic that is made up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pasps.api.component import Outputs
from pasps.api.context import TopologyContext
from pasps.api.keys import Keys
from pasps.errors import ConfigError, InvalidError
from pasps.spouts.synth import KINDS, Kind, Traffic, rates
from pasps.spouts.trace import FirstEvents
from pasps.spouts.trace_spout import TraceSpout

_KEYS = ("events.total", "events.rate", "events.kind", "events.seed", "events.file")
_LARGEST = (1 << 63) - 1
"""The largest whole number that every database takes."""
_LEAST_RATE = 1 / 86_400
_MOST_PASS_SECONDS = 600
"""After so long at most traffic that is made up begins anew."""


class EventSpout(TraceSpout):
    """Event n is `(n, *from_line(line))`, with line n of the file `events.file`, or without a file `(n, *synthetic(n))`.

    As it is, the lines themselves: `outputs = ["id", "line"]`. A subclass with `outputs` of its own, a number first, defines
    `from_line`, `synthetic` or both. The keys `events.*` and `trace.*` say how many events there are and when they are due
    (docs/spouts.md): by a trace, or else by made-up traffic; neither waits for the topology. For the rest it is a `TraceSpout`: the
    number is the tuple id, what failed is emitted again and is the same then, and no event is dropped.

    Each task holds the whole file in memory, as what `from_line` made of it.
    """

    outputs: Outputs = ("id", "line")
    usual_kind: Kind = "spiky"
    """How the rate of made-up traffic moves where `events.kind` does not say."""
    path_keys: ClassVar[Mapping[str, str | None]] = {**TraceSpout.path_keys, "events.file": None}
    own_keys: tuple[str, ...] = ()
    """Other keys that components of the topology read: what is nearly one of them, or of this spout's, is refused."""
    seed: int = 1
    """`events.seed`, for `synthetic`."""

    def synthetic(self, number: int) -> Sequence[Any]:
        """The values of an event after its number: the same for the same number and `self.seed`, in every process.

        Called each time that the event is emitted. What it raises is reported, and it is called again.
        """
        raise NotImplementedError(f"{type(self).__name__} must define synthetic(number)")

    def from_line(self, line: str) -> Sequence[Any]:
        """The values of an event after its number, from a line of `events.file`, without its end.

        Called once for each line that is not blank, in `initialize`.

        Raises:
            ValueError: says what is wrong with the line; the topology does not start, and the error names file and line.
        """
        return (line,)

    def values(self, number: int, due: float) -> tuple[Any, ...]:
        """See `TraceSpout`."""
        lines = self._lines
        return (number, *(self.synthetic(number) if lines is None else lines[number % len(lines)]))

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Read the file, and make the traffic. A subclass that overrides it calls it first.

        Raises:
            InvalidError: a key is wrong or misspelled, a line of the file cannot be read (names file and line), or there is neither a
                file nor a `synthetic`.
        """
        where = f"component {ctx.component_id!r}"
        given = {name: value for name, value in conf.items() if value is not None}
        # all of them: the prefix may be what is misspelled
        keys = Keys(given, (*_KEYS, *self.own_keys), where)
        seed = keys.whole_or_none("events.seed", 0, _LARGEST)
        self.seed = type(self).seed if seed is None else seed
        path, total = keys.text("events.file", "the path of a file"), keys.whole_or_none("events.total", 1, _LARGEST)
        self._lines = None if path is None else self._read(path)
        if path is None and type(self).synthetic is EventSpout.synthetic:
            raise InvalidError(f"{where}: expected 'events.file', whose lines are the events, or a class that defines synthetic(number)")
        told = "trace.file" in given or "trace.rows" in given
        if total is None and self._lines is not None and not told:
            total = len(self._lines)
        rows = {} if told else {"trace.rows": self._traffic(keys, total, where)}
        endless = {} if "trace.repeat" in given or (told and total is None) else {"trace.repeat": True}
        super().initialize({**conf, **rows, **endless}, ctx)
        if total is not None:
            self._trace = FirstEvents(self._trace, total)

    def _read(self, path: str) -> list[Sequence[Any]]:
        found: list[Sequence[Any]] = []
        try:
            # a log may hold any bytes
            with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as file:
                for line_number, line in enumerate(file, 1):
                    if line.strip():
                        found.append(self._values_of(line.rstrip("\r\n"), f"events.file {path!r}, line {line_number}"))
        except OSError as error:
            raise InvalidError(f"events.file {path!r} cannot be read: {error.strerror or error}") from error
        if not found:
            raise InvalidError(f"events.file {path!r}: expected at least one line that is not blank, got none")
        return found

    def _values_of(self, line: str, where: str) -> Sequence[Any]:
        try:
            values = tuple(self.from_line(line))
        except ValueError as error:
            raise InvalidError(f"{where}: {error}, got {line[:80]!r}") from error
        fields = [field for field in self.outputs if isinstance(field, str)]
        if fields and len(fields) != 1 + len(values):
            raise InvalidError(f"{where}: expected values for {fields[1:]!r} from from_line, got {len(values)}: {values!r:.80}")
        return values

    def _traffic(self, keys: Keys, total: int | None, where: str) -> list[int]:
        rate, kind = float(keys.number("events.rate") or 200), keys.text("events.kind", f"one of {', '.join(KINDS)}") or self.usual_kind
        if rate < _LEAST_RATE:
            raise ConfigError("events.rate", f"must be at least one event a day ({_LEAST_RATE:.7f}), got {rate!r}", where=where)
        try:
            found = rates(Traffic(kind, steps=_pass_seconds(total, rate), mean=rate, seed=self.seed))  # type: ignore[arg-type]
        except InvalidError as error:
            raise ConfigError("events.kind", str(error), where=where) from error
        return found if any(found) else [1, *[0] * (round(1 / rate) - 1)]


def _pass_seconds(total: int | None, rate: float) -> int:
    """How long one pass of the traffic is: so that `total` events at the mean rate are whole passes, one unless it would be too long."""
    if total is None:
        return _MOST_PASS_SECONDS
    seconds = total / rate
    return max(1, round(seconds / max(1, math.ceil(seconds / _MOST_PASS_SECONDS))))
