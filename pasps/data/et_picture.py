"""The picture of a benchmark: for each bolt how its tuples' seconds are distributed. Needs matplotlib, which is optional and slow.

So it is imported only when somebody draws; without matplotlib that raises InvalidError, which says how to get it.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from pasps.data.et_statistics import VARIES, Summary
from pasps.errors import InvalidError
from pasps.report.words import seconds_text

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
except ImportError as error:
    raise InvalidError(f"pictures are drawn by matplotlib, which cannot be imported ({error}); pip install 'pasps[report]'") from error

_INK, _QUIET, _FAINT, _BLUE, _VERMILION = "#222222", "#6b6b6b", "#dcdcdc", "#7fb2d6", "#d55e00"
_WIDTH, _ROW, _TOP, _BOTTOM, _LEFT, _RIGHT = 7.2, 0.78, 0.7, 0.55, 1.55, 1.75
"""Inches."""
_DOTS_PER_INCH = 180
_BINS_PER_DECADE = 40
_MOST_NAME = 18
_MANY_DECADES = 2.5


@dataclass(frozen=True, slots=True)
class Strip:
    """One bolt: its name, how it runs, all seconds that were measured, and what was made of them."""

    name: str
    execution: str
    costs: Sequence[float]
    found: Summary


def draw(topology: str, strips: Sequence[Strip]) -> bytes:
    """A PNG with a strip for each bolt, all on one logarithmic axis. There must be one bolt at least."""
    height = _TOP + _ROW * len(strips) + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height), dpi=_DOTS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    title, shows = f"Execution times of {topology}", "seconds of one tuple, logarithmic; grey lines p50, p95 and p99, red et"
    figure.text(0.12 / _WIDTH, 1 - 0.24 / height, title, fontsize=12.5, fontweight="bold", color=_INK, va="center", parse_math=False)
    figure.text(0.12 / _WIDTH, 1 - 0.49 / height, shows, fontsize=10, color=_QUIET, va="center")
    low, high = _range(strips)
    width = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    for place, strip in enumerate(strips):
        bottom = (height - _TOP - _ROW * (place + 1)) / height
        axes = figure.add_axes((_LEFT / _WIDTH, bottom, width, 0.86 * _ROW / height))
        _draw_strip(axes, strip, low, high, last=place == len(strips) - 1)
    out = io.BytesIO()
    with warnings.catch_warnings():
        # a bolt may be named in a script that the font lacks; a box in its place is no reason to complain
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="png")
    return out.getvalue()


def _range(strips: Sequence[Strip]) -> tuple[float, float]:
    """From the cheapest to the dearest, but for the few that no strip could show at this scale."""
    low = min(_floor(strip.costs) for strip in strips)
    high = max(max(strip.found.p99, strip.found.et) for strip in strips)
    return low / 1.3, max(high * 2, low * 3)


def _floor(costs: Sequence[float]) -> float:
    return min((cost for cost in costs if cost > 0), default=1e-6)


def _draw_strip(axes: Axes, strip: Strip, low: float, high: float, *, last: bool) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    bins = max(1, math.ceil(math.log10(high / low) * _BINS_PER_DECADE))
    edges = [low * (high / low) ** (bin_ / bins) for bin_ in range(bins + 1)]
    # what lies beyond the axis is counted at its end
    counts, _, _ = axes.hist([min(max(cost, low), high) for cost in strip.costs], bins=edges, color=_BLUE, linewidth=0)
    axes.set_ylim(0, 1.1 * max(map(float, counts)))
    for quantile in (strip.found.p50, strip.found.p95, strip.found.p99):
        axes.axvline(quantile, color=_QUIET, linewidth=0.9)
    axes.axvline(strip.found.et, color=_VERMILION, linewidth=1.6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_FAINT)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0,) if math.log10(high / low) > _MANY_DECADES else (1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_text(value).replace(".0 ", " ")))
    axes.tick_params(axis="x", length=3 if last else 0, color=_QUIET, labelsize=10, labelcolor=_QUIET, labelbottom=last)
    name = strip.name if len(strip.name) <= _MOST_NAME else strip.name[: _MOST_NAME - 1] + "…"
    axes.text(-0.03, 0.62, name, transform=axes.transAxes, fontsize=10.5, color=_INK, ha="right", va="center", parse_math=False)
    axes.text(-0.03, 0.25, strip.execution, transform=axes.transAxes, fontsize=9, color=_QUIET, ha="right", va="center")
    varies = strip.found.varies
    depends = "" if varies is None or varies < VARIES else f"varies {varies:.0%}"
    axes.text(1.03, 0.62, f"et {seconds_text(strip.found.et)}", transform=axes.transAxes, fontsize=10.5, color=_VERMILION, va="center")
    axes.text(1.03, 0.25, depends, transform=axes.transAxes, fontsize=9, color=_QUIET, va="center")
