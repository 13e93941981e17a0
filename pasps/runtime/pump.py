"""The order of work in a worker: executors that asked for a turn, in topological order, a few milliseconds at a time."""

from __future__ import annotations

from pasps.clock import Clock
from pasps.runtime.executor import Executor


class Pump:
    """Executors by rank. A pass that runs out of time goes on where it stopped, so that nobody at the end starves."""

    __slots__ = ("_clock", "_pass_seconds", "_rank", "_ready", "stepped")

    def __init__(self, ranks: int, clock: Clock, pass_seconds: float) -> None:
        self._ready: list[list[Executor]] = [[] for _ in range(ranks)]
        self._rank = 0
        self._clock = clock
        self._pass_seconds = pass_seconds
        self.stepped: set[Executor] = set()
        """Who had a turn since somebody last emptied this; for whoever reports on executors."""

    def schedule(self, executor: Executor) -> None:
        """Give the executor a turn."""
        self._ready[executor.rank].append(executor)

    def has_work(self) -> bool:
        """Whether anyone asked for a turn."""
        return any(self._ready)

    def run_pass(self) -> None:
        """One turn for everyone who asked, those included whom an earlier one woke further down."""
        now, cpu = self._clock.now, self._clock.cpu
        time, spent = now(), cpu()
        end = time + self._pass_seconds
        ready = self._ready
        for rank in range(self._rank, len(ready)):
            if not ready[rank]:
                continue
            turns, ready[rank] = ready[rank], []
            for done, executor in enumerate(turns, 1):
                executor.queued = False
                awake = None
                if executor.blocking.watching:
                    # what this takes, and a wait for a core meanwhile, is no part of the step
                    awake, time, spent = self._clock.awake(), now(), cpu()
                executor.step()
                # asked once a step: reading a thread's CPU time is a system call
                before, spent = spent, cpu()
                began, time = time, now()
                executor.used(spent - before, time - began, None if awake is None else (self._clock.awake() or awake) - awake)
                self.stepped.add(executor)
                if time > end and done < len(turns):
                    ready[rank][:0] = turns[done:]
                    self._rank = rank
                    return
            if time > end:
                self._rank = rank + 1
                return
        self._rank = 0
