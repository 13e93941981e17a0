"""Cuts: asks all workers for their counters at once, and keeps what the dead had counted."""

from __future__ import annotations

from collections.abc import Callable

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


class Census:
    """One for each topology. `take` is given every `Counts` that comes, asked for or not."""

    def __init__(self, blueprint: Blueprint, clock: Clock) -> None:
        self._blueprint = blueprint
        self._clock = clock
        self._began = clock.now()
        self._cut = 0
        self._answers: dict[int, dict[str, WorkerCounts]] = {}
        self._dead: list[WorkerCounts] = []
        self._progress = Progress()
        self._news = News()
        self.spouts = [name for name, plan in blueprint.components.items() if plan.is_spout]
        self.spout_tasks = [task for name in self.spouts for task in blueprint.components[name].tasks]

    async def stats(self, live: Callable[[], ActivationTable], ask: Callable[[str, Cut], None]) -> Stats:
        """One consistent cut. `live` gives the newest table; who dies meanwhile is not waited for."""
        self._cut += 1
        k, answers = self._cut, self._answers.setdefault(self._cut, {})
        asked = set(live().workers)
        for worker in asked:
            ask(worker, Cut(k))
        await self._news.wait_until(lambda: asked & set(live().workers) <= set(answers), CUT_SECONDS)
        del self._answers[k]
        return stats_of(self._blueprint, live(), answers, self._dead, self._clock.now() - self._began)

    def take(self, link: WorkerLink, message: Counts) -> None:
        """Counters of a worker."""
        link.counts = message.counts
        self._progress.take(message.counts)
        answers = self._answers.get(message.k)
        if answers is not None:
            answers[link.worker] = message.counts
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
