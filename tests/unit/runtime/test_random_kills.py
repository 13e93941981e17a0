"""Workers die at random, most often in the middle of a move, come back, and get their replicas again.

At least once, and no count goes back without a death of whoever had it.
"""

from __future__ import annotations

from random import Random

import pytest

from pasps import Bolt
from pasps.testing import StepOptions, StepRun
from tests.unit.runtime.pipeline import AsyncCount, Count, NeverBack, Watch, pipeline

TOTAL = 700
KILLS = 4


class Story:
    """One run: changes, kills and restarts as the seed has it."""

    def __init__(self, run: StepRun, seed: int) -> None:
        self.run = run
        self.random = Random(seed)
        self.watch, self.never_back = Watch(run), NeverBack(run)
        self.dead: list[str] = []
        self.kills = 0

    def step(self) -> None:
        self.watch.step()
        self.never_back.look()

    def moving(self) -> bool:
        return any(worker.moves.departures or worker.moves.arrivals for worker in self.run.workers.values())

    def change(self) -> None:
        bolt = self.random.choice(["same", "stamp", "count", "count", "last"])
        self.run.set_active(bolt, self.random.randint(1, self.run.blueprint.components[bolt].pool), wait=False)
        for _ in range(self.random.randrange(14)):
            self.step()

    def kill(self) -> None:
        for _ in range(60):
            if self.moving():
                break
            self.step()
        for _ in range(self.random.randrange(5)):
            self.step()
        victim = self.random.choice(sorted(self.run.workers))
        self.run.kill(victim)
        self.dead.append(victim)
        self.kills += 1

    def tell(self) -> None:
        for _ in range(25):
            self.change()
            if self.kills < KILLS and len(self.run.workers) > 1 and self.random.random() < 0.4:
                self.kill()
            if self.dead and self.random.random() < 0.4:
                self.run.restart(self.dead.pop(0))
        while not (self.run.finished() and self.run.controller.settled()):
            assert self.run.steps < 20_000, f"left: {self.run.left()}"
            for _ in range(20):
                self.step()
            if not self.run.finished() and not self.run.busy():
                self.run.clock.advance(0.02)  # spouts that had nothing to do ask again; less than any time-out


def tell(seed: int, kind: type[Bolt]) -> None:
    options = StepOptions(seed=seed, delays=True, creep=2e-5)
    with StepRun(pipeline(kind), 3, inputs={"numbers": [[i] for i in range(TOTAL)]}, options=options) as run:
        start = run.clock.peek()
        story = Story(run, seed)
        story.tell()
        assert {row[1] for row in run.emitted["sink"]["default"]} == set(range(TOTAL))
        assert set(run.verdicts.acked["numbers"]) == set(range(TOTAL))
        assert run.journal.of("error") == []
        assert run.clock.peek() - start < 30, "something waited for the message time-out"
        counts = run.counts()["numbers"]
        if not run.verdicts.failed["numbers"] and not story.kills:
            assert counts.replayed == 0
        assert counts.emitted - counts.replayed >= TOTAL


@pytest.mark.parametrize("seed", range(8))
def test_killed_workers_lose_nothing_that_is_tracked(seed: int) -> None:
    tell(seed, Count)


@pytest.mark.parametrize("seed", [4, 12, 13, 19])
def test_killed_workers_with_async_bolts(seed: int) -> None:
    tell(seed, AsyncCount)


@pytest.mark.parametrize(("seed", "kind"), [(68, Count), (99, AsyncCount)])
def test_credit_at_a_host_before_the_last_is_given_up_with_it(seed: int, kind: type[Bolt]) -> None:
    """Tuples that wait at an old host die with it; the credit that they held was never given back, and senders stood still."""
    tell(seed, kind)
