"""A replica that hangs holds nobody up once it is put out, and nothing runs behind a close."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, Tuple
from pasps.testing import StepOptions, StepRun

NUMBERS = 400


class Numbers(Spout):
    outputs = ("number",)

    def initialize(self, conf: Mapping[str, Any], ctx: Any) -> None:
        self.emitted = 0

    def next_tuple(self) -> float:
        if self.emitted >= NUMBERS:
            raise EndOfInput
        self.emit([self.emitted])
        self.emitted += 1
        return 0.01


class Hanging(Bolt):
    """Its second replica takes one tuple and is stuck."""

    released = asyncio.Event()

    def initialize(self, conf: Mapping[str, Any], ctx: Any) -> None:
        self.index = ctx.task_index

    async def process(self, tup: Tuple) -> None:
        if self.index == 1:
            await self.released.wait()


class OneHangs(Topology):
    config = {"topology.executor.receive.buffer.size": 20, "pasps.shared.queues": False, "topology.acker.executors": 0}
    numbers = Numbers.spec()
    hanging = Hanging.spec(inputs={numbers: Grouping.SHUFFLE}, par=2, pool=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_who_waited_for_a_replica_that_hangs_goes_on_once_it_is_put_out(workers: int) -> None:
    Hanging.released = asyncio.Event()
    with StepRun(OneHangs, workers, options=StepOptions(seed=1, tracked=False)) as run:

        def emitted() -> int:
            return run.counts()["numbers"].emitted

        for _ in range(40):
            run.advance(0.25)
        assert emitted() < NUMBERS, "it waits for the one that hangs"
        run.set_active("hanging", 1, wait=False)
        for _ in range(40):
            run.advance(0.25)
        assert emitted() == NUMBERS
        Hanging.released.set()
        run.run_to_end()


class Ticking(Bolt):
    tick_seconds = 1
    calls: list[str] = []

    def process(self, tup: Tuple) -> None:
        """Nothing comes."""

    def process_tick(self, tup: Tuple) -> None:
        self.calls.append("tick")

    def close(self) -> None:
        self.calls.append("close")


class Quiet(Spout):
    outputs = ("number",)

    def next_tuple(self) -> float:
        return 1.0


class Ticks(Topology):
    config = {"topology.tick.tuple.freq.secs": 1}
    quiet = Quiet.spec()
    ticking = Ticking.spec(inputs=[quiet])


def test_nothing_runs_behind_a_close_though_spouts_are_stopped_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ticking, "calls", [])
    with StepRun(Ticks, 1, options=StepOptions(seed=1)) as run:
        run.advance(1.5)
        assert Ticking.calls == ["tick"]
        worker = run.workers["w0"]
        worker.close()
        worker.deactivate()
        run.clock.advance_to(run.clock.peek() + 3.0)
        worker.step()
        worker.step()
        assert Ticking.calls == ["tick", "close"]
