"""Replicas go on and off at random while tuples flow, links are slow at random, workers learn of tables at different times."""

from __future__ import annotations

from random import Random

import pytest

from pasps import Bolt, StatefulFunction
from pasps.testing import StepOptions, StepRun
from tests.unit.runtime.pipeline import AsyncCount, Count, StatefulCount, ThreadCount, Watch, check_counts, pipeline, step_until

TOTAL = 1200
CHANGES = 50


def run_with_changes(seed: int, kind: type[Bolt | StatefulFunction], workers: int, tracked: bool, total: int = TOTAL) -> None:
    random = Random(seed)
    options = StepOptions(tracked=tracked, seed=seed, delays=True, creep=2e-5)
    with StepRun(pipeline(kind), workers, inputs={"numbers": [[i] for i in range(total)]}, options=options) as run:
        watch = Watch(run)
        for _ in range(CHANGES):
            for _ in range(random.randrange(12)):
                watch.step()
            bolt = random.choice(["same", "stamp", "count", "last", "sink"])
            run.set_active(bolt, random.randint(1, run.blueprint.components[bolt].pool), wait=False)
        step_until(run, watch, lambda: run.finished() and run.controller.settled())
        assert run.controller.table.version == CHANGES + 1
        assert run.journal.of("link_lost") == []
        assert run.journal.of("parked")
        check_counts(run, total)
        if tracked:
            assert sorted(run.verdicts.acked["numbers"]) == list(range(total))


@pytest.mark.parametrize("seed", range(6))
def test_fifty_changes_lose_double_and_reorder_nothing(seed: int) -> None:
    run_with_changes(seed, Count, workers=1 + seed % 3, tracked=seed % 2 == 0)


@pytest.mark.parametrize("seed", range(6, 9))
def test_fifty_changes_of_async_bolts(seed: int) -> None:
    run_with_changes(seed, AsyncCount, workers=1 + seed % 3, tracked=True)


@pytest.mark.parametrize("seed", [10, 11])
def test_fifty_changes_of_stateful_functions(seed: int) -> None:
    run_with_changes(seed, StatefulCount, workers=3, tracked=True)


def test_fifty_changes_of_thread_bolts() -> None:
    run_with_changes(9, ThreadCount, workers=3, tracked=True, total=300)


@pytest.mark.parametrize("seed", [44, 101])
def test_rows_that_waited_for_credit_stay_behind_the_mark_when_they_are_routed_anew(seed: int) -> None:
    """They were once sent ahead of the MARK of the table that routed them, so the new host passed them back, past older ones."""
    run_with_changes(seed, AsyncCount, workers=3, tracked=True)
