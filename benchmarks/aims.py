"""What pasps wants to reach beside its peers, as ratios and limits within one run of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.matrix import Mode, Run

Value = Callable[["Results"], float | None]


class Results:
    """Medians over the rounds of one benchmark run."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs

    def of(self, name: str, workers: int, workload: str, mode: Mode, field: str) -> float | None:
        """The median of one field of one cell; None when it was not measured."""
        cell = [
            run for run in self._runs if (run.subject.name, run.subject.workers, run.workload, run.mode) == (name, workers, workload, mode)
        ]
        values = [value for run in cell if run.result.received and (value := getattr(run.result, field)) is not None]
        return median(values) if values else None

    def speed(self, name: str, workers: int, workload: str) -> float | None:
        """Maximum throughput."""
        return self.of(name, workers, workload, "full", "events_per_second")

    def ratio(self, above: float | None, below: float | None) -> float | None:
        """None when one side is missing."""
        return above / below if above and below else None


@dataclass(frozen=True, slots=True)
class Aim:
    """One line: `value` must be at least, or at most, `limit`."""

    title: str
    limit: float
    at_least: bool
    value: Value
    unit: str = "x"

    def line(self, results: Results) -> dict[str, object]:
        """The aim with what was measured; `reached` is None when something it needs was not."""
        value = self.value(results)
        reached = None if value is None else (value >= self.limit if self.at_least else value <= self.limit)
        return {"aim": self.title, "wanted": self.wanted, "measured": value, "unit": self.unit, "reached": reached}

    @property
    def wanted(self) -> str:
        """The limit in words."""
        return f"{'>=' if self.at_least else '<='} {self.limit:g} {self.unit}"


def _against(name: str, workers: int, workload: str, *peers: tuple[str, int]) -> Value:
    """The subject's speed over the best of `peers`."""

    def value(results: Results) -> float | None:
        speeds = [speed for peer in peers if (speed := results.speed(*peer, workload))]
        return results.ratio(results.speed(name, workers, workload), max(speeds, default=None))

    return value


def _tracking(name: str, workers: int, workload: str) -> Value:
    return lambda results: results.ratio(results.speed(f"{name}-tracked", workers, workload), results.speed(name, workers, workload))


def _worst(field: str, mode: Mode, *, workers: Sequence[int] = (1, 2), scale: float = 1.0) -> Value:
    """The largest value over both workloads and all pasps subjects."""

    def value(results: Results) -> float | None:
        values = [
            found * scale
            for bolts in ("functions", "classes")
            for tracked in ("", "-tracked")
            for count in workers
            for workload in ("w1", "w2")
            if (found := results.of(f"pasps-{bolts}{tracked}", count, workload, mode, field)) is not None
        ]
        return max(values, default=None)

    return value


_FUNCTIONS, _CLASSES = "pasps-functions", "pasps-classes"

AIMS: tuple[Aim, ...] = (
    Aim(
        "W2, 2 workers, over multiprocessing with lists (its best)",
        1.5,
        True,
        _against(_FUNCTIONS, 2, "w2", ("mp-lists", 1), ("mp-lists", 2)),
    ),
    Aim("W2, 2 workers, over Bytewax with 2 processes", 5.0, True, _against(_FUNCTIONS, 2, "w2", ("bytewax", 2))),
    Aim("W2, 1 worker, over Bytewax with 1", 1.2, True, _against(_FUNCTIONS, 1, "w2", ("bytewax", 1))),
    Aim("W1, 1 worker, function bolts over Bytewax with 1", 1.0, True, _against(_FUNCTIONS, 1, "w1", ("bytewax", 1))),
    Aim("W1, 1 worker, class bolts over Bytewax with 1", 0.4, True, _against(_CLASSES, 1, "w1", ("bytewax", 1))),
    *(
        Aim(
            f"tracked over untracked: {workload.upper()}, {workers} worker{'s'[: workers - 1]}, {name}",
            0.8,
            True,
            _tracking(name, workers, workload),
        )
        for name in (_FUNCTIONS, _CLASSES)
        for workload in ("w1", "w2")
        for workers in (1, 2)
    ),
    Aim("p99 at half of the maximum, worst", 5.0, False, _worst("p99_ms", "half"), "ms"),
    Aim("p50 at 2,000/s, worst", 1.0, False, _worst("p50_ms", "2000/s"), "ms"),
    Aim("start-up with 2 workers, worst", 0.45, False, _worst("start_seconds", "full", workers=(2,)), "s"),
    Aim("memory (sum of RSS) with 2 workers, worst", 100.0, False, _worst("rss_mb", "full", workers=(2,)), "MB"),
)
