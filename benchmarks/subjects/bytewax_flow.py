"""The workloads as a Bytewax dataflow: a batching source, one step for each operator, a sink; W2's is keyed by class, W3 has a state.

Runs where Bytewax is installed, which is not where types are checked: hence the ignored base classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from itertools import starmap

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, FixedPartitionedSink, StatefulSinkPartition, StatelessSinkPartition

from benchmarks.event_source import EventSource
from benchmarks.options import Options, inherited
from benchmarks.sink import Sink
from benchmarks.workloads import CLASSES, ON_EVENT, OPERATORS, Event, Operator, count_event


class EventPartition(StatelessSourcePartition[Event]):  # type: ignore[misc]
    """One worker's share of the events."""

    def __init__(self, options: Options, part: int, parts: int) -> None:
        self._source = EventSource(options, part, parts)

    def next_batch(self) -> list[Event]:
        events = self._source.take()
        if events is None:
            raise StopIteration
        return events

    def next_awake(self) -> datetime | None:
        wait = self._source.wait_seconds()
        return datetime.now(timezone.utc) + timedelta(seconds=wait) if wait else None  # noqa: UP017


class Events(DynamicSource[Event]):  # type: ignore[misc]
    """A source in every worker."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> EventPartition:
        return EventPartition(inherited(), worker_index, worker_count)


class StatelessSink(StatelessSinkPartition[Event]):  # type: ignore[misc]
    """An end that is not keyed, one in each worker."""

    def __init__(self) -> None:
        self._sink = Sink(inherited())

    def write_batch(self, items: list[Event]) -> None:
        add = self._sink.add
        for event in items:
            add(event)

    def close(self) -> None:
        self._sink.close()


class AnyWorkerSink(DynamicSink[Event]):  # type: ignore[misc]
    """Events stay in the worker that made them."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSink:
        return StatelessSink()


class ClassSink(StatefulSinkPartition[Event, None]):  # type: ignore[misc]
    """W2's end for one class."""

    def __init__(self) -> None:
        self._sink = Sink(inherited())

    def write_batch(self, items: list[Event]) -> None:
        add = self._sink.add
        for event in items:
            add(event)

    def snapshot(self) -> None:
        return None

    def close(self) -> None:
        self._sink.close()


class ByClassSink(FixedPartitionedSink[Event, None]):  # type: ignore[misc]
    """Events go to the worker that holds their class."""

    def list_parts(self) -> list[str]:
        return [str(user_class) for user_class in range(CLASSES)]

    def part_fn(self, item_key: str) -> int:
        return int(item_key)

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> ClassSink:
        return ClassSink()


def flow() -> Dataflow:
    """As its users write it: `op.map` with functions of one event."""
    stream, dataflow = begin()
    for place, operator in enumerate(ON_EVENT[inherited().workload]):
        stream = op.map(f"operator{place}", stream, operator)
    return end(stream, dataflow)


def batch_flow() -> Dataflow:
    """As one tuned by hand: each operator over a whole batch, in C."""
    stream, dataflow = begin()
    for place, operator in enumerate(OPERATORS[inherited().workload]):
        stream = op.flat_map_batch(f"operator{place}", stream, _over_batches(operator))
    return end(stream, dataflow)


def _over_batches(operator: Operator) -> Callable[[list[Event]], Iterable[Event]]:
    return lambda events: starmap(operator, events)


def begin() -> tuple[Stream[Event], Dataflow]:
    """A dataflow, and the events in it."""
    dataflow = Dataflow("bench")
    return op.input("source", dataflow, Events()), dataflow


def end(stream: Stream[Event], dataflow: Dataflow) -> Dataflow:
    """What comes behind the stateless operators."""
    workload = inherited().workload
    keyed = op.map("key", stream, lambda event: (str(event[1]), event)) if workload in ("w2", "w3") else None
    if workload == "w2":
        op.output("sink", keyed, ByClassSink())
        return dataflow
    if workload == "w3":
        stream = op.key_rm("unkey", op.stateful_map("count", keyed, count_event))
    op.output("sink", stream, AnyWorkerSink())
    return dataflow
