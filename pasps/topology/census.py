"""Cuts: asks all workers for their counters at once, and keeps what the dead had counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint
from pasps.clock import Clock
from pasps.control.news import News
from pasps.control.statistics import latencies, stats_of
from pasps.metrics import RECENT_SECONDS, Histogram, Stats, WorkerCounts
from pasps.topology.worker_link import WorkerLink
from pasps.worker.messages import Counts, Cut

CUT_SECONDS = 2.0
_NOTE_SECONDS = 1.0
"""Pace at which all latencies so far are noted. Workers tell their counters about as often, asked for or not."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A worker's counters, and when they came."""

    counts: WorkerCounts
    at: float


class Census:
    """One for each topology. `take` is given every `Counts` that comes, asked for or not."""

    def __init__(self, blueprint: Blueprint, clock: Clock, positions: Mapping[int, bytes] | None = None) -> None:
        """`positions`: where the spout tasks were when another controller ended."""
        self._blueprint = blueprint
        self._clock = clock
        self._began = clock.now()
        self._cut = 0
        self._answers: dict[int, dict[str, _Answer]] = {}
        self._asked: dict[int, set[str]] = {}
        """By cut: the workers that were asked and have not died since."""
        self._dead: WorkerCounts | None = None
        """All that have ended, added up: workers may be started anew every minute."""
        self._living: dict[str, WorkerCounts] = {}
        self._noted: deque[tuple[float, Histogram]] = deque()
        self._news = News()
        self.positions = dict(positions or {})
        """What each spout task saved last, packed: where it goes on when its worker dies."""
        self.spouts = [name for name, plan in blueprint.components.items() if plan.is_spout]
        self.spout_tasks = [task for name in self.spouts for task in blueprint.components[name].tasks]

    async def stats(self, live: Callable[[], ActivationTable], ask: Callable[[str, Cut], None]) -> Stats:
        """One consistent cut. `live` gives the newest table; who dies meanwhile is not waited for, and counts as dead.

        Its time is when the last worker that has a spout answered, so that a bolt that held up its worker does not make what
        became due look late.
        """
        self._cut += 1
        k, answers = self._cut, self._answers.setdefault(self._cut, {})
        asked = self._asked[k] = set(live().workers)
        try:
            for worker in asked:
                ask(worker, Cut(k))
            await self._news.wait_until(lambda: asked & set(live().workers) <= set(answers), CUT_SECONDS)
        finally:  # whoever asked may have been cancelled
            del self._answers[k], self._asked[k]
        table = live()
        alive = {worker: answer for worker, answer in answers.items() if table.workers.get(worker) == answer.counts.incarnation}
        at = max((a.at for a in alive.values() if any(r.component in self.spouts for r in a.counts.replicas)), default=self._clock.now())
        living = {worker: answer.counts for worker, answer in alive.items()}
        # a worker that is busy with a call for so long: what it told last stays counted, and the snapshot is not complete
        late = [c for worker, c in self._living.items() if worker not in living and table.workers.get(worker) == c.incarnation]
        past = [*self._past(), *late]
        return stats_of(self._blueprint, table, living, past, at - self._began, self._latencies_before(at - RECENT_SECONDS))

    def take(self, link: WorkerLink, message: Counts) -> None:
        """Counters of a worker."""
        link.counts = message.counts
        self._living[link.worker] = message.counts
        self.positions |= message.counts.positions
        self._note(self._clock.now())
        answers = self._answers.get(message.k)
        if answers is not None:
            answers[link.worker] = _Answer(message.counts, self._clock.now())
            if self._asked[message.k] <= answers.keys():  # who waits has nothing to do before the last of them
                self._news.tell()

    def bury(self, link: WorkerLink) -> None:
        """A worker is gone: what it had counted last stays counted."""
        for asked in self._asked.values():  # nobody waits for its answer
            asked.discard(link.worker)
        if link.counts is not None:
            link.counts.died()
            if self._dead is not None:
                link.counts.follow(self._dead)
            self._dead = link.counts
            # else its next incarnation has told something by now
            if self._living.get(link.worker) is link.counts:
                del self._living[link.worker]
        self._news.tell()

    def under_way(self, links: Iterable[WorkerLink], table: ActivationTable) -> tuple[int, int]:
        """By what these workers told last: tracked events in flight, and tuples on their way or in somebody's hands."""
        living = {link.worker: link.counts for link in links if link.counts is not None}
        stats = stats_of(self._blueprint, table, living, (), 0.0)
        return stats.pending, sum(component.queued for component in stats.components.values())

    def _past(self) -> list[WorkerCounts]:
        return [] if self._dead is None else [self._dead]

    def _note(self, now: float) -> None:
        if self._noted and now < self._noted[-1][0] + _NOTE_SECONDS:
            return
        self._noted.append((now, latencies((*self._living.values(), *self._past()))))
        while len(self._noted) > 1 and self._noted[1][0] <= now - RECENT_SECONDS:
            self._noted.popleft()

    def _latencies_before(self, moment: float) -> Histogram | None:
        """All latencies as they were known then; None: nothing was known yet."""
        return next((histogram for at, histogram in reversed(self._noted) if at <= moment), None)
