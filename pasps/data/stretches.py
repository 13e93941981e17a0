"""The stretches of traces that a test stream can be made of: each a spike with the quiet rows around it. Pure.

Which ones are kept of many is decided by a seed, one by one, so that it does not depend on who looks at which trace, and memory is
bounded by what is wanted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pasps.data.arrays import Floats, np
from pasps.data.series import Series
from pasps.data.spikes import LEAST_LEVEL, LEAST_MAGNITUDE, Spike, find_spikes
from pasps.data.windows import moving_average
from pasps.errors import InvalidError

FADE_ROWS = 4
LEAST_EVENTS = 10
"""At the level before a spike, in the rows that are smoothed into one: below that, what looks quiet is noise once it is scaled up."""
SHORTEST = 20
"""Rows of a test stream."""
_CHOICE = 4
_SHORT_STREAM = 60
_CONTEXT_ROWS, _CONTEXT_PER_ROW = 30, 2


@dataclass(frozen=True, slots=True)
class Wanted:
    """The test stream that is wanted.

    Attributes:
        length: Its rows.
        peak: Events of its largest row.
        spikes: Of how many it is made; None: as many as fill it.
        seed: Chooses among them.
        smooth_rows: Traces are smoothed by a moving average of so many rows; 1: raw.
        least_magnitude: A spike has at least so many times the level before it, or as little of it.
        most_magnitude: And at most so many.
    """

    length: int
    peak: int
    spikes: int | None = None
    seed: int = 1
    smooth_rows: int = 1
    least_magnitude: float = LEAST_MAGNITUDE
    most_magnitude: float = 10.0

    def __post_init__(self) -> None:
        if self.length < SHORTEST:
            raise InvalidError(f"length: expected at least {SHORTEST} rows, got {self.length}")
        for name, value, least in (("peak", self.peak, 1), ("spikes", self.spikes, 1), ("smooth rows", self.smooth_rows, 1)):
            if value is not None and value < least:
                raise InvalidError(f"{name}: expected at least {least}, got {value}")
        if not 1 < self.least_magnitude < self.most_magnitude:
            raise InvalidError(f"magnitude: expected 1 < least < most, got {self.least_magnitude:g} and {self.most_magnitude:g}")
        if self.spikes is not None and self.share_rows < SHORTEST // 2:
            raise InvalidError(f"length: {self.spikes} spikes need at least {self.spikes * SHORTEST // 2} rows, got {self.length}")

    @property
    def share_rows(self) -> int:
        """The most rows that one spike may take, with the quiet around it that it cannot do without."""
        usual = max(self.length // 4, min(_SHORT_STREAM, self.length // 2))
        return usual if self.spikes is None else self.length // self.spikes

    def context_rows(self, spike_rows: int) -> int:
        """The most quiet rows that are kept on either side of a spike."""
        usual = _CONTEXT_ROWS + _CONTEXT_PER_ROW * spike_rows
        return usual if self.spikes is None else max(usual, self.share_rows)


@dataclass(frozen=True, eq=False)
class Stretch:
    """A spike with the rows around it.

    Attributes:
        source: The trace.
        row: The row of the trace that is the first of `values`.
        time: Of the onset, in microseconds since the epoch.
        step_seconds: How long a row of the trace lasts.
        values: Counts by row, smoothed if that is wanted.
        spike: Its rows are those of the trace.
        order: Those with a smaller one are taken first.
    """

    source: str
    row: int
    time: int
    step_seconds: float
    values: Floats
    spike: Spike
    order: float

    @cached_property
    def level_values(self) -> Floats:
        """The values relative to the level before the spike."""
        return self.values / max(self.spike.before, LEAST_LEVEL)

    @property
    def lead(self) -> Floats:
        """The rows before the spike, relative."""
        return self.level_values[: self.spike.onset - self.row]

    @property
    def body(self) -> Floats:
        """The rows of the spike, relative."""
        return self.level_values[self.spike.onset - self.row : self.spike.end + 1 - self.row]

    @property
    def tail(self) -> Floats:
        """The rows after the spike, relative."""
        return self.level_values[self.spike.end + 1 - self.row :]

    @cached_property
    def quiet_rows(self) -> int:
        """Quiet rows that it needs on either side to be joined smoothly."""
        return rows_to_level(self.body) + FADE_ROWS // 2


def steepest(values: Floats) -> float:
    """The largest change from one row to the next."""
    return float(np.abs(np.diff(values)).max()) if len(values) > 1 else 0.0


def rows_to_level(values: Floats) -> int:
    """Rows that a way from either end of this piece to the level 1 needs, if no step of it is larger than the largest of the piece."""
    away = max(abs(float(values[0]) - 1.0), abs(float(values[-1]) - 1.0))
    most = steepest(values)
    return math.ceil(away / most) if most else 0


def stretches_of(series: Series, wanted: Wanted) -> Iterator[Stretch]:
    """All that fit what is wanted."""
    for first, end in series.pieces():
        counts = series.counts[first:end]
        spikes = find_spikes(counts, wanted.share_rows, wanted.smooth_rows, wanted.least_magnitude)
        values = moving_average(counts, wanted.smooth_rows)
        for place, spike in enumerate(spikes):
            begin = spikes[place - 1].end + 1 if place else 0
            stop = spikes[place + 1].onset if place + 1 < len(spikes) else len(values)
            found = _stretch(series, first, values, spike, (begin, stop), wanted)
            if found is not None:
                yield found


def _stretch(series: Series, first: int, values: Floats, spike: Spike, quiet: tuple[int, int], wanted: Wanted) -> Stretch | None:
    """The stretch of a spike in one piece of a trace, which begins at row `first`; None if it does not fit."""
    if spike.size > math.log(wanted.most_magnitude) or spike.before * wanted.smooth_rows < LEAST_EVENTS:
        return None
    context = wanted.context_rows(spike.rows)
    need = rows_to_level(values[spike.onset : spike.end + 1] / max(spike.before, LEAST_LEVEL)) + FADE_ROWS
    # what it cannot do without is taken even where a neighbour is near
    begin = max(spike.onset - context, min(quiet[0], spike.onset - need))
    stop = min(spike.end + 1 + context, max(quiet[1], spike.end + 1 + need))
    if begin < 0 or stop > len(values) or spike.rows + 2 * need > wanted.share_rows:
        return None
    moved = Spike(first + spike.onset, first + spike.peak, first + spike.end, spike.before, spike.extreme, spike.slope)
    time = int(series.times[moved.onset])
    order = order_of(wanted.seed, moved)
    return Stretch(series.name, first + begin, time, series.step_seconds, values[begin:stop].copy(), moved, order)


def order_of(seed: int, spike: Spike) -> float:
    """At random, but larger spikes first more often, in proportion to their size (weighted sampling of Efraimidis and Spirakis).

    The name of the trace is left out of it: the same data give the same stream wherever they lie.
    """
    draw = random.Random(f"{seed}:{spike.onset}:{spike.end}:{spike.extreme!r}").random()
    return -math.log(1.0 - draw) / spike.size


@dataclass(slots=True)
class Pool:
    """Stretches to choose from: for each direction the first ones in order, a few times as many as are needed.

    `traces` and `rows` count what was looked at, `spikes` what was found in it.
    """

    wanted: Wanted
    ups: list[Stretch] = field(default_factory=list)
    downs: list[Stretch] = field(default_factory=list)
    traces: int = 0
    rows: int = 0
    spikes: int = 0

    def look_at(self, series: Series) -> None:
        """Take what a trace has."""
        self.traces += 1
        self.rows += len(series.counts)
        for stretch in stretches_of(series, self.wanted):
            self.spikes += 1
            (self.ups if stretch.spike.up else self.downs).append(stretch)
            if len(self.ups) + len(self.downs) > 4 * self._most:
                self._trim()
        self._trim()

    def merge(self, other: Pool) -> Pool:
        """Both in one: this one, changed."""
        self.ups += other.ups
        self.downs += other.downs
        self.traces, self.rows, self.spikes = self.traces + other.traces, self.rows + other.rows, self.spikes + other.spikes
        self._trim()
        return self

    @property
    def _most(self) -> int:
        return _CHOICE * (self.wanted.spikes or self.wanted.length // (SHORTEST // 2))

    def _trim(self) -> None:
        self.ups, self.downs = self._first(self.ups), self._first(self.downs)

    def _first(self, stretches: Iterable[Stretch]) -> list[Stretch]:
        """As many as give a choice, in number and in rows."""
        kept: list[Stretch] = []
        rows = 0
        for stretch in sorted(stretches, key=place_of):
            if len(kept) == self._most or rows >= _CHOICE * self.wanted.length:
                break
            kept.append(stretch)
            rows += stretch.spike.rows
        return kept


def place_of(stretch: Stretch) -> tuple[float, str, int]:
    """Sorts stretches as they are to be taken, the same way everywhere."""
    return stretch.order, stretch.source, stretch.row


def alternating(ups: Sequence[Stretch], downs: Sequence[Stretch]) -> Iterator[Stretch]:
    """Two up, one down, as long as there are both; then the rest."""
    for place in range(max(-(-len(ups) // 2), len(downs))):
        yield from (*ups[2 * place : 2 * place + 2], *downs[place : place + 1])
