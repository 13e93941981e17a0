"""What becomes of what a call returns, acks and fails, right or wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pasps import BatchBolt, Bolt, Topology, Tuple, bolt
from pasps.testing import StepRun
from tests.unit.runtime.parts import Numbers, completed, rows


@pytest.mark.parametrize("wrong", [None, "x", 7, [1]])
@pytest.mark.parametrize("verb", ["ack", "fail"])
def test_a_verdict_on_what_is_no_tuple_is_told(verb: str, wrong: Any) -> None:
    class Judges(Bolt):
        def process(self, tup: Tuple) -> None:
            getattr(self, verb)(wrong)

    done = completed(Judges, 1)
    (report,) = done.errors
    assert f"{verb} takes a tuple that was received, got {wrong!r}" in report.text
    assert done.failed["numbers"] == [0]


def test_a_verdict_on_a_tick_counts_for_nothing() -> None:
    class Ticks(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values)

        def process_tick(self, tup: Tuple) -> None:
            self.ack(tup)
            self.emit([-1], anchors=[tup])

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = Ticks.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 1})

    with StepRun(Topo, 1, inputs={"numbers": rows(2)}) as run:
        run.advance(2.5)
        assert run.emitted["bolt"]["default"] == [(0,), (1,), (-1,), (-1,)]
        assert run.left() == {}
        assert run.counts()["bolt"].acked == 2


class Empties(BatchBolt):
    """Works a batch off by taking from its list."""

    outputs = ["number"]
    ends = "returns"

    def process_batch(self, tuples: list[Tuple]) -> Any:
        while tuples:
            tup = tuples.pop()
            if self.ends == "emits":
                self.emit(tup.values, anchors=[tup])
        if self.ends == "raises":
            raise ValueError("empty")
        return None


class EmptiesAwaited(Empties):
    async def process_batch(self, tuples: list[Tuple]) -> Any:
        return super().process_batch(tuples)


@pytest.mark.parametrize("ends", ["returns", "emits", "raises"])
@pytest.mark.parametrize("kind", [Empties, EmptiesAwaited])
def test_a_batch_may_be_emptied_by_whoever_works_it_off(kind: type[BatchBolt], ends: str) -> None:
    done = completed(type("Kind", (kind,), {"ends": ends}))
    failed = ends == "raises"
    assert sorted(done.failed["numbers"] if failed else done.acked["numbers"]) == [0, 1, 2]
    assert len(done.errors) == failed
    assert sorted(done.rows("bolt")) == ([(0,), (1,), (2,)] if ends == "emits" else [])


def test_results_for_a_list_that_grew_do_not_pair() -> None:
    class Grows(BatchBolt):
        outputs = ["number"]

        def process_batch(self, tuples: list[Tuple]) -> Any:
            tuples.append(tuples[0])
            return [tup.values for tup in tuples]

    done = completed(Grows)
    (report,) = done.errors
    assert "expected a list of 3 results, one for each tuple (None filters), got 4 results" in report.text
    assert sorted(done.failed["numbers"]) == [0, 1, 2]


def test_what_process_returns_is_told_once_and_costs_nothing() -> None:
    class Returns(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> Any:
            self.emit(tup.values)
            return [tup.values]

    done = completed(Returns)
    assert sorted(done.acked["numbers"]) == [0, 1, 2]
    (report,) = done.errors
    assert "what process returns is not sent, emit it with self.emit(...)" in report.text


def test_a_process_that_nobody_would_run_fails() -> None:
    class Yields(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> Any:
            return (row for row in [tup.values])

    class Promises(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> Any:
            return self.work()

        async def work(self) -> None:
            """Never begun."""

    assert "emit with self.emit(...), not with yield" in completed(Yields, 1).errors[0].text
    assert "write `async def process`, and await what it calls" in completed(Promises, 1).errors[0].text


def test_results_may_mix_arrays_and_nothing() -> None:
    @bolt(outputs=["array"])
    def some(number: int) -> Any:
        return np.arange(3) if number % 2 else None

    done = completed(some, 4, check_wire=False)
    assert sorted(done.acked["numbers"]) == [0, 1, 2, 3]
    assert [list(row[0]) for row in done.rows("bolt")] == [[0, 1, 2]] * 2


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ([1, 2, 3], "a list or generator is several rows, of which one is 1"),
        ((1, 2, 3), "expected a tuple of 2 values (a, b), got (1, 2, 3)"),
        (7, "expected a tuple of 2 values (a, b), got 7"),
    ],
)
def test_a_wrong_result_names_the_function_and_what_came(result: Any, words: str) -> None:
    @bolt(outputs=["a", "b"])
    def work(number: int) -> Any:
        return result

    (report,) = completed(work, 1).errors
    assert words in report.text
    assert "work (test_results_and_verdicts.py:" in report.text


class TwoOfThree(list[Any]):
    """Has two values, and says three."""

    def __len__(self) -> int:
        return 3


def test_results_are_as_many_as_they_give() -> None:
    @bolt(outputs=["number"], batch=True)
    def returns(batch: list[Any]) -> list[Any]:
        return TwoOfThree([1, 2])

    done = completed(returns)
    (report,) = done.errors
    assert "expected a list of 3 results, one for each tuple (None filters), got 2 results" in report.text
    assert sorted(done.failed["numbers"]) == [0, 1, 2]


class Posing:
    """Says that it is a tuple, and that it is equal to everything, as stand-ins of mock libraries do."""

    __class__ = tuple  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Any]:
        return iter((1, 2))

    def __eq__(self, other: object) -> bool:
        return True


def test_what_poses_as_a_tuple_is_taken_for_the_values_that_it_gives() -> None:
    class EmitsIt(Bolt):
        outputs = ["one", "two"]

        def process(self, tup: Tuple) -> None:
            self.emit(Posing() if tup[0] == 1 else (tup[0], tup[0]))  # type: ignore[arg-type]

    done = completed(EmitsIt, workers=2)
    assert sorted(done.acked["numbers"]) == [0, 1, 2]
    assert sorted(done.rows("bolt")) == [(0, 0), (1, 2), (2, 2)]
    assert not done.errors


class Compared(type):
    """Its classes cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other: object) -> bool:
        return cls is other


class Value(metaclass=Compared):
    """Of a class that cannot be hashed."""


def test_a_result_of_a_class_that_cannot_be_hashed_ends_no_worker() -> None:
    @bolt(outputs=["number"])
    def returns(number: int) -> Any:
        value = Value() if number == 1 else number
        return value

    done = completed(returns)
    assert sorted(done.acked["numbers"]) == [0, 2]
    assert done.failed["numbers"] == [1]
    (report,) = done.errors
    assert "unhashable" in report.text


@pytest.mark.parametrize("auto_ack", [True, False])
def test_a_tuple_that_is_acked_and_whose_result_is_wrong_fails(auto_ack: bool) -> None:
    class AcksAll(BatchBolt):
        outputs = ["number"]

        def process_batch(self, tuples: list[Tuple]) -> Any:
            for tup in tuples:
                self.ack(tup)
            return [(1, 2) if tup[0] == 1 else tup.values for tup in tuples]

    done = completed(type("Kind", (AcksAll,), {"auto_ack": auto_ack}))
    assert sorted(done.acked["numbers"]) == [0, 2]
    assert done.failed["numbers"] == [1]


class CancelsOthers(Bolt):
    """Cancels every call that has been started and has not begun to run."""

    outputs = ["number"]
    concurrency = 4
    cancels = True

    async def process(self, tup: Tuple) -> None:
        if self.cancels:
            type(self).cancels = False
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        self.emit(tup.values)

    async def finish(self) -> None:
        self.emit([-1])


def test_a_call_that_is_cancelled_before_it_begins_has_failed() -> None:
    done = completed(type("Kind", (CancelsOthers,), {}), 6)
    assert sorted(done.acked["numbers"]) == [0, 4, 5]
    assert sorted(done.failed["numbers"]) == [1, 2, 3]
    assert sorted(row[0] for row in done.rows("bolt")) == [-1, 0, 4, 5]
    assert len(done.errors) == 3
    assert all("CancelledError" in report.text for report in done.errors)
