"""Ticks reach every task that works, drains or is alone; never a parked replica, never a task on its way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pasps import Bolt, Grouping, Topology, Tuple
from pasps.testing import PAUSE, StepRun, complete_topology
from tests.unit.runtime.parts import Numbers, rows

EVERY_SECOND = {"topology.tick.tuple.freq.secs": 1}


class Ticking(Bolt):
    """Emits a row at each tick; keeps its tuples open until it is told to let go."""

    outputs = ["replica", "ticks"]
    auto_ack = False
    config = EVERY_SECOND
    hold = False

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.ticks = 0
        self.kept: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.kept.append(tup)

    def process_tick(self, tup: Tuple) -> None:
        assert tup.is_tick()
        assert tup.values.seconds == 1
        self.ticks += 1
        self.emit([self.ctx.task_index, self.ticks])
        if not type(self).hold:
            for kept in self.kept:
                self.ack(kept)
            self.kept.clear()


class Quiet(Bolt):
    def process(self, tup: Tuple) -> None:
        return None


class Windows(Topology):
    numbers = Numbers.spec()
    ticking = Ticking.spec(inputs={numbers: Grouping.SHUFFLE}, par=2, pool=3)
    quiet = Quiet.spec(inputs=[ticking])


def one_by_one(rows: list[Any]) -> list[Any]:
    """So that replicas take turns: one takes all that waits."""
    return [each for row in rows for each in (row, PAUSE(0.01))]


def ticked(run: StepRun) -> list[tuple[Any, ...]]:
    return run.emitted.get("ticking", {}).get("default", [])


@pytest.mark.parametrize("workers", [1, 2])
def test_active_replicas_get_ticks_and_others_do_not(workers: int) -> None:
    with StepRun(Windows, workers, inputs={"numbers": [PAUSE(10)]}) as run:
        run.advance(3.5)
        assert sorted(ticked(run)) == [(replica, n) for replica in (0, 1) for n in (1, 2, 3)]
        run.set_active("ticking", 3)
        run.advance(1)
        assert (2, 1) in ticked(run)


@pytest.mark.parametrize("workers", [1, 2])
def test_draining_replicas_get_ticks_until_they_park(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ticking, "hold", True)
    with StepRun(Windows, workers, inputs={"numbers": [*one_by_one(rows(10)), PAUSE(30)]}) as run:
        run.advance(0.5)
        run.set_active("ticking", 1)
        run.advance(2.0)
        assert run.journal.of("parked") == [], "it has tuples that are neither acked nor failed"
        out = next(replica for replica in (0, 1) if replica not in run.controller.table.components["ticking"].active)
        assert [row for row in ticked(run) if row[0] == out] == [(out, 1), (out, 2)]
        monkeypatch.setattr(Ticking, "hold", False)
        run.advance(1)
        assert [(report.component, report.index) for report in run.journal.of("parked")] == [("ticking", out)]
        run.advance(3)
        assert [row for row in ticked(run) if row[0] == out][-1] == (out, 3)
        assert sorted(run.verdicts.acked["numbers"]) == list(range(10))


class Failing(Bolt):
    config = EVERY_SECOND

    def process(self, tup: Tuple) -> None:
        return None

    def process_tick(self, tup: Tuple) -> None:
        raise LookupError("at a tick")


def test_a_tick_that_raises_is_reported_and_nothing_fails() -> None:
    class Raises(Topology):
        numbers = Numbers.spec()
        failing = Failing.spec(inputs=[numbers])

    result = complete_topology(Raises, {"numbers": [*rows(3), PAUSE(2.5), [3]]})
    assert len(result.errors) == 2
    assert "LookupError: at a tick" in result.errors[0].text
    assert sorted(result.acked["numbers"]) == [0, 1, 2, 3]


class AsyncTick(Bolt):
    """Says whether a tick and a tuple are ever under way at once."""

    outputs = ["together"]
    config = EVERY_SECOND

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.inside = 0

    async def process(self, tup: Tuple) -> None:
        self.inside += 1
        await asyncio.sleep(1.5)
        self.emit([self.inside])
        self.inside -= 1

    async def process_tick(self, tup: Tuple) -> None:
        self.inside += 1
        await asyncio.sleep(0.1)
        self.emit([self.inside])
        self.inside -= 1


def test_an_async_bolt_gets_its_tick_between_two_tuples() -> None:
    class Alone(Topology):
        numbers = Numbers.spec()
        tick = AsyncTick.spec(inputs=[numbers])
        quiet = Quiet.spec(inputs=[tick])

    result = complete_topology(Alone, {"numbers": rows(4)})
    assert len(result.rows("tick")) > 4
    assert {together for (together,) in result.rows("tick")} == {1}
