"""The course of a run as at most a thousand points, for figures: of a long run neighbours are put together. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pasps.control.run_log import Sample
from pasps.metrics import Histogram
from pasps.report.decided import Ahead
from pasps.report.observed import Output

MOST_POINTS = 1000


@dataclass(slots=True)
class BoltPoint:
    """One bolt in a stretch of time: replicas times seconds, and the most that was queued."""

    active_time: float
    draining_time: float
    most_queued: int

    def add(self, later: BoltPoint) -> None:
        """Put the stretch that follows to this one."""
        self.active_time += later.active_time
        self.draining_time += later.draining_time
        self.most_queued = max(self.most_queued, later.most_queued)


@dataclass(slots=True)
class Point:
    """A stretch between two complete samples, or several of them.

    `predicted` are the events that had been expected of `predicted_seconds` of it, before it began.
    """

    begin: float
    end: float
    most_backlog: int
    bolts: dict[str, BoltPoint]
    latency: Histogram
    due: float = 0.0
    done: float = 0.0
    predicted: float = 0.0
    predicted_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin

    @property
    def middle(self) -> float:
        """Half-way."""
        return (self.begin + self.end) / 2

    @property
    def predicted_rate(self) -> float | None:
        """Events a second, as expected just before; None where nothing was."""
        return self.predicted / self.predicted_seconds if self.predicted_seconds else None

    def add(self, later: Point) -> None:
        """Put the stretch that follows to this one."""
        self.end = later.end
        self.due += later.due
        self.done += later.done
        self.most_backlog = max(self.most_backlog, later.most_backlog)
        for name, bolt in later.bolts.items():
            if name in self.bolts:
                self.bolts[name].add(bolt)
        self.latency.merge(later.latency)
        self.predicted += later.predicted
        self.predicted_seconds += later.predicted_seconds


@dataclass(frozen=True, slots=True)
class Course:
    """A run's points in the order of time, and the pools of its bolts."""

    points: list[Point] = field(default_factory=list)
    pools: dict[str, int] = field(default_factory=dict)


def course_of(samples: Iterable[Sample], output: Output, most_points: int = MOST_POINTS) -> Course:
    """The points of all complete samples; memory does not grow with their number."""
    course = Course()
    points, last = course.points, None
    due = done = 0.0  # the most so far: counts may fall for a while, when those of a dead worker are missing
    together, waiting = 1, 0
    for sample in samples:
        if not sample.complete or (last is not None and sample.uptime <= last.uptime):
            continue
        course.pools.update((name, bolt.pool) for name, bolt in sample.bolts.items())
        if last is not None:
            point = _point(last, sample)
            point.due, point.done = max(0.0, sample.due - due), max(0.0, output.of(sample) - done)
            if waiting:
                points[-1].add(point)
            else:
                points.append(point)
            waiting = (waiting + 1) % together
            if len(points) == most_points and not waiting:
                _halve(points)
                together *= 2
        due, done = max(due, sample.due), max(done, output.of(sample))
        last = sample
    return course


def expect(course: Course, aheads: Sequence[Ahead]) -> None:
    """Draw what the cycles expected, if no sample has a prediction: a policy without a predictor has none for each second."""
    if any(point.predicted_seconds for point in course.points):
        return
    began = [ahead.began for ahead in aheads]
    for point in course.points:
        place = bisect_right(began, point.middle) - 1
        if place >= 0 and point.middle <= began[place] + aheads[place].seconds:
            point.predicted = aheads[place].events / aheads[place].seconds * point.seconds
            point.predicted_seconds = point.seconds


def _halve(points: list[Point]) -> None:
    for first, second in zip(points[::2], points[1::2], strict=False):
        first.add(second)
    points[:] = points[::2]


def _point(last: Sample, now: Sample) -> Point:
    seconds = now.uptime - last.uptime
    bolts = {
        name: BoltPoint(before.active * seconds, before.draining * seconds, now.bolts[name].queued)
        for name, before in last.bolts.items()
        if name in now.bolts
    }
    known = now.predicted is not None  # a sample says what had been expected of the second that ends with it
    return Point(
        begin=last.uptime,
        end=now.uptime,
        most_backlog=now.backlog,
        bolts=bolts,
        latency=_latency(last, now),
        predicted=(now.predicted or 0.0) * seconds,
        predicted_seconds=seconds if known else 0.0,
    )


def _latency(last: Sample, now: Sample) -> Histogram:
    """What the later sample's histogram has more than the earlier."""
    grown = {bucket: count - last.latency.get(bucket, 0) for bucket, count in now.latency.items()}
    return Histogram({bucket: count for bucket, count in grown.items() if count > 0}, max(0.0, now.latency_total - last.latency_total))
