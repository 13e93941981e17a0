"""Where hooks, ticks and generators of a bolt run, beside what, and what one that raises costs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pasps import Bolt, Grouping, Topology, TopologyContext, Tuple, bolt
from pasps.testing import PAUSE, StepRun
from tests.unit.runtime.parts import Numbers, completed, rows
from tests.unit.runtime.ways import RAISED

TICKS = {"topology.tick.tuple.freq.secs": 1}


class Threads(Bolt):
    """Says on which thread each of its methods ran."""

    outputs = ["number"]
    execution = "thread"
    ran: dict[str, int] = {}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.note("initialize")

    def note(self, name: str) -> None:
        self.ran[name] = threading.get_ident()

    def activate(self) -> None:
        self.note("activate")

    def deactivate(self) -> None:
        self.note("deactivate")

    def close(self) -> None:
        self.note("close")

    def on_move_out(self) -> None:
        self.note("on_move_out")

    def process(self, tup: Tuple) -> None:
        self.note("process")
        self.emit(tup.values)

    def process_tick(self, tup: Tuple) -> None:
        self.note("process_tick")


def test_all_hooks_of_a_bolt_on_a_thread_run_on_that_thread() -> None:
    ran: dict[str, int] = {}

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Threads,), {"ran": ran}).spec(  # type: ignore[attr-defined]
            inputs={numbers: Grouping.fields("number")}, config={"topology.tick.tuple.freq.secs": 1}
        )

    with StepRun(Topo, 1, inputs={"numbers": rows(2)}) as run:
        run.run_to_end()
        run.advance(1.5)
    assert set(ran) == {"initialize", "activate", "process", "process_tick", "close"}
    assert len(set(ran.values())) == 1
    assert threading.get_ident() not in ran.values()


def test_a_task_that_leaves_its_worker_is_told_so_on_its_thread() -> None:
    ran: dict[str, int] = {}

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Threads,), {"ran": ran}).spec(  # type: ignore[attr-defined]
            inputs={numbers: Grouping.fields("number")}, par=1, pool=4, config={"topology.tick.tuple.freq.secs": None}
        )

    with StepRun(Topo, 2, inputs={"numbers": rows(40)}) as run:
        run.step()
        run.set_active("bolt", 4)
        run.run_to_end()
        done = run.emitted["bolt"]["default"]
    assert sorted(row[0] for row in done) == list(range(40))
    assert ran["on_move_out"] != threading.get_ident()


def test_a_generator_on_a_thread_runs_there() -> None:
    ran: list[int] = []

    @bolt(outputs=["number"], execution="thread")
    def work(number: int) -> Iterator[tuple[int]]:
        ran.append(threading.get_ident())
        yield (number,)

    assert len(completed(work, 2).rows("bolt")) == 2
    assert threading.get_ident() not in ran


def ticking(how: str, fault: str) -> Any:
    """A bolt whose every second tick raises, after it has emitted."""

    class Ticking(Bolt):
        outputs = ["number"]
        execution = "thread" if how == "thread" else "inline"
        ticks = 0

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values)

        def process_tick(self, tup: Tuple) -> None:
            self.ticks += 1
            self.emit([-self.ticks])
            if self.ticks % 2:
                RAISED[fault]()

    class Awaiting(Ticking):
        async def process(self, tup: Tuple) -> None:  # type: ignore[override]
            self.emit(tup.values)

        async def process_tick(self, tup: Tuple) -> None:  # type: ignore[override]
            await asyncio.sleep(0.01)
            super().process_tick(tup)

    return Awaiting if how == "async" else Ticking


@pytest.mark.parametrize("fault", RAISED)
@pytest.mark.parametrize("how", ["inline", "thread", "async"])
def test_a_tick_that_raises_sends_nothing_and_stops_nothing(how: str, fault: str) -> None:
    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = ticking(how, fault).spec(inputs=[numbers], config=TICKS)

    with StepRun(Topo, 1, inputs={"numbers": [[1], PAUSE(2.5), [2], PAUSE(2.0), [3]]}) as run:
        run.advance(5.5)
        assert [row[0] for row in run.emitted["bolt"]["default"]] == [1, -2, 2, -4, 3]
        told = run.journal.of("error")
    assert len(told) == 3
    assert all(report.component == "bolt" for report in told)


class OneAtATime(Bolt):
    """Notices when two of its methods run at once."""

    outputs = ["number"]
    overlaps: list[str] = []
    inside = ""

    async def alone(self, name: str) -> None:
        if self.inside:
            self.overlaps.append(f"{name} beside {self.inside}")
        self.inside = name
        await asyncio.sleep(0.4)
        self.inside = ""

    async def process(self, tup: Tuple) -> None:
        await self.alone("process")
        self.emit(tup.values)

    async def process_tick(self, tup: Tuple) -> None:
        await self.alone("process_tick")


def test_a_tick_never_runs_beside_process_while_tasks_move_between_replicas() -> None:
    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = OneAtATime.spec(inputs={numbers: Grouping.fields("number")}, par=1, pool=4, config=TICKS)

    OneAtATime.overlaps.clear()
    with StepRun(Topo, 1, inputs={"numbers": rows(60)}) as run:
        for step in range(30):
            run.advance(0.3)
            run.set_active("bolt", 1 + step % 4, wait=False)
        run.run_to_end()
        assert sorted(row[0] for row in run.emitted["bolt"]["default"]) == list(range(60))
    assert OneAtATime.overlaps == []


@pytest.mark.parametrize("fault", RAISED)
@pytest.mark.parametrize("hook", ["activate", "deactivate", "close"])
@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_a_hook_that_raises_is_told_and_stops_nothing(execution: str, hook: str, fault: str) -> None:
    def raises(self: Bolt) -> None:
        RAISED[fault]()

    class Passes(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values)

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Passes,), {"execution": execution, hook: raises}).spec(  # type: ignore[attr-defined]
            inputs=[numbers], par=2, pool=2
        )

    run = StepRun(Topo, 1, inputs={"numbers": rows(4)})
    run.run_to_end()
    run.set_active("bolt", 1)
    run.set_active("bolt", 2)
    run.run_until_idle()
    assert len(run.emitted["bolt"]["default"]) == 4
    run.close()
    told = run.journal.of("error")
    assert len(told) == {"activate": 3, "deactivate": 1, "close": 2}[hook]
    assert {report.component for report in told} == {"bolt"}


class Hides(Bolt):
    """Raises when one of its methods is looked up."""

    outputs = ["number"]
    hidden = ""

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)

    def process_tick(self, tup: Tuple) -> None: ...

    def finish(self) -> None: ...

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "hidden"):
            raise ValueError(f"no {name}")
        return object.__getattribute__(self, name)


class HidesAwaited(Hides):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.emit(tup.values)


@pytest.mark.parametrize("name", ["process", "process_tick", "finish", "activate", "deactivate", "close"])
@pytest.mark.parametrize("how", ["inline", "thread", "async"])
def test_a_method_that_cannot_be_looked_up_fails_as_one_that_raises(how: str, name: str) -> None:
    members = {"hidden": name, "execution": "inline" if how == "async" else how}

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (HidesAwaited if how == "async" else Hides,), members).spec(  # type: ignore[attr-defined]
            inputs=[numbers], par=2, pool=2, config=TICKS
        )

    run = StepRun(Topo, 1, inputs={"numbers": [*rows(4), PAUSE(1.5)]})
    run.run_to_end()
    run.set_active("bolt", 1)
    run.run_until_idle()
    failed = name == "process"
    assert sorted(run.verdicts.failed["numbers"]) == ([0, 1, 2, 3] if failed else [])
    assert len(run.emitted.get("bolt", {}).get("default", [])) == (0 if failed else 4)
    run.close()
    told = run.journal.of("error")
    assert told
    assert all(f"ValueError: no {name}" in report.text for report in told)


@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_nothing_is_called_behind_close(execution: str) -> None:
    called: list[str] = []

    class Notes(Bolt):
        def process(self, tup: Tuple) -> None:
            called.append("process")

        def process_tick(self, tup: Tuple) -> None:
            called.append("process_tick")

        def close(self) -> None:
            called.append("close")

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Notes,), {"execution": execution}).spec(inputs=[numbers], config=TICKS)  # type: ignore[attr-defined]

    run = StepRun(Topo, 1, inputs={"numbers": rows(500)})
    run.step()
    (worker,) = run.workers.values()
    worker.close()
    run.clock.advance_to(run.clock.peek() + 5.0)
    while worker.step():
        pass
    assert called[-1] == "close"
    assert called.count("close") == 1
