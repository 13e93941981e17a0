"""The four figures of a run, each as a PNG: input, replicas, latency, and what waits. Imports matplotlib, by `canvas`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from pasps.report.canvas import (
    BLUE,
    DEEP_BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALE_BLUE,
    PURPLE,
    QUIET,
    VERMILION,
    Sheet,
    broken,
    count_axis,
    pool_axis,
    seconds_axis,
    short,
)
from pasps.report.course import Course, Point
from pasps.report.drawing import Drawing

MOST_BOLTS = 12
"""Panels of one figure; of more bolts those are shown that changed most."""
_MOST_QUEUES = 4


def draw(course: Course) -> list[Drawing]:
    """The figures that the course has something for."""
    if not course.points:
        return []
    return [drawing for figure in _FIGURES if (drawing := figure(course)) is not None]


def _sheet(course: Course, title: str, shows: str, heights: Sequence[float], gap: float = 0.3) -> Sheet:
    return Sheet(title, shows, heights, course.points[0].begin, course.points[-1].end, gap)


def _input(course: Course) -> Drawing:
    points = course.points
    sheet = _sheet(course, "Input and throughput", "events per second", (2.3,))
    axes = sheet.panels[0]
    times = sheet.at([point.middle for point in points])
    due, done = [point.due / point.seconds for point in points], [point.done / point.seconds for point in points]
    predicted = [(point.middle, rate) for point in points if (rate := point.predicted_rate) is not None]
    axes.fill_between(times, due, color=FAINT, linewidth=0)
    axes.plot(times, due, color=QUIET, linewidth=1.0)
    axes.plot(times, done, color=BLUE, linewidth=1.1)
    names = [(due[-1], "due", QUIET), (done[-1], "processed", BLUE)]
    if predicted:
        xs, ys = broken(sheet.at([time for time, _ in predicted]), [rate for _, rate in predicted])
        axes.plot(xs, ys, color=VERMILION, linewidth=1.1)
        names.append((ys[-1], "predicted", VERMILION))
    count_axis(axes, max([*due, *done, *(rate for _, rate in predicted)]))
    sheet.name_lines(axes, names)
    seen = "Events per second over time: those that became due, those processed" + (", and those predicted." if predicted else ".")
    return Drawing("report-input.png", sheet.png(), seen)


def _replicas(course: Course) -> Drawing | None:
    names = _most_changed(course)
    if not names:
        return None
    drains = any(bolt.draining_time > 0 for point in course.points for bolt in point.bolts.values())
    left_out = len(course.pools) - len(names)
    shows = ("blue active, orange draining" if drains else "blue active") + ", grey the rest of the pool"
    shows += f"; {left_out} quieter bolts are not shown" if left_out else ""
    sheet = _sheet(course, "Replicas of each bolt", shows, [0.62] * len(names), 0.14)
    edges = sheet.at([*(point.begin for point in course.points), course.points[-1].end])
    seconds = sum(point.seconds for point in course.points)
    for axes, name in zip(sheet.panels, names, strict=True):
        active = [_mean(point, name, draining=False) for point in course.points]
        working = [count + _mean(point, name, draining=True) for point, count in zip(course.points, active, strict=True)]
        axes.stairs(working, edges, fill=True, color=ORANGE, linewidth=0)
        axes.stairs(active, edges, fill=True, color=PALE_BLUE, linewidth=0)
        pool_axis(axes, course.pools[name])
        mean = sum(point.bolts[name].active_time for point in course.points if name in point.bolts) / seconds
        axes.text(1.02, 0.72, short(name), transform=axes.transAxes, fontsize=10.5, color=INK, va="center", parse_math=False)
        axes.text(1.02, 0.3, f"mean {mean:.1f}", transform=axes.transAxes, fontsize=10.5, color=BLUE, va="center")
    return Drawing("report-replicas.png", sheet.png(), f"Active and draining replicas over time of {', '.join(names)}.")


def _latency(course: Course) -> Drawing | None:
    points = [point for point in course.points if point.latency.count]
    if not points:
        return None
    sheet = _sheet(course, "Latency", "from due until processed; logarithmic", (2.3,))
    axes = sheet.panels[0]
    times = sheet.at([point.middle for point in points])
    values: list[float] = []
    names = []
    for share, name, colour in ((0.5, "p50", PALE_BLUE), (0.95, "p95", BLUE), (0.99, "p99", DEEP_BLUE)):
        quantiles = [point.latency.quantile(share) for point in points]
        axes.plot(*broken(times, quantiles), color=colour, linewidth=1.1)
        names.append((quantiles[-1], name, colour))
        values += quantiles
    seconds_axis(axes, min(values), max(values))
    sheet.name_lines(axes, names)
    return Drawing("report-latency.png", sheet.png(), "Latency over time: the 50th, 95th and 99th percentile of each second.")


def _waiting(course: Course) -> Drawing:
    points = course.points
    times = [point.end for point in points]
    backlog = [point.most_backlog for point in points]
    if any(backlog):
        sheet = _sheet(course, "What waits", "events due and not yet emitted; below, tuples queued at bolts", (1.0, 1.3))
        upper = sheet.panels[0]
        upper.fill_between(sheet.at(times), backlog, color=FAINT, linewidth=0)
        upper.plot(sheet.at(times), backlog, color=QUIET, linewidth=1.0)
        count_axis(upper, max(backlog))
        sheet.name_lines(upper, [(backlog[-1], "backlog", QUIET)])
    else:
        sheet = _sheet(course, "What waits", "tuples queued at bolts; no event waited to be emitted", (2.3,))
    lower = sheet.panels[-1]
    names = []
    most = 0.0
    for (name, queued), colour in zip(_queues(course).items(), (BLUE, VERMILION, GREEN, PURPLE, QUIET), strict=False):
        lower.plot(sheet.at(times), queued, color=colour, linewidth=1.0)
        names.append((float(queued[-1]), name, colour))
        most = max(most, *queued)
    count_axis(lower, most)
    sheet.name_lines(lower, names)
    return Drawing("report-queues.png", sheet.png(), "Events that wait to be emitted, and the tuples queued at each bolt, over time.")


def _queues(course: Course) -> Mapping[str, list[int]]:
    """Of the bolts with the longest queues; the others together."""
    of = {name: [point.bolts[name].most_queued if name in point.bolts else 0 for point in course.points] for name in course.pools}
    longest = sorted(of, key=lambda name: -max(of[name]))[:_MOST_QUEUES]
    shown = {name: of[name] for name in of if name in longest}
    others = [of[name] for name in of if name not in longest]
    return {**shown, "others": [sum(counts) for counts in zip(*others, strict=True)]} if others else shown


def _most_changed(course: Course) -> list[str]:
    """The bolts to show, in their own order."""

    def moved(name: str) -> float:
        active = [_mean(point, name, draining=False) for point in course.points]
        return sum(abs(after - before) for before, after in pairwise(active))

    if len(course.pools) <= MOST_BOLTS:
        return list(course.pools)
    chosen = set(sorted(course.pools, key=moved, reverse=True)[:MOST_BOLTS])
    return [name for name in course.pools if name in chosen]


def _mean(point: Point, name: str, *, draining: bool) -> float:
    """Replicas of one bolt in a stretch of time."""
    bolt = point.bolts.get(name)
    if bolt is None:
        return 0.0
    return (bolt.draining_time if draining else bolt.active_time) / point.seconds


_FIGURES: Sequence[Callable[[Course], Drawing | None]] = (_input, _replicas, _latency, _waiting)
