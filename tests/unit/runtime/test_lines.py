"""Lines of quick bolts in one worker: each tuple passes each once, and what it costs is counted where it is spent."""

from __future__ import annotations

from typing import Any

import pytest

from pasps import Bolt, Grouping, Spout, Topology, Tuple, bolt
from pasps.metrics import ReplicaCounts
from pasps.runtime.snapshot import take_counts
from pasps.testing import StepOptions, StepRun

TOTAL = 3000
CREEP = 1e-6


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> float | None:
        return None


@bolt(outputs=["number"])
def plus_one(number: int) -> tuple[int]:
    return (number + 1,)


@bolt(outputs=["number"])
def picky(number: int) -> tuple[int]:
    if number % 7 == 0:
        raise ValueError(number)
    return (number,)


class Double(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup[0]])
        self.emit([tup[0]])


class Slow(Bolt):
    """Takes 5 ms a tuple by the run's clock."""

    outputs = ["number"]
    clock: Any = None

    def process(self, tup: Tuple) -> None:
        Slow.clock.advance(0.005)
        self.emit([tup[0]])


class Ticking(Bolt):
    outputs = ["number"]
    config = {"topology.tick.tuple.freq.secs": 1}

    def process(self, tup: Tuple) -> None:
        self.emit([tup[0]])

    def process_tick(self, tup: Tuple) -> None:
        self.emit([-1])


class Line(Topology):
    numbers = Numbers.spec()
    one = plus_one.spec(inputs=[numbers])
    two = picky.spec(inputs=[one])
    three = Double.spec(inputs=[two], pool=4)
    four = plus_one.spec(inputs=[three], pool=4)


def rows(count: int = TOTAL) -> list[Any]:
    return [[number] for number in range(count)]


def counted(run: StepRun, component: str) -> list[ReplicaCounts]:
    return [replica for worker in run.workers.values() for replica in take_counts(worker, 1).replicas if replica.component == component]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("tracked", [True, False])
def test_each_tuple_passes_every_bolt_once_and_each_failure_costs_its_own(workers: int, tracked: bool) -> None:
    options = StepOptions(tracked=tracked, creep=CREEP)
    with StepRun(Line, workers, inputs={"numbers": rows()}, options=options) as run:
        run.run_to_end()
        good = [n + 1 for n in range(TOTAL) if (n + 1) % 7]
        assert sorted(row[0] for row in run.emitted["four"]["default"]) == sorted(2 * [n + 1 for n in good])
        counts = run.counts()
        assert (counts["two"].executed, counts["two"].failed, counts["two"].errors) == (TOTAL, TOTAL - len(good), TOTAL - len(good))
        assert (counts["three"].acked, counts["four"].acked) == (len(good), 2 * len(good))
        for name in ("one", "two", "three", "four"):
            found = counted(run, name)
            assert sum(sum(replica.received.values()) for replica in found) == sum(sum(replica.executed.values()) for replica in found)
        if tracked:
            assert sorted(run.verdicts.acked["numbers"]) == [n for n in range(TOTAL) if (n + 1) % 7]
            assert sorted(run.verdicts.failed["numbers"]) == [n for n in range(TOTAL) if (n + 1) % 7 == 0]


def test_time_is_counted_where_it_is_spent() -> None:
    with StepRun(Line, 1, inputs={"numbers": rows()}, options=StepOptions(creep=CREEP)) as run:
        began = run.clock.peek()
        run.run_to_end()
        seconds = {name: sum(replica.seconds for replica in counted(run, name)) for name in ("one", "two", "three", "four")}
        assert all(share > 0 for share in seconds.values())
        assert sum(seconds.values()) <= run.clock.peek() - began


def test_what_a_slow_bolt_takes_is_not_counted_for_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Behind(Topology):
        numbers = Numbers.spec()
        one = plus_one.spec(inputs=[numbers])
        slow = Slow.spec(inputs=[one])

    with StepRun(Behind, 1, inputs={"numbers": rows(100)}, options=StepOptions(creep=CREEP)) as run:
        monkeypatch.setattr(Slow, "clock", run.clock)
        run.run_to_end()
        (one,) = counted(run, "one")
        assert one.seconds < 0.005
        assert sorted(run.verdicts.acked["numbers"]) == list(range(100))


def test_ticks_come_between_batches() -> None:
    class Ticks(Topology):
        numbers = Numbers.spec()
        one = plus_one.spec(inputs=[numbers])
        ticking = Ticking.spec(inputs=[one])
        last = plus_one.spec(inputs={ticking: Grouping.LOAD_AWARE})

    with StepRun(Ticks, 1, inputs={"numbers": rows()}, options=StepOptions(creep=1e-4)) as run:
        run.run_to_end()
        run.advance(2.5)
        out = [row[0] for row in run.emitted["last"]["default"]]
        assert out.count(0) >= 2
        assert sorted(n for n in out if n) == [n + 2 for n in range(TOTAL)]


def test_a_line_of_very_many_bolts_runs() -> None:
    classes: dict[str, Any] = {"numbers": Numbers.spec()}
    before = classes["numbers"]
    for place in range(120):
        before = classes[f"bolt{place}"] = plus_one.spec(inputs=[before])
    with StepRun(type("Long", (Topology,), classes), 1, inputs={"numbers": rows(200)}, options=StepOptions(creep=CREEP)) as run:
        run.run_to_end()
        assert sorted(row[0] for row in run.emitted["bolt119"]["default"]) == [n + 120 for n in range(200)]
        assert run.journal.of("error") == []
