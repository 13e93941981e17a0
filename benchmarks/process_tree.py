"""What a process and everything it started use: CPU seconds and memory over time, read from outside."""

from __future__ import annotations

import contextlib
import time
from bisect import bisect_left
from collections.abc import Sequence

import psutil

Series = list[tuple[float, float]]


class TreeSampler:
    """Call `sample` now and then while the tree lives; a process that ended keeps the CPU it had used when last seen."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._cpu_by_process: dict[tuple[int, float], float] = {}
        self._seen: list[psutil.Process] = []
        self.cpu_seconds: Series = []
        self.rss_bytes: Series = []
        self.pss_bytes: Series = []
        self.most_processes = 0
        self.whole_until = 0.0
        """When it was last seen with all its processes."""

    def sample(self, *, with_pss: bool = False) -> None:
        """Take one sample of each series; PSS costs the tree a walk over its pages, so only when asked."""
        tree = self._tree()
        rss = pss = 0
        for process in tree:
            with contextlib.suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                self._cpu_by_process[process.pid, process.create_time()] = times.user + times.system
                rss += process.memory_info().rss
                if with_pss:
                    pss += process.memory_full_info().pss
        now = time.monotonic()
        self.most_processes = max(self.most_processes, len(tree))
        if len(tree) == self.most_processes:
            self.whole_until = now
        self.cpu_seconds.append((now, sum(self._cpu_by_process.values())))
        if rss:
            self.rss_bytes.append((now, rss))
        if pss:
            self.pss_bytes.append((now, pss))

    def _tree(self) -> list[psutil.Process]:
        try:
            self._seen = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return []
        return self._seen

    def kill_leftovers(self) -> int:
        """End what is still there of the tree; how many that were."""
        with contextlib.suppress(psutil.Error):
            self._seen = list({*self._seen, *self._tree()})
        left = [process for process in self._seen if process.is_running()]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=5)
        return len(left)


def idle_percent(seconds: float = 1.0) -> float:
    """How idle the whole machine is over the next `seconds`; blocks that long."""
    return 100.0 - float(psutil.cpu_percent(seconds))


def value_at(series: Sequence[tuple[float, float]], moment: float) -> float:
    """A cumulative series' value at `moment`, linear between its points, flat outside them."""
    place = bisect_left(series, moment, key=lambda point: point[0])
    if place == 0:
        return series[0][1] if series else 0.0
    if place == len(series):
        return series[-1][1]
    (before, low), (after, high) = series[place - 1], series[place]
    return low + (high - low) * (moment - before) / (after - before) if after > before else high


def highest(series: Series, first: float, last: float) -> float | None:
    """The largest value between two moments; of the whole series when none lies between."""
    values = [value for moment, value in series if first <= moment <= last] or [value for _, value in series]
    return max(values, default=None)
