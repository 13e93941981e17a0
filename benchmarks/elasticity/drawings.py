"""The figures of a comparison, as PNGs. Imports matplotlib, by `pasps.report.canvas`, so it is loaded only when they are wanted."""

from __future__ import annotations

import io
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, PercentFormatter

from benchmarks.elasticity.outcomes import half_interval
from benchmarks.elasticity.traces import Prepared, in_the_trace
from benchmarks.elasticity.verdict import PAPERS, STEADY, Row, curve_of
from pasps.control.run_log import Sample
from pasps.report.canvas import (
    BLUE,
    DOTS_PER_INCH,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    ROOM,
    VERMILION,
    Sheet,
    count_axis,
    seconds_axis,
)
from pasps.report.words import seconds_text
from pasps.simulation.forecasters import CLAIRVOYANT

_PASPS, _KEEPS = "pasps", "keeps"
_COLOURS = {"static": QUIET, "presps": ORANGE, "pa-sps": VERMILION, CLAIRVOYANT: INK, _PASPS: BLUE, _KEEPS: GREEN}
_MARKS = {"static": "s", "presps": "D", "pa-sps": "^", CLAIRVOYANT: "v", _PASPS: "o", _KEEPS: "P"}

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points of print."""
_LETTER, _LINE, _GAP = 4.6, 10.0, 5.0
"""A label's size in points, about, and its distance from its mark."""
_TOGETHER = 5.0
"""Seconds over which latencies are drawn as one mean."""
_STEP = 0.5
"""Seconds between the moments at which runs are compared."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A run, and the samples of each time that it was made."""

    row: Row
    rounds: Sequence[Sequence[Sample]]


def _family(row: Row) -> str:
    return _KEEPS if row.latency_target is not None else row.policy


def _colour(row: Row) -> str:
    return _COLOURS.get(_family(row), INK)


def _label(row: Row) -> str:
    """Beside its mark, whose kind the legend tells."""
    return row.detail or row.name


def _repeats(rows: Sequence[Row]) -> str:
    most = max((row.repeats for row in rows), default=1)
    return f"means of {most} runs, 95% intervals" if most > 1 else "one run each"


def latency_against_saved(title: str, rows: Sequence[Row]) -> bytes:
    """Every run a point with its interval, the runs of `pasps` over its target joined to a curve; to the right and below is better.

    The axes show where policies differ: fixed pools that lie far from there are told in words. Shaded is what both the papers' runs
    and the curve save, so where they can be compared at equal savings.
    """
    figure = Figure(figsize=(7.2, 4.9), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    told = [(row, row.numbers.saved, row.numbers.mean) for row in rows if row.numbers.saved is not None and row.numbers.mean is not None]
    # fixed pools as points of their own would push all that is to be compared into a corner
    points = [point for point in told if point[0].policy != "static"] or told
    for row, _, mean in told:
        if row.name == STEADY and len(points) < len(told):
            axes.axhline(mean, color=QUIET, linewidth=1.0, linestyle="dashed", zorder=0)
            place = (0.99, mean)
            text = "whole pools, which save nothing"
            axes.annotate(text, place, (0, -2), ("axes fraction", "data"), "offset points", fontsize=8, color=QUIET, ha="right", va="top")
    _shade(axes, rows)
    ours = curve_of(rows)
    axes.plot([saved for saved, _ in ours], [mean for _, mean in ours], color=BLUE, linewidth=1.2, zorder=1)
    for row, saved, mean in points:
        up, across = _reach(row, mean)
        axes.errorbar([saved], [mean], yerr=up, xerr=across, color=_colour(row), linewidth=0.9, capsize=2.0, zorder=1)
        axes.scatter([saved], [mean], color=_colour(row), marker=_MARKS.get(_family(row), "o"), s=26, zorder=2)
    for kind, row in {row.kind: row for row, _, _ in points if row.kind}.items():
        axes.scatter([], [], color=_colour(row), marker=_MARKS.get(_family(row), "o"), s=26, label=kind)
    if points:
        lowest = min(mean - _reach(row, mean)[0] for row, _, mean in points)
        steady = [mean for row, _, mean in told if row.name == STEADY]
        seconds_axis(axes, min(lowest, *steady) if steady else lowest, max(mean + _reach(row, mean)[0] for row, _, mean in points))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.margins(x=0.12)
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("saved resources", fontsize=10, color=QUIET)
    axes.set_ylabel("mean latency, from due until processed", fontsize=10, color=QUIET)
    axes.set_title(_capital(title), fontsize=12.5, color=INK, loc="left", fontweight="bold", pad=22)
    shows = f"what policies save and what that costs; {_repeats(rows)}"
    axes.annotate(shows, (0, 1), xytext=(0, 7), xycoords="axes fraction", textcoords="offset points", fontsize=10, color=QUIET)
    axes.tick_params(labelcolor=QUIET, color=QUIET)
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower left", ncols=3, fontsize=8, frameon=False, labelcolor=INK)
    away = [f"{_label(row)} save {saved:.0%} at {seconds_text(mean)}" for row, saved, mean in told if row.policy == "static" and saved > 0]
    if away and len(points) < len(told):
        axes.set_xlabel("saved resources\nnot drawn, fixed replicas: " + "; ".join(away), fontsize=9, color=QUIET)
    figure.canvas.draw()  # only now it is known where on the page a point lies
    _name(axes, points)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _reach(row: Row, mean: float) -> tuple[float, float]:
    """How far its interval goes up and down, and to both sides; on a logarithmic axis it must not go down to nothing."""
    return min(row.margins.get("mean", 0.0), 0.9 * mean), row.margins.get("saved", 0.0)


def comparable(rows: Sequence[Row]) -> tuple[float, float] | None:
    """What is saved both by runs of the papers' policies and along the curve of `pasps`: from where to where; None: nowhere."""
    ours = [saved for saved, _ in curve_of(rows)]
    theirs = [row.numbers.saved for row in rows if row.policy in PAPERS and row.numbers.saved is not None and row.numbers.mean is not None]
    if not ours or not theirs:
        return None
    low, high = max(min(ours), min(theirs)), min(max(ours), max(theirs))
    return (low, high) if low < high else None


def _shade(axes: Axes, rows: Sequence[Row]) -> None:
    band = comparable(rows)
    if band is not None:
        axes.axvspan(*band, color=ROOM, linewidth=0, zorder=-1)
        place = (fmean(band), 0.99)
        axes.annotate("equal savings", place, xycoords=("data", "axes fraction"), fontsize=8, color=QUIET, ha="center", va="top")


def _name(axes: Axes, points: Sequence[tuple[Row, float, float]]) -> None:
    """A label to each point, where neither marks nor intervals are."""

    def on_page(across: float, up: float) -> tuple[float, float]:
        x, y = axes.transData.transform((across, up)) * 72 / DOTS_PER_INCH
        return float(x), float(y)

    dots, bars = [], []
    for row, saved, mean in points:
        (up, across), (x, y) = _reach(row, mean), on_page(saved, mean)
        dots.append((x, y))
        bars.append((on_page(saved - across, mean)[0], y - 1, on_page(saved + across, mean)[0], y + 1))
        bars.append((x - 1, on_page(saved, mean - up)[1], x + 1, on_page(saved, mean + up)[1]))
    curve = sorted((saved, mean) for row, saved, mean in points if _family(row) == _PASPS)
    bars += [box for start, end in pairwise([on_page(*point) for point in curve]) for box in _along(start, end)]
    offsets = label_offsets(dots, [_label(row) for row, _, _ in points], bars)
    for (row, saved, mean), offset in zip(points, offsets, strict=True):
        axes.annotate(_label(row), (saved, mean), xytext=offset, textcoords="offset points", fontsize=8, color=_colour(row), va="center")


def _along(start: tuple[float, float], end: tuple[float, float]) -> Iterable[Box]:
    """Small boxes along a line, near enough that no label lies between."""
    count = max(1, math.ceil(math.dist(start, end) / _LINE * 2))
    for step in range(count + 1):
        x, y = (first + (last - first) * step / count for first, last in zip(start, end, strict=True))
        yield (x - 1, y - 1, x + 1, y + 1)


def label_offsets(marks: Sequence[tuple[float, float]], labels: Sequence[str], bars: Sequence[Box] = ()) -> list[tuple[float, float]]:
    """Where each label begins, from its mark: beside it where there is room, else the next place that touches nothing."""
    taken: list[Box] = [*((x - 3, y - 3, x + 3, y + 3) for x, y in marks), *bars]
    found = []
    for (x, y), label in zip(marks, labels, strict=True):
        width = _LETTER * len(label)
        places = [(side, up * _LINE) for up in (0, 1, -1, 2, -2, 3, -3) for side in (_GAP, -_GAP - width)]
        boxes = [((dx, dy), (x + dx, y + dy - _LINE / 2, x + dx + width, y + dy + _LINE / 2)) for dx, dy in places]
        place, box = next((one for one in boxes if not any(_touch(one[1], other) for other in taken)), boxes[0])
        taken.append(box)
        found.append(place)
    return found


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


# ---- over time


def at_equal_savings(rows: Sequence[Row]) -> list[Row]:
    """One run of each policy, so that what they save is as near together as can be; of the papers' policies those that decide most often.

    Without fixed pools and without who knows what comes: they are what one measures by.
    """
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        if row.policy in (*PAPERS, _PASPS) and row.numbers.saved is not None:
            kinds.setdefault(row.policy, []).append(row)
    choices = [[row for row in own if row.pace_seconds == min(_pace(other) for other in own)] or own for own in kinds.values()]
    return list(min(product(*choices), key=_apart)) if choices else []


def _pace(row: Row) -> float:
    return math.inf if row.pace_seconds is None else row.pace_seconds


def _apart(rows: Iterable[Row]) -> float:
    saved = [row.numbers.saved or 0.0 for row in rows]
    return max(saved) - min(saved)


def replicas_over_time(title: str, what: str, trace: Prepared, runs: Sequence[Drawn]) -> bytes:
    """The input, below it for each run the replicas of all bolts that work, and the latencies of all; means of all times it was made.

    Time is that of the trace, from its first event on. The axes of replicas are alike, and begin where the least of them is.
    """
    courses = [_Course(run, trace) for run in runs]
    end = max(trace.seconds - trace.first_due, *(course.end for course in courses))
    pool = max(course.pool for course in courses)
    lowest = _lowest(courses, pool)
    shows = f"{what}; {_repeats([run.row for run in runs])}"
    sheet = Sheet(_capital(title), shows, [1.0, *[0.95] * len(runs), 1.5], 0.0, end, 0.42, "the trace's first event was due")
    upper, *panels, lower = sheet.panels
    rates = [count / trace.row_seconds for count in (*trace.counts, 0)]
    rows = sheet.at([row * trace.row_seconds - trace.first_due for row in range(len(rates))])
    upper.fill_between(rows, rates, step="post", color=FAINT, linewidth=0)
    upper.plot(rows, rates, drawstyle="steps-post", color=QUIET, linewidth=1.0)
    count_axis(upper, max(rates))
    _beside(upper, ["events due", "each second"])
    for axes, course in zip(panels, courses, strict=True):
        course.draw(sheet, axes, lowest, pool)
    _draw_latencies(sheet, lower, courses)
    return sheet.png()


@dataclass(frozen=True, slots=True)
class _Band:
    """Means over the times that a run was made, and their 95% intervals; NaN where there is nothing."""

    at: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, at: list[float], values: Iterable[Sequence[float]]) -> _Band:
        """`values` are those of all runs at each of the times."""
        found = cls(at, [], [], [])
        for several in values:
            mean = fmean(several) if several else math.nan
            far = half_interval(several)
            for line, value in ((found.mean, mean), (found.low, mean - far), (found.high, mean + far)):
                line.append(value)
        return found


class _Course:
    """A run over time, in seconds since the trace's first event was due."""

    def __init__(self, run: Drawn, trace: Prepared) -> None:
        self.row, self.colour = run.row, _colour(run.row)
        times = [[at - trace.first_due for at in in_the_trace(samples, trace)] for samples in run.rounds]
        self.end = max(own[-1] for own in times)
        self.pool = sum(bolt.pool for bolt in run.rounds[0][-1].bolts.values())
        grid = [_STEP * step for step in range(int(self.end / _STEP) + 1)]
        shown = [list(_shown(own, samples, grid)) for own, samples in zip(times, run.rounds, strict=True)]
        there = [[one for one in at if one is not None] for at in zip(*shown, strict=True)]
        self.active = _Band.of(grid, ([float(sum(bolt.active for bolt in sample.bolts.values())) for sample in at] for at in there))
        self.draining = [fmean([sum(bolt.draining for bolt in sample.bolts.values()) for sample in at] or [0]) for at in there]
        self.latency = _latencies(times, run.rounds, trace.seconds)

    def draw(self, sheet: Sheet, axes: Axes, lowest: int, pool: int) -> None:
        """Its replicas, and beside them what it saves and what that costs."""
        at, band = sheet.at(self.active.at), self.active
        axes.axhspan(lowest, pool, color=ROOM, linewidth=0, zorder=0)
        axes.set_ylim(lowest, pool + 0.08 * (pool - lowest))
        axes.yaxis.set_major_locator(FixedLocator([lowest, pool]))
        working = [mean + more for mean, more in zip(band.mean, self.draining, strict=True)]
        axes.fill_between(at, band.mean, working, step="post", color=ORANGE, linewidth=0)
        low, high = ([min(max(value, 0.0), pool) for value in line] for line in (band.low, band.high))
        axes.fill_between(at, low, high, step="post", color=self.colour, alpha=0.25, linewidth=0)
        axes.plot(at, band.mean, drawstyle="steps-post", color=self.colour, linewidth=1.3)
        _head(axes, f"{self.row.words}: replicas of all bolts", self.colour)
        _beside(axes, self._told())

    def _told(self) -> list[str]:
        numbers, margins = self.row.numbers, self.row.margins
        saved = f" ± {100 * margins['saved']:.1f}" if "saved" in margins else ""
        mean = f" ± {1000 * margins['mean']:,.0f}" if "mean" in margins else ""
        told = [f"saves {100 * (numbers.saved or 0.0):.1f}{saved}%"]
        if numbers.mean is not None and numbers.p99 is not None:
            told += [f"mean {1000 * numbers.mean:,.0f}{mean} ms", f"p99 {1000 * numbers.p99:,.0f} ms"]
        return told


def _shown(times: Sequence[float], samples: Sequence[Sample], grid: Sequence[float]) -> Iterable[Sample | None]:
    """The sample that holds at each moment: the last one; None after the run."""
    for at in grid:
        yield samples[max(0, bisect_right(times, at) - 1)] if at <= times[-1] + _STEP else None


def _latencies(times: Sequence[Sequence[float]], rounds: Sequence[Sequence[Sample]], seconds: float) -> _Band | None:
    """Means of what was done in each whole stretch of some seconds of a trace; None when nothing was."""
    told: dict[int, list[float]] = {}
    for own, samples in zip(times, rounds, strict=True):
        done: dict[int, tuple[int, float]] = {}
        for (_, before), (at, after) in pairwise(zip(own, samples, strict=True)):
            count, spent = done.get(stretch := math.floor(at / _TOGETHER), (0, 0.0))
            more = sum(after.latency.values()) - sum(before.latency.values())
            done[stretch] = (count + more, spent + after.latency_total - before.latency_total)
        for stretch, (count, spent) in done.items():
            if count > 0 and 0 <= stretch < math.floor(seconds / _TOGETHER):
                told.setdefault(stretch, []).append(spent / count)
    if not told:
        return None
    stretches = range(max(told) + 2)  # the last one is drawn to its end
    values = [told.get(stretch, []) for stretch in stretches[:-1]]
    return _Band.of([_TOGETHER * stretch for stretch in stretches], [*values, values[-1]])


def _lowest(courses: Sequence[_Course], pool: int) -> int:
    """Where the axes of replicas begin: so that what differs fills them, and at 0 where that is not far."""
    least = min((min(course.active.low) for course in courses), default=0.0)
    found = math.floor(least / 4) * 4
    return found if found >= pool / 4 else 0


def _draw_latencies(sheet: Sheet, axes: Axes, courses: Sequence[_Course]) -> None:
    drawn = [(course, band) for course in courses if (band := course.latency) is not None]
    low = min((value for _, band in drawn for value in band.mean if value > 0), default=0.01)
    high = max((value for _, band in drawn for value in band.high if not math.isnan(value)), default=1.0)
    seconds_axis(axes, low, high)
    names = []
    for course, band in drawn:
        at = sheet.at(band.at)
        axes.fill_between(
            at, [max(value, low / 2) for value in band.low], band.high, step="post", color=course.colour, alpha=0.18, linewidth=0
        )
        axes.plot(at, band.mean, drawstyle="steps-post", color=course.colour, linewidth=1.3)
        names.append((band.mean[-1], _short(course.row, [other.row for other, _ in drawn]), course.colour))
    sheet.name_lines(axes, names)
    _head(axes, f"mean latency of {_TOGETHER:g} s each, from due until processed", QUIET)


def _short(row: Row, rows: Sequence[Row]) -> str:
    """What tells it from the others, in few words."""
    alone = sum(other.policy == row.policy for other in rows) == 1
    return row.kind if row.kind and alone and row.latency_target is None else _label(row)


def _head(axes: Axes, text: str, colour: str) -> None:
    axes.set_title(text, fontsize=10, color=colour, loc="left", pad=4)


def _beside(axes: Axes, lines: Sequence[str]) -> None:
    axes.text(1.02, 0.5, "\n".join(lines), transform=axes.transAxes, fontsize=8.5, color=QUIET, va="center", linespacing=1.5)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
