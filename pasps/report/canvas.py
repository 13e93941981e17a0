"""Paper and pencils for the figures: the only module of this room that knows matplotlib, which is optional and slow to import.

So it is imported only when somebody draws; without matplotlib that raises InvalidError, which says how to get it. Draws with
matplotlib's objects on its Agg canvas: no window, no display, no state that other users of matplotlib would see.
"""

from __future__ import annotations

import io
import math
import statistics
import warnings
from collections.abc import Sequence
from itertools import pairwise

from pasps.errors import InvalidError
from pasps.report.words import seconds_text

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
except ImportError as error:
    raise InvalidError(f"figures are drawn by matplotlib, which cannot be imported ({error}); pip install 'pasps[report]'") from error

INK, QUIET, FAINT, ROOM = "#222222", "#6b6b6b", "#dcdcdc", "#f0f0f0"
BLUE, VERMILION, GREEN, PURPLE, ORANGE = "#0072b2", "#d55e00", "#009e73", "#b0508a", "#e69f00"
PALE_BLUE, DEEP_BLUE = "#3a8fc1", "#002b45"
"""Colours that people tell apart whatever colours they see (after Okabe and Ito)."""

WIDTH, DOTS_PER_INCH = 5.8, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.7, 1.25, 0.62, 0.5
"""Inches around the panels; at the right stand the names of lines."""
_GAP_FACTOR = 6.0
_MOST_NAME = 15
_LINE_INCHES = 0.18
_FEW_TIMES = 4
_MANY_TIMES = 200.0


class Sheet:
    """One figure: panels below each other over the same time, with a title, what is shown in grey, and names beside the lines."""

    def __init__(
        self, title: str, shows: str, heights: Sequence[float], begin: float, end: float, gap: float = 0.3, since: str = "the start"
    ) -> None:
        """`heights` of the panels and the `gap` between them in inches; begin and end are seconds, `since` the topology's start or else."""
        begin = 0.0 if begin < 0.1 * end else begin
        height = _TOP + sum(heights) + gap * (len(heights) - 1) + _BOTTOM
        self._figure = Figure(figsize=(WIDTH, height), dpi=DOTS_PER_INCH, facecolor="white")
        FigureCanvasAgg(self._figure)
        self._unit, self.per_unit = _time_unit(end - begin)
        self.panels: list[Axes] = []
        top = height - _TOP
        for panel in heights:
            place = (_LEFT / WIDTH, (top - panel) / height, (WIDTH - _LEFT - _RIGHT) / WIDTH, panel / height)
            self.panels.append(self._figure.add_axes(place))
            top -= panel + gap
        for axes in self.panels:
            _dress(axes)
            axes.set_xlim(begin / self.per_unit, end / self.per_unit)
            axes.tick_params(labelbottom=axes is self.panels[-1])
        self.panels[-1].set_xlabel(f"{self._unit} since {since}", fontsize=10, color=QUIET, loc="left")
        self._figure.text(0.1 / WIDTH, 1 - 0.2 / height, title, fontsize=12.5, fontweight="bold", color=INK, va="center")
        self._figure.text(0.1 / WIDTH, 1 - 0.43 / height, shows, fontsize=10, color=QUIET, va="center", parse_math=False)

    def at(self, seconds: Sequence[float]) -> list[float]:
        """Times as the panels have them."""
        return [second / self.per_unit for second in seconds]

    def name_lines(self, axes: Axes, lines: Sequence[tuple[float, str, str]]) -> None:
        """Write names beside the ends of lines, given as (value at the end, name, colour), and apart from each other."""
        low, high = axes.get_ylim()
        scale = math.log if axes.get_yscale() == "log" else float
        wanted = [(scale(max(value, low)) - scale(low)) / (scale(high) - scale(low)) for value, _, _ in lines]
        inches = axes.get_position().height * self._figure.get_figheight()
        for place, (_, name, colour) in zip(spread(wanted, _LINE_INCHES / inches), lines, strict=True):
            axes.text(1.02, place, short(name), transform=axes.transAxes, color=colour, fontsize=10.5, va="center", parse_math=False)

    def png(self) -> bytes:
        """The finished picture."""
        out = io.BytesIO()
        with warnings.catch_warnings():
            # a component may be named in a script that the font lacks; a box in its place is no reason to complain
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self._figure.savefig(out, format="png")
        return out.getvalue()


def short(name: str) -> str:
    """A user's name, cut to what has room beside a line."""
    return name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 1] + "…"


def spread(wanted: Sequence[float], least: float) -> list[float]:
    """Places between 0 and 1 near to the wanted ones, in the same order, at least `least` apart while there is room."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = [0.0] * len(wanted)
    below = -math.inf
    for index in order:
        places[index] = below = max(min(wanted[index], 1.0), below + least, 0.0)
    above = math.inf
    for index in reversed(order):
        places[index] = above = min(places[index], above - least, 1.0)
    return places


def broken(times: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The same line, interrupted where for long there is no point, so that nothing seems measured there."""
    steps = [after - before for before, after in pairwise(times)]
    most = _GAP_FACTOR * statistics.median(steps) if steps else math.inf
    xs: list[float] = []
    ys: list[float] = []
    for time, value in zip(times, values, strict=True):
        if xs and time - xs[-1] > most:
            xs.append((xs[-1] + time) / 2)
            ys.append(math.nan)
        xs.append(time)
        ys.append(value)
    return xs, ys


def count_axis(axes: Axes, most: float) -> None:
    """From zero to a little above the most, with few round numbers."""
    axes.set_ylim(0, (most or 1.0) * 1.06)
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True, min_n_ticks=2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))


def pool_axis(axes: Axes, pool: int) -> None:
    """From no replica to the whole pool, which is drawn as room to be filled."""
    axes.axhspan(0, pool, color=ROOM, linewidth=0, zorder=0)
    axes.set_ylim(0, pool * 1.08)
    axes.yaxis.set_major_locator(FixedLocator([0, pool]))


def seconds_axis(axes: Axes, least: float, most: float) -> None:
    """Durations, on a logarithmic scale."""
    axes.set_yscale("log")
    low, high = least / 1.3, most * 1.3
    axes.set_ylim(low, high)
    subs = (1.0,) if high / low > _MANY_TIMES else (1.0, 2.0, 5.0) if high / low > _FEW_TIMES else (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)
    axes.yaxis.set_major_locator(LogLocator(10, subs=subs, numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_text(value).replace(".0 ", " ")))


def short_count(value: float) -> str:
    """`950`, `1.2k`, `3M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:g}"


def _dress(axes: Axes) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, labelsize=10, labelcolor=QUIET)
    axes.tick_params(axis="x", length=3, color=QUIET)
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 3, 5, 6, 10], integer=True))


def _time_unit(seconds: float) -> tuple[str, float]:
    if seconds <= 180:
        return "seconds", 1.0
    return ("minutes", 60.0) if seconds <= 3 * 3600 else ("hours", 3600.0)
