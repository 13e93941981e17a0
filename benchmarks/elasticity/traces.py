"""From a recorded trace to the events of each second of a run: smoothed, clipped, its burstiest stretch, scaled. Pure but for files.

A row of the trace is one moment of the run, whatever it was when it was recorded.
"""

from __future__ import annotations

import csv
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median

from pasps.control.run_log import Sample
from pasps.spouts.trace import Trace

SMOOTHED_OVER = 5
"""Rows of the centred moving average."""
CLIPPED_AT = 0.995
"""Share of the smoothed rows that are no larger than the limit."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a trace: so many rows, each `row_seconds` long, with `peak_rate` events a second at the highest.

    `first_row` None: the burstiest stretch. `smoothed_over`: rows of the centred moving average.
    """

    rows: int
    peak_rate: float
    row_seconds: float = 1.0
    first_row: int | None = None
    smoothed_over: int = SMOOTHED_OVER


@dataclass(frozen=True, slots=True)
class Prepared:
    """A stretch, ready to run. `factor` is events of the run for each event of the trace; `counts` are events of each row."""

    name: str
    first_row: int
    row_seconds: float
    factor: float
    counts: tuple[int, ...]
    smoothed_over: int = SMOOTHED_OVER

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.counts) * self.row_seconds

    @property
    def events(self) -> int:
        """All of them."""
        return sum(self.counts)

    @property
    def peak_rate(self) -> float:
        """Events a second in the busiest row."""
        return max(self.counts) / self.row_seconds

    @property
    def first_due(self) -> float:
        """When its first event is due, in seconds since it began."""
        return Trace(self.counts, Fraction(self.row_seconds), Fraction(1)).times((0,))[0]

    @property
    def variation(self) -> float:
        """Sum of |change| from row to row, over the peak: how many whole pools come and go."""
        return sum(abs(after - before) for before, after in pairwise(self.counts)) / max(self.counts)


def prepare(name: str, values: Sequence[float], wish: Wish) -> Prepared:
    """Smooth, clip, choose the stretch, scale.

    Raises:
        ValueError: the trace is shorter than what is wanted of it, or nothing ever happens in it.
    """
    calm = clipped(smoothed(values, wish.smoothed_over), CLIPPED_AT)
    if len(calm) < wish.rows:
        raise ValueError(f"trace {name!r} has {len(calm)} rows, expected at least {wish.rows}; choose fewer with --rows")
    first = burstiest(calm, wish.rows) if wish.first_row is None else wish.first_row
    if not 0 <= first <= len(calm) - wish.rows:
        raise ValueError(f"trace {name!r}: row {first} is no begin of {wish.rows} rows; the last one is {len(calm) - wish.rows}")
    stretch = calm[first : first + wish.rows]
    peak = max(stretch)
    if peak <= 0:
        raise ValueError(f"trace {name!r} has no events in the {wish.rows} rows from {first} on; choose others with --first-row")
    factor = wish.peak_rate * wish.row_seconds / peak
    return Prepared(name, first, wish.row_seconds, factor, whole([value * factor for value in stretch]), wish.smoothed_over)


def smoothed(values: Sequence[float], rows: int) -> list[float]:
    """The centred moving average over `rows` rows; at both ends over as many of them as there are."""
    before, after = (rows - 1) // 2, rows // 2
    sums = [0.0, *accumulate(values)]
    found = []
    for row in range(len(values)):
        begin, end = max(0, row - before), min(len(values), row + after + 1)
        found.append((sums[end] - sums[begin]) / (end - begin))
    return found


def clipped(values: Sequence[float], share: float) -> list[float]:
    """No value above the quantile `share`, which lies on the line between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    limit = ordered[low] + (ordered[high] - ordered[low]) * (place - low)
    return [min(value, limit) for value in values]


def burstiest(values: Sequence[float], rows: int) -> int:
    """The first row of the stretch with the largest sum of |change| over its own peak, the first of equals.

    A stretch is scaled by its own peak, so this sum is the number of whole pools that the input comes and goes with: where
    replicas have to move most.
    """
    changes = [0.0, *accumulate(abs(after - before) for before, after in pairwise(values))]
    best, found = -1.0, 0
    highest: deque[int] = deque()  # rows of the stretch with ever smaller values, so that its first is the peak
    for end, value in enumerate(values):
        while highest and values[highest[-1]] <= value:
            highest.pop()
        highest.append(end)
        begin = end - rows + 1
        if begin < 0:
            continue
        if highest[0] < begin:
            highest.popleft()
        peak = values[highest[0]]
        variation = (changes[end] - changes[begin]) / peak if peak > 0 else 0.0
        if variation > best:
            best, found = variation, begin
    return found


def whole(values: Sequence[float]) -> tuple[int, ...]:
    """Whole numbers with the same sum up to any row, as near as whole numbers can be."""
    sums = [0, *(round(total) for total in accumulate(values))]
    return tuple(after - before for before, after in pairwise(sums))


def read_trace(path: Path) -> list[float]:
    """The counts of a CSV file with a heading, in its second column.

    Raises:
        ValueError: it has no rows, or a count that is no number of at least 0.
    """
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    counts = []
    for number, row in enumerate(rows, 2):
        try:
            count = float(row[1])
        except (ValueError, IndexError):
            count = -1.0
        if not 0 <= count < float("inf"):
            raise ValueError(f"{path}:{number}: expected a time and a count of at least 0, got {row!r}")
        counts.append(count)
    if not counts:
        raise ValueError(f"{path}: expected rows of time and count below a heading, there are none")
    return counts


def write_trace(prepared: Prepared, path: Path) -> None:
    """A CSV file of seconds and events for the spout; whole or not at all, also when several do it at a time."""
    partial = path.with_suffix(f".{threading.get_ident()}.partial")
    with partial.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "count"])
        writer.writerows((f"{row * prepared.row_seconds:g}", count) for row, count in enumerate(prepared.counts))
    partial.replace(path)


def in_the_trace(samples: Sequence[Sample], trace: Prepared) -> list[float]:
    """When each sample of a run was taken, in seconds since its trace began.

    Uptimes are no such time: how long a run takes from its start until its spout begins differs from run to run. What was due when
    a sample was taken tells where in the trace that was, if something had become due since the sample before.
    """
    due_at = Trace(trace.counts, Fraction(trace.row_seconds), Fraction(1)).times
    moving = [after for before, after in pairwise(samples) if before.due < after.due < trace.events]
    began = median([sample.uptime - due_at((sample.due - 1,))[0] for sample in moving] or [samples[0].uptime])
    return [sample.uptime - began for sample in samples]
