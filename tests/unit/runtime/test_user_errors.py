"""What users get wrong costs the tuples that it concerns, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

from pasps import BatchBolt, Bolt, Grouping, Spout, Topology, TopologyContext, Tuple, bolt
from pasps.testing import complete_topology


class Values(Spout):
    outputs = ["value"]

    def next_tuple(self) -> float | None:
        return None


class Keep(Bolt):
    outputs = ["value"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class Unhashable:
    """Compares by identity, so that it has no stable form."""


@bolt(outputs=["value"])
def wrapped(value: Any) -> Any:
    return (Unhashable(),) if value == 3 else (value,)


class Keyed(Topology):
    values = Values.spec()
    wrapped = wrapped.spec(inputs=[values])
    keep = Keep.spec(inputs={wrapped: Grouping.fields("value")}, par=2)


def test_a_key_without_a_stable_hash_fails_its_tuple_alone() -> None:
    done = complete_topology(Keyed, {"values": [[i] for i in range(6)]}, check_wire=False)
    assert sorted(row[0] for row in done.emitted["keep"]["default"]) == [0, 1, 2, 4, 5]
    assert len(done.failed["values"]) == 1
    assert any("Unhashable" in report.text for report in done.errors)


class Chooses:
    def choose_tasks(self, source_task: int, values: tuple[Any, ...]) -> list[int]:
        if values[0] == 2:
            raise ValueError("cannot choose for 2")
        return [self.targets[0]]

    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None:
        self.targets = target_tasks


class Chosen(Topology):
    values = Values.spec()
    keep = Keep.spec(inputs={values: Grouping.custom(Chooses())}, par=2)


def test_a_custom_grouping_that_raises_fails_its_tuple_alone() -> None:
    done = complete_topology(Chosen, {"values": [[i] for i in range(4)]})
    assert sorted(row[0] for row in done.emitted["keep"]["default"]) == [0, 1, 3]
    assert len(done.failed["values"]) == 1


class Sizes(BatchBolt):
    outputs = ["size"]
    max_batch = 40

    def process_batch(self, tuples: list[Tuple]) -> list[tuple[int]]:
        return [(len(tuples),)] * len(tuples)


class Batched(Topology):
    values = Values.spec()
    sizes = Sizes.spec(inputs=[values])


def test_a_batch_bolt_gets_what_has_queued_up_to_its_own_limit() -> None:
    done = complete_topology(Batched, {"values": [[i] for i in range(100)]})
    sizes = [row[0] for row in done.emitted["sizes"]["default"]]
    assert len(sizes) == 100
    assert max(sizes) == 40


class OnItsThread(Bolt):
    outputs = ["same"]
    execution = "thread"

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.thread = threading.get_ident()

    def process(self, tup: Tuple) -> None:
        self.emit([self.thread == threading.get_ident()])


class Threaded(Topology):
    values = Values.spec()
    bolt = OnItsThread.spec(inputs=[values])


def test_a_thread_bolt_is_initialized_where_it_processes() -> None:
    done = complete_topology(Threaded, {"values": [[1], [2]]})
    assert done.emitted["bolt"]["default"] == [(True,), (True,)]


@bolt(outputs=["value"])
def finds_nothing(value: int) -> Any:
    return (next(iter([value] if value % 2 else [])),)


class FindsNothing(Topology):
    values = Values.spec()
    found = finds_nothing.spec(inputs=[values])


def test_a_function_that_raises_stop_iteration_is_named_and_later_its_line() -> None:
    done = complete_topology(FindsNothing, {"values": [[i] for i in range(8)]})
    assert sorted(row[0] for row in done.emitted["found"]["default"]) == [1, 3, 5, 7]
    assert len(done.failed["values"]) == 4
    told = [report.text for report in done.errors]
    assert all("StopIteration" in text and "test_user_errors.py" in text for text in told)
    assert "finds_nothing" in told[0]
    assert "next(iter(" in told[1]
