"""Stateful functions: what they return, and when it is read; ticks and the end; a state for each task."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pasps import Grouping, StatefulFunction, Topology, TopologyBuilder, TopologyContext, Tuple
from pasps.errors import EmitError
from pasps.testing import PAUSE, CompletedTopology, complete_topology
from tests.unit.runtime.parts import Numbers, rows

EVERY_SECOND = {"topology.tick.tuple.freq.secs": 1}
COUNT = 40
"""More than a chunk."""


def completed(kind: Any, inputs: list[Any], **options: Any) -> CompletedTopology:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("step", kind).shuffle_grouping("numbers")
    return complete_topology(builder.create_topology("stateful"), {"numbers": inputs}, **options)


class Sums(StatefulFunction):
    """The base of those below: `total` is the state."""

    outputs = ["total"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.total = 0


class Value(Sums):
    def __call__(self, number: int) -> int:
        self.total += number
        return self.total


class Row(Sums):
    def __call__(self, number: int) -> tuple[int]:
        self.total += number
        return (self.total,)


class Filter(Sums):
    def __call__(self, number: int) -> int | None:
        self.total += number
        return self.total if number % 2 else None


class Twice(Sums):
    def __call__(self, number: int) -> list[int]:
        self.total += number
        return [self.total, -self.total]


class Lazy(Sums):
    """What it returns reads the state when somebody asks for it."""

    def __call__(self, number: int) -> Iterator[int]:
        self.total += number
        return (sign * self.total for sign in (1, -1))


class Yields(Sums):
    def __call__(self, number: int) -> Iterator[int]:
        self.total += number
        yield self.total
        yield -self.total


class OnThread(Lazy):
    execution = "thread"

    def __call__(self, number: int) -> Iterator[int]:
        assert threading.current_thread() is not threading.main_thread()
        return super().__call__(number)


class Awaited(Lazy):
    async def __call__(self, number: int) -> list[int]:  # type: ignore[override]
        self.total += number
        await asyncio.sleep(0.1)
        return [self.total, -self.total]


class Plain(StatefulFunction):
    """Neither state nor self."""

    outputs = ["number"]
    __call__ = staticmethod(abs)


TOTALS = [sum(range(number + 1)) for number in range(COUNT)]
BOTH = [signed for total in TOTALS for signed in (total, -total)]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        *((Value, TOTALS), (Row, TOTALS), (Filter, TOTALS[1::2]), (Plain, list(range(COUNT)))),
        *((Twice, BOTH), (Lazy, BOTH), (Yields, BOTH), (OnThread, BOTH), (Awaited, BOTH)),
    ],
)
def test_what_it_returns_is_emitted_in_order_as_it_was_when_it_returned(kind: Any, wanted: list[int]) -> None:
    result = completed(kind, rows(COUNT))
    assert result.errors == []
    assert [total for (total,) in result.rows("step")] == wanted
    assert sorted(result.acked["numbers"]) == list(range(COUNT))


def test_it_is_called_as_a_function_in_a_unit_test() -> None:
    value = Value()
    value.initialize({}, None)  # type: ignore[arg-type]
    assert [value(1), value(2)] == [1, 3]


class Wrong(Sums):
    def __call__(self, number: int) -> Any:
        self.total += number
        return (number, number) if number == 1 else [7, (7, 7)] if number == 2 else (self.total,)


def test_a_result_that_does_not_fit_fails_its_input_and_is_told_with_its_place() -> None:
    result = completed(Wrong, rows(4))
    assert sorted(result.failed["numbers"]) == [1, 2]
    assert [total for (total,) in result.rows("step")] == [0, 6]
    expected = "expected a tuple of 1 values (total), got "
    assert [expected in report.text for report in result.errors] == [True, True]
    assert all("returned by Wrong.__call__ (test_stateful_functions.py:" in report.text for report in result.errors)


class Sink(StatefulFunction):
    def __call__(self, number: int) -> Any:
        return number if number == 3 else None


def test_a_sink_returns_nothing() -> None:
    result = completed(Sink, rows(20))
    assert result.failed["numbers"] == [3]
    assert len(result.acked["numbers"]) == 19
    assert "a bolt without outputs must return None, got 3" in result.errors[0].text


class Ticking(Sums):
    config = EVERY_SECOND
    outputs = ["total", "seconds"]

    def __call__(self, number: int) -> Any:
        self.total += number
        return self.total, 0

    def process_tick(self, tup: Tuple) -> Any:
        assert tup.is_tick()
        if self.total == 3:
            return None
        return [(self.total, seconds) for seconds in (tup.values.seconds, -1)]


class TickingOnThread(Ticking):
    execution = "thread"


class TickingYields(Ticking):
    def process_tick(self, tup: Tuple) -> Iterator[Any]:
        yield from super().process_tick(tup) or ()


class TickingAwaited(Ticking):
    async def __call__(self, number: int) -> Any:
        return super().__call__(number)

    async def process_tick(self, tup: Tuple) -> Any:
        await asyncio.sleep(0)
        return super().process_tick(tup)


@pytest.mark.parametrize("kind", [Ticking, TickingOnThread, TickingYields, TickingAwaited])
def test_what_a_tick_returns_is_emitted_and_belongs_to_no_tuple(kind: Any) -> None:
    result = completed(kind, [[1], PAUSE(1.5), [2], PAUSE(1), [4], PAUSE(1)])
    assert result.errors == []
    assert result.rows("step") == [(1, 0), (1, 1), (1, -1), (3, 0), (7, 0), (7, 1), (7, -1)]
    assert result.acked["numbers"] == [0, 1, 2]


class Talkative(Sums):
    """Returns at a tick, and at its end, what is no row of its stream."""

    config = EVERY_SECOND

    def __call__(self, number: int) -> None: ...

    def process_tick(self, tup: Tuple) -> Any:
        return 1, 2

    def finish(self) -> Any:
        yield 1
        yield 1, 2


class AwaitedTalkative(Talkative):
    async def __call__(self, number: int) -> None: ...  # type: ignore[override]


@pytest.mark.parametrize("kind", [Talkative, AwaitedTalkative])
def test_what_does_not_fit_at_a_tick_or_at_the_end_is_told_with_its_place_and_not_sent(kind: Any) -> None:
    result = completed(kind, [[1], PAUSE(1.5)])
    assert result.rows("step") == []
    assert result.acked["numbers"] == [0]
    tick, end = (report.text for report in result.errors)
    assert "expected a tuple of 1 values (total), got (1, 2), returned by Talkative.process_tick (" in tick
    assert "returned by Talkative.finish (" in end


class Emits(Sums):
    def __call__(self, number: int) -> Any:
        return self.emit([number])  # type: ignore[attr-defined]


def test_there_is_no_emit() -> None:
    result = completed(Emits, rows(1))
    assert result.failed["numbers"] == [0]
    assert "has no attribute 'emit'" in result.errors[0].text
    assert EmitError.__name__ not in result.errors[0].text


class Scaled(StatefulFunction):
    outputs = ["key", "count", "task"]

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.counts: dict[int, int] = {}

    def __call__(self, key: int) -> tuple[int, int, int]:
        count = self.counts[key] = self.counts.get(key, 0) + self.factor
        return key, count, self.ctx.task_index


@pytest.mark.parametrize("workers", [1, 2])
def test_each_task_has_a_state_of_its_own(workers: int) -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("count", Scaled(10), 2, 4).fields_grouping("numbers", "number")
    result = complete_topology(builder.create_topology("keyed"), {"numbers": [[i % 6] for i in range(60)]}, workers=workers)
    counted = result.rows("count")
    assert len({task for _, _, task in counted}) > 1
    for key in range(6):
        assert [count for found, count, _ in counted if found == key] == list(range(10, 110, 10))
        assert len({task for found, _, task in counted if found == key}) == 1


class Chain(Topology):
    numbers = Numbers.spec()
    sums = Value.spec(inputs={numbers: Grouping.GLOBAL})
    again = Value.spec(inputs={sums: Grouping.GLOBAL})


def test_it_is_a_component_of_a_class_topology() -> None:
    result = complete_topology(Chain, {"numbers": rows(4)})
    assert result.rows("again") == [(0,), (1,), (4,), (10,)]
