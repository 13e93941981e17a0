"""A slow bolt slows its spouts: no inbox holds more than its window, whatever the shape, and nothing locks up."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from pasps import Bolt, Grouping, Spout, Topology, Tuple, bolt
from pasps.errors import EndOfInput
from pasps.testing import StepOptions, StepRun
from tests.unit.runtime.parts import Forward, add_one

SIZE = 60
CONFIG = {"topology.executor.receive.buffer.size": SIZE}
TOTAL = 600


class Endless(Spout):
    """Emits as much as it is asked for; counts it."""

    outputs = ["number"]
    most = TOTAL
    tracked = True

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.sent = 0

    def next_tuple(self) -> float | None:
        if self.sent >= self.most:
            raise EndOfInput
        batch = range(self.sent, min(self.most, self.sent + 50))
        self.emit_batch([(i,) for i in batch], list(batch) if self.tracked else None)
        self.sent += 50
        return None


@bolt(outputs=["number"])
def thousand(number: int) -> Iterator[tuple[int]]:
    return ((i,) for i in range(1000))


class Join(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup["number"]])


class Chain(Topology):
    config = CONFIG
    numbers = Endless.spec()
    one = add_one.spec(inputs=[numbers], par=2)
    two = Forward.spec(inputs={one: Grouping.SHUFFLE}, par=2)
    three = Join.spec(inputs={two: Grouping.fields("number")}, par=2, pool=6)


class Diamond(Topology):
    config = CONFIG
    numbers = Endless.spec(par=2)
    left = Forward.spec(inputs={numbers: Grouping.ALL}, par=2)
    right = Forward.spec(inputs=[numbers], par=2)
    join = Join.spec(inputs={left: Grouping.fields("number"), right: Grouping.fields("number")}, par=2, pool=5)


def most_in_inboxes(run: StepRun) -> dict[str, float]:
    """For each replica that takes from it."""
    found: dict[str, float] = {}
    for worker in run.workers.values():
        for executor in worker.residents.executors.values():
            inbox = executor.inbox
            found[executor.plan.id] = max(found.get(executor.plan.id, 0), inbox.count / max(1, len(inbox.takers)))
    return found


def run_bounded(topology: type[Topology], workers: int, bounds: dict[str, int], most_steps: int = 60_000, **options: Any) -> StepRun:
    """Step to the end and look at every inbox after every step."""
    run = StepRun(topology, workers, options=StepOptions(delays=workers > 1, seed=workers, **options))
    with run:
        for _ in range(most_steps):
            run.step()
            for component, count in most_in_inboxes(run).items():
                assert count <= bounds[component], f"{component} has {count} in an inbox of {bounds[component]}"
            if run.finished():
                return run
            if not run.busy():
                run.clock.advance(0.02)
        raise AssertionError(f"locked up; left: {run.left()}")


def keyed_bound(workers: int, pool: int, active: int) -> int:
    """Of a replica with several tasks: each sender's window at each task is a share of the replica's."""
    share = max(1, min(SIZE // workers, 64), SIZE // workers * active // pool)
    return share * workers * -(-pool // active)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_chains_stay_within_their_windows(workers: int) -> None:
    bounds = {"one": SIZE, "two": SIZE, "three": keyed_bound(workers, 6, 2)}
    run = run_bounded(Chain, workers, bounds, creep=1e-4)
    assert sorted(run.verdicts.acked["numbers"]) == list(range(TOTAL))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_diamonds_stay_within_their_windows(workers: int) -> None:
    bounds = {"left": SIZE, "right": SIZE, "join": keyed_bound(workers, 5, 2)}
    run = run_bounded(Diamond, workers, bounds, creep=1e-4)
    assert len(run.verdicts.acked["numbers"]) == 2 * TOTAL
    assert len(run.emitted["join"]["default"]) == 2 * TOTAL * 3


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("tracked", [True, False])
def test_fan_out_of_a_thousand_stays_within_its_windows(workers: int, tracked: bool) -> None:
    class Few(Endless):
        most = 50

    Few.tracked = tracked

    class FanOut(Topology):
        config = CONFIG
        numbers = Few.spec()
        many = thousand.spec(inputs=[numbers])
        sink = add_one.spec(inputs=[many], par=2)

    run = run_bounded(FanOut, workers, {"many": SIZE, "sink": SIZE})
    assert run.counts()["sink"].executed == 50_000
    assert sorted(run.verdicts.acked["numbers"]) == (list(range(50)) if tracked else [])


class Stuck(Bolt):
    """Takes nothing in: its thread never ends a call."""

    auto_ack = False
    concurrency = 1

    async def process(self, tup: Tuple) -> None:
        await Stuck.gate.wait()

    gate: Any


class _Gate:
    """Never opens."""

    async def wait(self) -> None:
        while True:
            await _pass()


class _pass:  # noqa: N801 - awaited like a function
    def __await__(self) -> Generator[None, None, None]:
        yield


def test_a_spout_without_end_stops_when_nothing_is_taken() -> None:
    Stuck.gate = _Gate()

    class Blocked(Topology):
        config = CONFIG
        numbers = Endless.spec()
        one = add_one.spec(inputs=[numbers])
        stuck = Stuck.spec(inputs=[one])

    with StepRun(Blocked, 2) as run:
        for _ in range(300):
            run.step()
            assert all(count <= SIZE for count in most_in_inboxes(run).values())
        spouts = [spout for worker in run.workers.values() for spout in worker.residents.spouts.values()]
        assert spouts[0].instance.sent < 4 * SIZE + 2 * 512
