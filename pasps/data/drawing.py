"""The picture of a trace, a PNG. Imports matplotlib, which is optional and slow to import, so this is imported only to draw."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from datetime import UTC
from pathlib import PurePath

from pasps.data.describe import Description, Found
from pasps.data.duration_text import duration_text, short_duration
from pasps.data.steps import SECOND, iso_time
from pasps.errors import InvalidError

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
    from matplotlib.transforms import ScaledTranslation
except ImportError as error:
    raise InvalidError(f"pictures are drawn by matplotlib, which cannot be imported ({error}); pip install 'pasps[data]'") from error

# after the other import of matplotlib, which says how to get it for this
from pasps.report.canvas import BLUE, DOTS_PER_INCH, FAINT, GREEN, INK, PALE_BLUE, QUIET, VERMILION, short_count

_WIDTH, _HEIGHT = 9.6, 6.2
_LEFT, _RIGHT = 0.75, 0.3
_RATE_BOTTOM, _RATE_HEIGHT, _SMALL_BOTTOM, _SMALL_HEIGHT, _SMALL_GAP = 3.05, 2.2, 0.55, 1.6, 0.7
"""Inches."""
_MOST_MARKS, _MARK_INCHES = 40, 0.08
_DAY = 86_400 * SECOND
_FAR = 40.0
_LEAST_ON_LOG = 0.5


def draw(found: Description) -> bytes:
    """Rate over time with its spikes; below it distribution, burstiness over windows, and autocorrelation with the periods."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=DOTS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    _headline(figure, found)
    wide = _WIDTH - _LEFT - _RIGHT
    small = (wide - 2 * _SMALL_GAP) / 3
    _rate(_axes(figure, _LEFT, _RATE_BOTTOM, wide, _RATE_HEIGHT), found)
    for place, panel in enumerate((_distribution, _burstiness, _autocorrelation)):
        panel(_axes(figure, _LEFT + place * (small + _SMALL_GAP), _SMALL_BOTTOM, small, _SMALL_HEIGHT), found)
    out = io.BytesIO()
    with warnings.catch_warnings():
        # a file may be named in a script that the font lacks; a box in its place is no reason to complain
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="png")
    return out.getvalue()


def _headline(figure: Figure, found: Description) -> None:
    rows = f"{found.rows:,} row{'s' if found.rows > 1 else ''} of {duration_text(found.step_seconds)} from {iso_time(found.first)} on"
    times = "" if found.burstiness.peak_to_mean is None else f" ({found.burstiness.peak_to_mean:,.1f} times the mean)"
    shows = f"{rows}; mean {_number(found.mean)}, peak {_number(found.peak)}{times}"
    for text, top, size, weight, colour in ((PurePath(found.name).name, 0.24, 13, "bold", INK), (shows, 0.5, 10, "normal", QUIET)):
        figure.text(0.12 / _WIDTH, 1 - top / _HEIGHT, text, fontsize=size, fontweight=weight, color=colour, va="center", parse_math=False)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    axes = figure.add_axes((left / _WIDTH, bottom / _HEIGHT, width / _WIDTH, height / _HEIGHT))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, labelsize=9, labelcolor=QUIET)
    axes.tick_params(axis="x", length=3, color=QUIET)
    return axes


def _title(axes: Axes, text: str, note: str = "") -> None:
    axes.set_title(text, loc="left", fontsize=10.5, color=INK, pad=7)
    if note:
        axes.set_title(note, loc="right", fontsize=9, color=QUIET, pad=7, parse_math=False)


def _rate(axes: Axes, found: Description) -> None:
    picture = found.picture
    is_far = found.peak > _FAR * max(found.median, _LEAST_ON_LOG)
    floor = _LEAST_ON_LOG if is_far else 0.0
    days = [(found.first + second * SECOND) / _DAY for second in picture.seconds]
    low, mean, high = ([max(value, floor) for value in line] for line in (picture.low, picture.mean, picture.high))
    if len(days) < found.rows:
        axes.fill_between(days, low, high, color=PALE_BLUE, alpha=0.35, linewidth=0)
    axes.plot(days, mean, color=BLUE, linewidth=1.0, marker="o" if len(days) == 1 else "")
    marked = sorted(found.spikes, key=lambda each: -each.spike.size)[:_MOST_MARKS]
    _mark(axes, [each for each in marked if each.spike.up], "v", VERMILION, 1.0, floor)
    _mark(axes, [each for each in marked if not each.spike.up], "^", GREEN, -1.0, floor)
    step = found.step_seconds * SECOND / _DAY
    axes.set_xlim((days[0], found.last / _DAY) if len(days) > 1 else (days[0] - step, days[0] + step))
    if is_far:
        axes.set_yscale("log")
        axes.set_ylim(max(floor, 0.7 * min(low)), 2.2 * found.peak)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(10, numticks=7))
    else:
        axes.set_ylim(0, 1.12 * (found.peak or 1.0))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    locator = AutoDateLocator(tz=UTC, minticks=4, maxticks=12)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axes.xaxis.get_offset_text().set(fontsize=9, color=QUIET)
    scale = ", logarithmic" if is_far else ""
    _title(axes, f"Events in {duration_text(found.step_seconds)}{scale}", _spikes_note(found.spikes))


def _mark(axes: Axes, spikes: Sequence[Found], marker: str, colour: str, side: float, floor: float) -> None:
    """Beside the extremes, so that they can be seen."""
    days, heights = [each.peak_time / _DAY for each in spikes], [max(each.spike.extreme, floor) for each in spikes]
    away = axes.transData + ScaledTranslation(0.0, side * _MARK_INCHES, axes.figure.dpi_scale_trans)
    axes.plot(days, heights, marker, color=colour, markersize=4.5, linewidth=0, transform=away, clip_on=False)


def _spikes_note(spikes: Sequence[Found]) -> str:
    ups = sum(1 for each in spikes if each.spike.up)
    if not spikes:
        return "no spikes found"
    text = f"spikes found: {ups:,} up (red), {len(spikes) - ups:,} down (green)"
    return text if len(spikes) <= _MOST_MARKS else f"{text}; the {_MOST_MARKS} largest are marked"


def _distribution(axes: Axes, found: Description) -> None:
    picture = found.picture
    widths = [after - before for before, after in zip(picture.edges, picture.edges[1:], strict=False)]
    axes.bar(picture.edges[:-1], picture.bars, widths, align="edge", color=PALE_BLUE, linewidth=0)
    for value, colour in ((found.median, INK), (found.p99, VERMILION)):
        axes.axvline(value, color=colour, linewidth=1.0)
    axes.set_yscale("log")
    axes.set_ylim(0.7, 2 * max(picture.bars))
    axes.yaxis.set_major_locator(LogLocator(10, numticks=5))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    axes.set_xlabel(f"events in {duration_text(found.step_seconds)}", fontsize=9, color=QUIET)
    _title(axes, "Rows", f"median {_number(found.median)}, p99 {_number(found.p99)}")


def _burstiness(axes: Axes, found: Description) -> None:
    points = [(seconds, value) for seconds, value in found.burstiness.fano if value > 0]
    _title(axes, "Variance / mean", "" if points else "not enough rows" if found.total else "no events")
    if not points:
        axes.set_axis_off()
        return
    xs, ys = zip(*points, strict=True)
    axes.plot(xs, ys, color=BLUE, linewidth=1.4, marker="o", markersize=3.5)
    axes.axhline(1.0, color=QUIET, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = min(*ys, 1.0), max(*ys, 1.0)
    axes.set_ylim(low / 1.8, high * 1.8)
    axes.yaxis.set_major_locator(LogLocator(10, numticks=5))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(_some(xs, 3))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_duration(value)))
    axes.set_xlabel("in windows of", fontsize=9, color=QUIET)
    axes.set_title("dashed: Poisson", loc="right", fontsize=9, color=QUIET, pad=7)


def _some(values: Sequence[float], most: int) -> list[float]:
    step = max(1, math.ceil(len(values) / most))
    return list(values[::step])


def _autocorrelation(axes: Axes, found: Description) -> None:
    picture, periods = found.picture, found.periods
    lasts = [period.rows * found.step_seconds for period in periods]
    note = ", ".join(short_duration(seconds) for seconds in lasts[:2])
    _title(axes, "Autocorrelation", f"period {note}" if note else "no period found")
    if not picture.lags:
        axes.set_axis_off()
        return
    axes.axhline(0.0, color=QUIET, linewidth=0.8)
    for seconds in lasts:
        axes.axvline(seconds, color=VERMILION, linewidth=1.0)
    axes.plot(picture.lags, picture.correlations, color=BLUE, linewidth=1.4)
    axes.set_xlim(0, max(picture.lags[-1], picture.lags[0] * 1.01))
    axes.set_ylim(min(-0.25, *picture.correlations) - 0.05, 1.05)
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    unit = max(lasts) if lasts else picture.lags[-1] / 2
    axes.set_xticks([0.0, unit, 2 * unit])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_duration(value) if value else "0"))
    axes.set_xlabel("with itself, so much later", fontsize=9, color=QUIET)
