"""Where the applications' events come from: made up, the same for the same seed, or the lines of a file; due by a trace."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from pasps import TopologyContext
from pasps.data.synth import Kind, Traffic, rates
from pasps.errors import ConfigError, InvalidError
from pasps.spouts import TraceSpout

PASS_SECONDS = 600


class EventSpout(TraceSpout):
    """Base of every application's spout: event n is `(n, *synthetic(n))`, or what line n of `events.file` holds.

    Its events become due by generated traffic that does not wait for the topology, or by `trace.file` or `trace.rows`.

    Keys: `events.total`, how many (without it: no end); `events.rate`, the mean of a second (200); `events.kind`, how the rate moves:
    a kind of `pasps traces synth` ("spiky"); `events.seed` (1), of both rate and events; `events.file`, whose lines are the events,
    over and over when more are due than it has. Without `events.total` a file is read once. A subclass may have another `usual_kind`.
    """

    usual_kind: Kind = "spiky"
    seed: int = 1

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Make the traffic, and read the file.

        Raises:
            InvalidError: a key is wrong, or a line of the file cannot be read: names file and line.
        """
        where = f"component {ctx.component_id!r}"
        self.seed = _whole(conf, "events.seed", 1, 0, where)
        self._lines = None if conf.get("events.file") is None else self._read(str(conf["events.file"]))
        super().initialize({**conf, **self._trace_keys(conf, where)}, ctx)

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

    def _trace_keys(self, conf: Mapping[str, Any], where: str) -> dict[str, Any]:
        """What TraceSpout is to replay; nothing when it is told already."""
        if conf.get("trace.file") is not None or conf.get("trace.rows") is not None:
            return {}
        rate = conf.get("events.rate", 200)
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
            raise ConfigError("events.rate", f"must be events a second, above 0, got {rate!r}", where=where)
        total = None if conf.get("events.total") is None else _whole(conf, "events.total", 1, 1, where)
        if total is None and self._lines is not None:
            total = len(self._lines)
        traffic = _traffic(str(conf.get("events.kind", self.usual_kind)), float(rate), self.seed, where)
        rows = traffic if total is None else first(total, traffic)
        return {"trace.rows": rows, "trace.step.seconds": 1.0, "trace.repeat": total is None}


def first(total: int, counts: Sequence[int]) -> list[int]:
    """As many of the counts, over and over, as it takes for `total` events."""
    found: list[int] = []
    for place in _places(counts):
        if total <= 0:
            break
        found.append(min(total, place))
        total -= found[-1]
    return found


def _places(counts: Sequence[int]) -> Iterator[int]:
    return (counts[step % len(counts)] for step in count())


def _traffic(kind: str, rate: float, seed: int, where: str) -> list[int]:
    try:
        found = rates(Traffic(kind, steps=PASS_SECONDS, mean=rate, seed=seed))  # type: ignore[arg-type]
    except InvalidError as error:
        raise ConfigError("events.kind", str(error), where=where) from error
    return found if any(found) else [math.ceil(rate)]


def _whole(conf: Mapping[str, Any], key: str, usual: int, least: int, where: str) -> int:
    value = conf.get(key)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(key, f"must be a whole number of at least {least}, got {value!r}", where=where)
    return value
