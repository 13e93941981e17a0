"""A worker gives back what it used: nothing of a step outlives it, and nothing that only grows is kept beside the tuples."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, StatefulFunction, Topology, TopologyContext, Tuple, bolt
from pasps.testing import StepRun
from tests.unit.runtime.parts import Numbers


class Raises(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        raise ValueError(tup.values.number)


class RaisesInBatch(BatchBolt):
    outputs = ["number"]

    def process_batch(self, tuples: list[Tuple]) -> None:
        raise ValueError(tuples[0].values.number)


class RaisesOnThread(Raises):
    execution = "thread"


class RaisesAwaited(Bolt):
    outputs = ["number"]

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0)
        raise ValueError(tup.values.number)


class RaisesInTurn(Bolt):
    """With a cause and a context of its own."""

    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        try:
            self.look_up(tup.values.number)
        except KeyError as error:
            raise ValueError(tup.values.number) from error

    def look_up(self, number: int) -> None:
        try:
            {}[number]
        except KeyError:
            raise KeyError(number)  # noqa: B904 - so that it has a context


@bolt(outputs=["number"])
def raises(number: int) -> int:
    raise ValueError(number)


@bolt(outputs=["number"], batch=True)
def raises_in_batch(rows: list[Any]) -> list[Any]:
    raise ValueError(rows[0])


@bolt(outputs=["number"])
def raises_when_read(number: int) -> Iterator[int]:
    yield number
    raise ValueError(number)


@bolt(outputs=["number"])
async def raises_awaited(number: int) -> int:
    raise ValueError(number)


@bolt(outputs=["number"])
def too_wide(number: int) -> tuple[int, int]:
    return number, number


class RaisesWithState(StatefulFunction):
    outputs = ["number"]

    def __call__(self, number: int) -> int:
        raise ValueError(number)


@bolt(outputs=["number"], columns="numpy")
def raises_by_column(numbers: Any) -> Any:
    raise ValueError(numbers)


@bolt(outputs=["number"], columns=True)
def too_long(numbers: list[int]) -> list[list[int]]:
    return [[*numbers, 1]]


WAYS = [
    RaisesWithState,
    raises_by_column,
    too_long,
    Raises,
    RaisesInBatch,
    RaisesOnThread,
    RaisesAwaited,
    RaisesInTurn,
    raises,
    raises_in_batch,
    raises_when_read,
    raises_awaited,
    too_wide,
]


def garbage_of(way: Any, failures: int) -> int:
    """Unreachable objects that only the collector finds, after so many failed steps."""

    class Failing(Topology):
        config = {"topology.producer.batch.size": 1}
        numbers = Numbers.spec()
        way_ = way.spec(inputs={numbers: Grouping.SHUFFLE})

    with StepRun(Failing, 1, inputs={"numbers": [[i] for i in range(failures)]}) as run:
        gc.collect()
        gc.disable()
        try:
            run.run_to_end()
            found = gc.collect()
        finally:
            gc.enable()
        assert run.counts()["numbers"].failed == failures
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: getattr(way, "__name__", str(way)))
def test_a_failed_step_leaves_nothing_to_the_garbage_collector(way: Any) -> None:
    garbage_of(way, 1)  # whatever is made once
    assert garbage_of(way, 60) == garbage_of(way, 20)


REFUSED = ValueError("refused")


class RaisesTheSame(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        raise REFUSED


class Refused(Topology):
    config = {"topology.producer.batch.size": 1}
    numbers = Numbers.spec()
    refuses = RaisesTheSame.spec(inputs=[numbers])


def test_an_exception_that_is_raised_again_and_again_has_the_same_traceback_each_time() -> None:
    with StepRun(Refused, 1, inputs={"numbers": [[i] for i in range(4)]}) as run:
        run.run_to_end()
        texts = [report.text for report in run.journal.of("error")]
    assert len(texts) == 4
    assert len(set(texts)) == 1


class Hearing(Spout):
    """Emits the same three ids again and again."""

    outputs = ["number"]

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.rounds = 3

    def next_tuple(self) -> float:
        if not self.rounds:
            raise EndOfInput
        self.rounds -= 1
        self.emit_batch([(number,) for number in range(3)], range(3))
        return 1.0


class Deaf(Hearing):
    """Has neither `ack` nor `fail`, not even those by which a step run listens."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        del self.ack, self.fail


@pytest.mark.parametrize(("spout", "replayed"), [(Deaf, 0), (Hearing, 6)])
def test_ids_that_failed_are_kept_only_for_a_spout_that_hears_of_them(spout: type[Spout], replayed: int) -> None:
    class Refusing(Topology):
        numbers = spout.spec()
        refuses = RaisesTheSame.spec(inputs=[numbers])

    with StepRun(Refusing, 1) as run:
        run.run_to_end()
        counts = run.counts()["numbers"]
    assert (counts.failed, counts.replayed) == (9, replayed)
