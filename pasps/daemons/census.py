"""Cuts: asks all workers for their counters at once, and keeps what the dead had counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint
from pasps.clock import Clock
from pasps.control.news import News
from pasps.control.statistics import stats_of
from pasps.daemons.messages import Counts, Cut, Start
from pasps.daemons.progress import Progress
from pasps.daemons.worker_link import WorkerLink
from pasps.metrics import Stats, WorkerCounts

CUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """A worker's counters, and when they came."""

    counts: WorkerCounts
    at: float


class Census:
    """One for each topology. `take` is given every `Counts` that comes, asked for or not."""

    def __init__(self, blueprint: Blueprint, clock: Clock, starts: Mapping[int, Start] | None = None) -> None:
        """`starts`: where the spout tasks were when another master ended."""
        self._blueprint = blueprint
        self._clock = clock
        self._began = clock.now()
        self._cut = 0
        self._answers: dict[int, dict[str, _Answer]] = {}
        self._dead: list[WorkerCounts] = []
        self._progress = Progress(starts)
        self._news = News()
        self.spouts = [name for name, plan in blueprint.components.items() if plan.is_spout]
        self.spout_tasks = [task for name in self.spouts for task in blueprint.components[name].tasks]

    async def stats(self, live: Callable[[], ActivationTable], ask: Callable[[str, Cut], None]) -> Stats:
        """One consistent cut. `live` gives the newest table; who dies meanwhile is not waited for, and counts as dead.

        Its time is when the last worker that has a spout answered, so that a bolt that held up its worker does not make what
        became due look late.
        """
        self._cut += 1
        k, answers = self._cut, self._answers.setdefault(self._cut, {})
        asked = set(live().workers)
        for worker in asked:
            ask(worker, Cut(k))
        await self._news.wait_until(lambda: asked & set(live().workers) <= set(answers), CUT_SECONDS)
        del self._answers[k]
        table = live()
        alive = {worker: answer for worker, answer in answers.items() if table.workers.get(worker) == answer.counts.incarnation}
        at = max((a.at for a in alive.values() if a.counts.spouts), default=self._clock.now())
        return stats_of(self._blueprint, table, {worker: answer.counts for worker, answer in alive.items()}, self._dead, at - self._began)

    def take(self, link: WorkerLink, message: Counts) -> None:
        """Counters of a worker."""
        link.counts = message.counts
        self._progress.take(message.counts)
        answers = self._answers.get(message.k)
        if answers is not None:
            answers[link.worker] = _Answer(message.counts, self._clock.now())
            self._news.tell()

    def bury(self, link: WorkerLink) -> None:
        """A worker is gone: what it had counted last stays counted."""
        if link.counts is not None:
            self._dead.append(link.counts)
            self._progress.died(link.counts)
        self._news.tell()

    def starts(self) -> dict[int, Start]:
        """Where each spout task would go on."""
        return self._progress.starts(self.spout_tasks)
