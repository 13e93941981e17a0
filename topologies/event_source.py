"""Where the applications' events come from: made up, the same for the same seed, or the lines of a file; due by a trace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pasps import TopologyContext
from pasps.connectors.keys import Keys
from pasps.data.synth import Kind, Traffic, rates
from pasps.errors import ConfigError, InvalidError
from pasps.spouts import TraceSpout
from pasps.spouts.trace import Trace
from topologies.number_keys import LARGEST, above_zero, whole

LEAST_RATE = 1 / 86_400
MOST_PASS_SECONDS = 600
"""After so long at most generated traffic begins anew."""
_KEYS = ("events.total", "events.rate", "events.kind", "events.seed", "events.file")


@dataclass(frozen=True, slots=True)
class _First:
    """The first `total` events of a trace: the part of `Trace` that `TraceSpout` asks."""

    trace: Trace
    total: int

    def times(self, numbers: Iterable[int]) -> list[float]:
        return self.trace.times(numbers)

    def count(self, seconds: float) -> int:
        return min(self.total, self.trace.count(seconds))


class EventSpout(TraceSpout):
    """Base of every application's spout: event n is `(n, *synthetic(n))`, or what line n of `events.file` holds.

    Its events become due by generated traffic that does not wait for the topology, or by `trace.file` or `trace.rows`.

    Keys: `events.total`, how many (without it: no end, or the trace's); `events.rate`, the mean of a second (200), over the whole run
    when its total is known; `events.kind`, how the rate moves: a kind of `pasps traces synth` ("spiky"); `events.seed` (1), of both
    rate and events; `events.file`, whose lines are the events, over and over when more are due than it has. With neither `events.total`
    nor a trace a file is read once. With `events.total` a trace is repeated as often as that takes, unless `trace.repeat` is false.

    A subclass may have another `usual_kind`, and names in `own_keys` what its application's components read besides, so that a key
    that is nearly one of them, or of those above, is refused whoever reads it.
    """

    usual_kind: Kind = "spiky"
    own_keys: tuple[str, ...] = ()
    seed: int = 1

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Make the traffic, and read the file.

        Raises:
            InvalidError: a key is wrong or misspelled, or a line of the file cannot be read: names file and line.
        """
        where = f"component {ctx.component_id!r}"
        # the prefix may be what is misspelled
        Keys(conf, "", (*_KEYS, *self.own_keys), where)
        self.seed = whole(conf, "events.seed", 1, 0, LARGEST, where)
        self._lines = None if conf.get("events.file") is None else self._read(str(conf["events.file"]))
        told = conf.get("trace.file") is not None or conf.get("trace.rows") is not None
        total = None if conf.get("events.total") is None else whole(conf, "events.total", 1, 1, LARGEST, where)
        if total is None and self._lines is not None and not told:
            total = len(self._lines)
        rows = {} if told else {"trace.rows": self._traffic(conf, total, where)}
        endless = {} if conf.get("trace.repeat") is not None or (told and total is None) else {"trace.repeat": True}
        super().initialize({**conf, **rows, **endless}, ctx)
        if total is not None:
            most = total if self._trace.total is None else min(total, self._trace.total)
            self._trace = cast("Trace", _First(self._trace, most))

    def synthetic(self, number: int) -> Sequence[Any]:
        """The values of an event after its number: the same for the same number and `self.seed`, in every process."""
        raise NotImplementedError(f"{type(self).__name__} must define synthetic(number)")

    def from_line(self, line: str) -> Sequence[Any]:
        """The values of an event after its number, from a line of `events.file`.

        Raises:
            ValueError: says what is wrong with it.
        """
        raise ValueError("this application reads no files")

    def values(self, number: int, due: float) -> tuple[Any, ...]:
        """See `TraceSpout`."""
        lines = self._lines
        return (number, *(self.synthetic(number) if lines is None else lines[number % len(lines)]))

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
            return self.from_line(line)
        except ValueError as error:
            raise InvalidError(f"{where}: {error}, got {line[:80]!r}") from error

    def _traffic(self, conf: Mapping[str, Any], total: int | None, where: str) -> list[int]:
        kind, rate = str(conf.get("events.kind", self.usual_kind)), above_zero(conf, "events.rate", 200, where)
        if rate < LEAST_RATE:
            raise ConfigError("events.rate", f"must be at least one event a day ({LEAST_RATE:.7f}), got {rate!r}", where=where)
        try:
            found = rates(Traffic(kind, steps=_pass_seconds(total, rate), mean=rate, seed=self.seed))  # type: ignore[arg-type]
        except InvalidError as error:
            raise ConfigError("events.kind", str(error), where=where) from error
        return found if any(found) else [1, *[0] * (round(1 / rate) - 1)]


def _pass_seconds(total: int | None, rate: float) -> int:
    """How long one pass of the traffic is: so that `total` events at the mean rate are whole passes, one unless it would be too long."""
    if total is None:
        return MOST_PASS_SECONDS
    seconds = total / rate
    return max(1, round(seconds / max(1, math.ceil(seconds / MOST_PASS_SECONDS))))
