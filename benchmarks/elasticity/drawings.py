"""The figures of a comparison, as PNGs. Imports matplotlib, by `pasps.report.canvas`, so it is loaded only when they are wanted."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from benchmarks.elasticity.traces import Prepared, in_the_trace
from benchmarks.elasticity.verdict import STEADY, Row
from pasps.control.run_log import Sample
from pasps.report.canvas import (
    BLUE,
    DOTS_PER_INCH,
    FAINT,
    INK,
    ORANGE,
    PALE_BLUE,
    QUIET,
    VERMILION,
    Sheet,
    count_axis,
    pool_axis,
    seconds_axis,
)

_COLOURS = {"static": QUIET, "presps": ORANGE, "pa-sps": VERMILION, "pasps": BLUE}
_MARKS = {"static": "s", "presps": "D", "pa-sps": "^", "pasps": "o"}

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points of print."""
_LETTER, _LINE, _GAP = 4.6, 10.0, 5.0
"""A label's size in points, about, and its distance from its mark."""


def latency_against_saved(title: str, rows: Sequence[Row]) -> bytes:
    """Every run a point, the runs of `pasps` joined to a curve; to the right and below is better."""
    figure = Figure(figsize=(6.4, 4.4), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    told = [(row, row.numbers.saved, row.numbers.mean) for row in rows if row.numbers.saved is not None and row.numbers.mean is not None]
    # as a point of its own it would push all that is to be compared into a corner
    points = [point for point in told if point[0].name != STEADY] or told
    for row, _, mean in told:
        if row.name == STEADY and len(points) < len(told):
            axes.axhline(mean, color=QUIET, linewidth=1.0, linestyle="dashed", zorder=0)
            place = (0.01, mean)
            axes.annotate(f"{row.name}, saves nothing", place, xycoords=("axes fraction", "data"), fontsize=8, color=QUIET, va="bottom")
    ours = sorted((saved, mean) for row, saved, mean in points if row.policy == "pasps")
    axes.plot([saved for saved, _ in ours], [mean for _, mean in ours], color=BLUE, linewidth=1.2, zorder=1)
    for row, saved, mean in points:
        across, up = row.margins.get("saved"), row.margins.get("mean")
        colour = _COLOURS.get(row.policy, INK)
        axes.errorbar([saved], [mean], yerr=up and min(up, 0.9 * mean), xerr=across, color=colour, linewidth=0.9, zorder=1)
        axes.scatter([saved], [mean], color=_COLOURS.get(row.policy, INK), marker=_MARKS.get(row.policy, "o"), s=26, zorder=2)
    if points:
        seconds_axis(axes, min(mean for _, _, mean in told), max(mean for _, _, mean in points))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.margins(x=0.12)
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("saved resources", fontsize=10, color=QUIET)
    axes.set_ylabel("mean latency, from due until processed", fontsize=10, color=QUIET)
    axes.set_title(title, fontsize=12, color=INK, loc="left", fontweight="bold")
    axes.tick_params(labelcolor=QUIET, color=QUIET)
    figure.canvas.draw()  # only now it is known where on the page a point lies
    dots = [axes.transData.transform((saved, mean)) * 72 / DOTS_PER_INCH for _, saved, mean in points]
    names = [row.name for row, _, _ in points]
    for (row, saved, mean), offset in zip(points, label_offsets([(float(x), float(y)) for x, y in dots], names), strict=True):
        colour = _COLOURS.get(row.policy, INK)
        axes.annotate(row.name, (saved, mean), xytext=offset, textcoords="offset points", fontsize=8, color=colour, va="center")
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def label_offsets(marks: Sequence[tuple[float, float]], labels: Sequence[str]) -> list[tuple[float, float]]:
    """Where each label begins, from its mark: beside it where there is room, else the next place that touches nothing."""
    taken: list[Box] = [(x - 3, y - 3, x + 3, y + 3) for x, y in marks]
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


def replicas_over_time(title: str, trace: Prepared, runs: Mapping[str, Sequence[Sample]]) -> bytes:
    """The input, and below it for each run the replicas of all bolts that work, at the same moments of the trace."""
    times = {name: in_the_trace(samples, trace) for name, samples in runs.items()}
    shows = "events due per second; below, working replicas, orange: draining"
    end = max(trace.seconds, *(seconds[-1] for seconds in times.values()))
    sheet = Sheet(title, shows, [1.3, *[1.0] * len(runs)], 0.0, end, 0.16)
    upper, *panels = sheet.panels
    rates = [count / trace.row_seconds for count in (*trace.counts, 0)]
    rows = sheet.at([row * trace.row_seconds for row in range(len(rates))])
    upper.fill_between(rows, rates, step="post", color=FAINT, linewidth=0)
    upper.plot(rows, rates, drawstyle="steps-post", color=QUIET, linewidth=1.0)
    count_axis(upper, max(rates))
    for axes, (name, samples) in zip(panels, runs.items(), strict=True):
        at = sheet.at(times[name])
        active = [sum(bolt.active for bolt in sample.bolts.values()) for sample in samples]
        working = [count + sum(bolt.draining for bolt in sample.bolts.values()) for sample, count in zip(samples, active, strict=True)]
        axes.fill_between(at, working, step="post", color=ORANGE, linewidth=0)
        axes.fill_between(at, active, step="post", color=PALE_BLUE, linewidth=0)
        pool_axis(axes, sum(bolt.pool for bolt in samples[-1].bolts.values()))
        sheet.name_lines(axes, [(active[-1], name, BLUE)])
    return sheet.png()
