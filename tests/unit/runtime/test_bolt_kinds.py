"""The ways to write a bolt give the same tuples: functions, classes, batches, async, threads; one, none and several outputs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pasps import BatchBolt, Bolt, FunctionBolt, StatefulFunction, Topology, TopologyBuilder, Tuple, bolt
from pasps.testing import CompletedTopology, StepRun, complete_topology
from tests.unit.runtime.parts import Numbers, add_one, only_even, rows

COUNT = 60


class AddOne(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.values.number + 1])


class AsyncAddOne(Bolt):
    outputs = ["number"]

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0.01)
        self.emit([tup[0] + 1])


class ThreadAddOne(AddOne):
    execution = "thread"


class BatchAddOne(BatchBolt):
    outputs = ["number"]

    def process_batch(self, tuples: list[Tuple]) -> Sequence[Any]:
        return [(tup[0] + 1,) for tup in tuples]


class BatchEmits(BatchBolt):
    outputs = ["number"]

    def process_batch(self, tuples: list[Tuple]) -> None:
        for tup in tuples:
            self.emit([tup[0] + 1], anchors=[tup])


class AsyncBatch(BatchBolt):
    outputs = ["number"]

    async def process_batch(self, tuples: list[Tuple]) -> Sequence[Any]:
        await asyncio.sleep(0)
        return [(tup[0] + 1,) for tup in tuples]


class ThreadBatch(BatchAddOne):
    execution = "thread"


@bolt(outputs=["number"], batch=True)
def batch_add_one(found: list[tuple[int]]) -> list[tuple[int]]:
    return [(number + 1,) for (number,) in found]


@bolt(outputs=["number"])
async def async_add_one(number: int) -> tuple[int]:
    await asyncio.sleep(0.001)
    return (number + 1,)


@bolt(outputs=["number"], execution="thread")
def thread_add_one(number: int) -> tuple[int]:
    assert threading.current_thread() is not threading.main_thread()
    return (number + 1,)


@bolt(outputs=["number"], columns=True)
def column_add_one(numbers: list[int]) -> list[list[int]]:
    return [[number + 1 for number in numbers]]


@bolt(outputs=["number"], columns="numpy")
def array_add_one(numbers: Any) -> Any:
    return numbers + 1


@bolt(outputs=["number"], columns="numpy", execution="thread")
def thread_array_add_one(numbers: Any) -> Any:
    assert threading.current_thread() is not threading.main_thread()
    return numbers + 1


@bolt(outputs=["number"], columns=True)
async def async_column_add_one(numbers: list[int]) -> tuple[list[int]]:
    await asyncio.sleep(0.001)
    return ([number + 1 for number in numbers],)


class StatefulAddOne(StatefulFunction):
    outputs = ["number"]

    def __call__(self, number: int) -> Any:
        return (number + 1,)


class StatefulAddOneBare(StatefulFunction):
    outputs = ["number"]

    def __call__(self, number: int) -> int:
        return number + 1


class AsyncStatefulAddOne(StatefulAddOne):
    async def __call__(self, number: int) -> tuple[int]:  # type: ignore[override]
        await asyncio.sleep(0.01)
        return (number + 1,)


class ThreadStatefulAddOne(StatefulAddOne):
    execution = "thread"

    def __call__(self, number: int) -> int:
        assert threading.current_thread() is not threading.main_thread()
        return number + 1


@bolt(outputs=["number"])
def twice(number: int) -> Iterator[tuple[int]]:
    yield (number,)
    yield (number,)


@bolt(outputs=["number"])
def as_many(number: int) -> list[tuple[int]]:
    return [(number,)] * (number % 4)


def completed(kind: Any, workers: int = 1, tracked: bool = True, **options: Any) -> CompletedTopology:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", kind, 2).shuffle_grouping("numbers")
    builder.set_bolt("after", add_one).load_aware_grouping("bolt")
    return complete_topology(builder.create_topology("kinds"), {"numbers": rows(COUNT)}, workers=workers, tracked=tracked, **options)


KINDS: list[Any] = [
    *(add_one, batch_add_one, async_add_one, thread_add_one),
    *(AddOne, AsyncAddOne, ThreadAddOne, BatchAddOne, BatchEmits, AsyncBatch, ThreadBatch),
    *(column_add_one, array_add_one, thread_array_add_one, async_column_add_one),
    *(StatefulAddOne, StatefulAddOneBare, AsyncStatefulAddOne, ThreadStatefulAddOne),
]


def name_of(kind: type[Bolt] | FunctionBolt[..., Any]) -> str:
    return str(getattr(kind, "__name__", kind))


@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_one_output_for_each_input(kind: Any, workers: int, tracked: bool) -> None:
    result = completed(kind, workers, tracked)
    assert result.errors == []
    assert sorted(result.rows("bolt")) == [(i + 1,) for i in range(COUNT)]
    assert sorted(result.rows("after")) == [(i + 2,) for i in range(COUNT)]
    assert sorted(result.acked["numbers"]) == (list(range(COUNT)) if tracked else [])


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (only_even, list(range(0, COUNT, 2))),
        (twice, sorted([*range(COUNT), *range(COUNT)])),
        (as_many, [i for i in range(COUNT) for _ in range(i % 4)]),
    ],
    ids=["filter", "generator", "list"],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_no_output_and_several(kind: Any, wanted: list[int], workers: int) -> None:
    result = completed(kind, workers)
    assert sorted(number for (number,) in result.rows("bolt")) == wanted
    assert sorted(number - 1 for (number,) in result.rows("after")) == wanted
    assert sorted(result.acked["numbers"]) == list(range(COUNT))


class Meeting(Bolt):
    """Counts how many of its calls are under way at once."""

    outputs = ["most"]
    concurrency = 3

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.now = self.most = 0

    async def process(self, tup: Tuple) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(1)
        self.now -= 1
        self.emit([self.most])


@pytest.mark.parametrize("concurrency", [1, 3])
def test_async_bolts_have_as_many_calls_under_way_as_they_ask_for(concurrency: int) -> None:
    class Limited(Meeting):
        pass

    Limited.concurrency = concurrency

    class Meet(Topology):
        numbers = Numbers.spec()
        meet = Limited.spec(inputs=[numbers])

    result = complete_topology(Meet, {"numbers": rows(9)})
    assert max(most for (most,) in result.rows("meet")) == concurrency
    assert result.seconds == pytest.approx(9 / concurrency)


class Waits(Bolt):
    """Blocks its thread until the test lets it go."""

    execution = "thread"
    gate: threading.Event

    def process(self, tup: Tuple) -> None:
        assert self.gate.wait(10)


def test_a_blocking_thread_bolt_does_not_stop_the_worker() -> None:
    Waits.gate = threading.Event()

    class Blocked(Topology):
        numbers = Numbers.spec()
        waits = Waits.spec(inputs=[numbers])
        quick = add_one.spec(inputs=[numbers])

    with StepRun(Blocked, 1, inputs={"numbers": rows(3)}) as run:
        for _ in range(50):
            run.step()
        assert len(run.emitted["quick"]["default"]) == 3
        assert run.verdicts.acked["numbers"] == []
        Waits.gate.set()
        run.run_to_end()
        assert sorted(run.verdicts.acked["numbers"]) == [0, 1, 2]
