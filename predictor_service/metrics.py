"""What the service counts of itself, and its text for Prometheus. One instance a service, used on its loop alone."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BUCKETS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)

_HEADS = {
    "predictor_requests_total": ("counter", "Requests for a prediction, by model and HTTP status."),
    "predictor_fit_seconds": ("histogram", "What fits took, by model."),
    "predictor_processes_ended_total": ("counter", "Processes that ended and were replaced, by lane."),
    "predictor_processes": ("gauge", "Processes that are ready to fit, by lane."),
    "predictor_waiting": ("gauge", "Fits that wait for a process, by lane."),
}


@dataclass(frozen=True, slots=True)
class LaneStatistics:
    """One lane now: processes wanted and ready, fits that wait, processes that ended since it was opened."""

    name: str
    size: int
    ready: int
    waiting: int
    ended: int


class Metrics:
    """Counters since the service started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._fits: dict[str, list[int]] = {}
        self._fit_seconds: dict[str, float] = {}

    def request(self, model: str, status: int) -> None:
        """One request was answered; `model` is "" when it named none that exists."""
        self._requests[model, status] += 1

    def fit(self, model: str, seconds: float) -> None:
        """One fit came to its end."""
        counts = self._fits.setdefault(model, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self._fit_seconds[model] = self._fit_seconds.get(model, 0.0) + seconds

    def text(self, lanes: Sequence[LaneStatistics]) -> str:
        """Everything in Prometheus' text format."""
        parts = {
            "predictor_requests_total": [
                f'{{model="{model}",status="{status}"}} {count}' for (model, status), count in sorted(self._requests.items())
            ],
            "predictor_fit_seconds": [line for model in sorted(self._fits) for line in self._histogram(model)],
            "predictor_processes_ended_total": [f'{{lane="{lane.name}"}} {lane.ended}' for lane in lanes],
            "predictor_processes": [f'{{lane="{lane.name}"}} {lane.ready}' for lane in lanes],
            "predictor_waiting": [f'{{lane="{lane.name}"}} {lane.waiting}' for lane in lanes],
        }
        return "".join(_family(name, lines) for name, lines in parts.items())

    def _histogram(self, model: str) -> list[str]:
        lines, total = [], 0
        for bound, count in zip([*map(str, BUCKETS), "+Inf"], self._fits[model], strict=True):
            total += count
            lines.append(f'_bucket{{model="{model}",le="{bound}"}} {total}')
        return [*lines, f'_sum{{model="{model}"}} {self._fit_seconds[model]:.6f}', f'_count{{model="{model}"}} {total}']


def _family(name: str, lines: Iterable[str]) -> str:
    kind, words = _HEADS[name]
    return "".join([f"# HELP {name} {words}\n# TYPE {name} {kind}\n", *(f"{name}{line}\n" for line in lines)])
