"""A call that emits what cannot travel to where it goes has failed: nothing of it is sent. What stays in its worker goes by reference."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, Stream, Topology, Tuple, bolt
from pasps.runtime.batch import Batch
from pasps.testing import CompletedTopology, StepRun, complete_topology
from pasps.transport.codec import Trial

LARGE = "x" * 2**21


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


@bolt(outputs=["number", "kind"])
def seen(number: int, value: object) -> tuple[int, str]:
    return number, type(value).__name__


def handle() -> object:
    """What no message holds."""
    return (part for part in ())


def completed(topology: Any, rows: list[list[Any]]) -> CompletedTopology:
    """In two workers, of which each tries no more than what goes to the other."""
    return complete_topology(topology, {"numbers": rows}, workers=2, check_wire=False, config={"pasps.wire.max.frame.bytes": 2**20})


NUMBERS = [[n] for n in range(40)]


# ---- what stays, and what leaves


@bolt(outputs=["number", "value"])
def several(number: int) -> Iterator[tuple[int, object]]:
    yield number, handle()
    yield number + 1, "plain"
    yield number + 2, [handle()]


class Stays(Topology):
    numbers = Numbers.spec()
    several_ = several.spec(inputs=[numbers], par=2)
    seen_ = seen.spec(inputs={several_: Grouping.LOCAL_OR_SHUFFLE}, par=2)


def test_what_stays_in_its_worker_goes_by_reference() -> None:
    done = completed(Stays, NUMBERS)
    assert done.failed["numbers"] == []
    assert Counter(kind for _, kind in done.rows("seen_")) == {"generator": 40, "str": 40, "list": 40}


class Keyed(Topology):
    numbers = Numbers.spec()
    several_ = several.spec(inputs=[numbers])
    seen_ = seen.spec(inputs={several_: Grouping.fields("number")}, par=2)


def test_a_call_is_sent_as_a_whole_or_not_at_all() -> None:
    done = completed(Keyed, NUMBERS)
    acked = done.acked["numbers"]
    assert acked, "the keys of both handles are here"
    assert done.failed["numbers"], "or one of them is elsewhere"
    wanted = Counter(row for n in acked for row in ((n, "generator"), (n + 1, "str"), (n + 2, "list")))
    assert Counter(done.rows("seen_")) == wanted
    assert "field 'value': a value of type generator cannot travel" in done.errors[0].text


@bolt(outputs=["number", "value"])
def enlarged(number: int) -> list[tuple[int, str]]:
    return [(number, "plain"), (number, LARGE if number % 4 == 0 else "plain")]


class Enlarging(Topology):
    numbers = Numbers.spec()
    enlarged_ = enlarged.spec(inputs=[numbers])
    seen_ = seen.spec(inputs={enlarged_: Grouping.ALL}, par=2)


def test_a_row_that_is_larger_than_a_frame_holds_back_its_siblings() -> None:
    done = completed(Enlarging, NUMBERS)
    assert sorted(done.failed["numbers"]) == list(range(0, 40, 4))
    assert Counter(n for n, _ in done.rows("seen_")) == {n: 4 for n in range(40) if n % 4}
    assert "component 'enlarged_', stream 'default': a tuple of 2097" in done.errors[0].text


# ---- several receivers of one row


class Given(Spout):
    outputs = ["number", "value"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


class FromSpout(Topology):
    numbers = Given.spec()
    seen_ = seen.spec(inputs={numbers: Grouping.ALL}, par=2)
    also = seen.spec(inputs={numbers: Grouping.GLOBAL})


@bolt(outputs=["number", "value"])
def passed(number: int, value: object) -> tuple[int, object]:
    return number, value


class FromBolt(Topology):
    numbers = Given.spec()
    passed_ = passed.spec(inputs={numbers: Grouping.LOCAL_OR_SHUFFLE}, par=2)
    seen_ = seen.spec(inputs={passed_: Grouping.ALL}, par=2)
    also = seen.spec(inputs={passed_: Grouping.GLOBAL})


class Asks(Bolt):
    """Wants to know who gets it."""

    outputs = ["number", "value"]

    def process(self, tup: Tuple) -> None:
        assert len(self.emit(tup.values, need_task_ids=True) or []) == 3


class FromAsking(Topology):
    numbers = Given.spec()
    asks = Asks.spec(inputs={numbers: Grouping.LOCAL_OR_SHUFFLE}, par=2)
    seen_ = seen.spec(inputs={asks: Grouping.ALL}, par=2)
    also = seen.spec(inputs={asks: Grouping.GLOBAL})


@pytest.mark.parametrize("topology", [FromSpout, FromBolt, FromAsking])
def test_no_receiver_gets_a_row_that_another_one_cannot_get(topology: Any) -> None:
    values = ["plain", handle(), "plain", LARGE, [handle()], 1.5, {"a": 1}]
    done = completed(topology, [[n, value] for n, value in enumerate(values)])
    good = [0, 2, 5, 6]
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == (good, [1, 3, 4])
    assert sorted(n for n, _ in done.rows("seen_")) == sorted(2 * good)
    assert sorted(n for n, _ in done.rows("also")) == good
    assert len(done.errors) == 3


# ---- what else the call did


class Pairs(Bolt):
    """Keeps every other tuple, and acks it with the next one, which it emits."""

    outputs = ["number", "value"]
    auto_ack = False

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.kept: Tuple | None = None

    def process(self, tup: Tuple) -> None:
        if self.kept is None:
            self.kept = tup
            return
        self.ack(self.kept)
        number = tup.values[0]
        self.emit([number, handle() if number == 3 else number])
        self.ack(tup)
        self.kept = None


class Pairing(Topology):
    numbers = Numbers.spec()
    pairs = Pairs.spec(inputs=[numbers])
    seen_ = seen.spec(inputs={pairs: Grouping.ALL}, par=2)


def test_what_the_call_acked_fails_with_it() -> None:
    done = completed(Pairing, [[n] for n in range(6)])
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == ([0, 1, 4, 5], [2, 3])
    assert sorted(done.rows("seen_")) == [(1, "int")] * 2 + [(5, "int")] * 2


class Chain(BatchBolt):
    """Emits each tuple, and with its neighbour what both of them made; 4 makes what cannot travel."""

    outputs = ["number", "value"]
    max_batch = 8

    def process_batch(self, tuples: list[Tuple]) -> list[Any]:
        for one, other in zip(tuples[::2], tuples[1::2], strict=True):
            self.emit([one.values[0], "both"], anchors=[one, other])
            if one.values[0] == 4:
                self.emit([4, handle()], anchors=[one])
        return [[(tup.values[0], "alone")] for tup in tuples]


class Chaining(Topology):
    numbers = Numbers.spec()
    chain = Chain.spec(inputs=[numbers])
    seen_ = seen.spec(inputs={chain: Grouping.ALL}, par=2)


def test_in_a_batch_nothing_is_sent_that_a_failed_tuple_is_part_of() -> None:
    done = completed(Chaining, [[n] for n in range(8)])
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == ([0, 1, 2, 3, 6, 7], [4, 5])
    assert Counter(n for n, _ in done.rows("seen_")) == {0: 4, 1: 2, 2: 4, 3: 2, 6: 4, 7: 2}
    assert len(done.errors) == 1


class Finishes(Bolt):
    outputs = [Stream(["number", "value"]), Stream(["number", "value"], "other")]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.values[0], "plain"])

    def finish(self) -> None:
        self.emit([-1, "plain"])
        self.emit([-1, handle()], stream="other")


class Finishing(Topology):
    numbers = Numbers.spec()
    finishes = Finishes.spec(inputs=[numbers])
    seen_ = seen.spec(inputs={finishes: Grouping.ALL}, par=2)
    also = seen.spec(inputs={finishes["other"]: Grouping.ALL}, par=2)


def test_a_call_without_input_is_held_back_as_well() -> None:
    done = completed(Finishing, [[1]])
    assert done.rows("seen_") == [(1, "str")] * 2
    assert done.rows("also") == []
    assert len(done.errors) == 1


# ---- one queue for several workers


class Slow(Bolt):
    outputs = ["number", "kind"]

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0.01)
        self.emit([tup[0], type(tup[1]).__name__])


class Mixed(Bolt):
    outputs = ["number", "value"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup[0], handle() if tup[0] % 2 else "plain"])


class Shared(Topology):
    config = {"topology.max.spout.pending": 1000, "topology.executor.receive.buffer.size": 40}
    numbers = Numbers.spec()
    mixed = Mixed.spec(inputs=[numbers])
    slow = Slow.spec(inputs={mixed: Grouping.LOCAL_OR_SHUFFLE}, par=2, pool=8)


def test_a_queue_gives_others_what_can_travel_and_keeps_the_rest() -> None:
    with StepRun(Shared, 2, inputs={"numbers": [[n] for n in range(200)]}) as run:
        run.advance(0.05)
        run.set_active("slow", 8)
        run.run_to_end()
        assert run.journal.of("error") == []
        assert sorted(run.verdicts.acked["numbers"]) == list(range(200))
        assert Counter(kind for _, kind in run.emitted["slow"]["default"]) == {"str": 100, "generator": 100}
        executed = {
            name: sum(sum(ex.meter.executed.values()) for ex in worker.residents.replicas("slow")) for name, worker in run.workers.items()
        }
        assert min(executed.values()) > 20


class Swallows:
    """A door behind which nobody takes anything of itself."""

    def accept(self, batch: Batch, weight: int = 0) -> None:
        pass


class Line(Topology):
    numbers = Numbers.spec()
    several_ = several.spec(inputs=[numbers])
    beside = seen.spec(inputs=[several_])  # its place lets the first replica of the next be in the worker of `several_`
    seen_ = seen.spec(inputs={several_: Grouping.LOCAL_OR_SHUFFLE}, par=2)


def test_what_waits_for_its_own_workers_queue_goes_when_there_is_room_although_others_had_some_before() -> None:
    with StepRun(Line, 2, inputs={"numbers": []}) as run:
        run.run_until_idle()
        executor = next(
            worker.residents.executors["several_", 0] for worker in run.workers.values() if "several_" in worker.residents.inboxes
        )
        emitter = executor.emitter
        port = emitter.ports["default"]
        del port.lanes[0]
        here, there = port.lanes[0].open
        assert here.here
        for target in (here, there):
            target.door, target.limit = Swallows(), 4
        for values in ([(n, "plain") for n in range(8)], [(n, "plain") for n in range(5)], [(0, handle())]):
            emitter.route(port, Batch(-1, -1, executor.slots[0].task_id, values))
        assert len(emitter.parked) == 2
        here.release(2)
        there.release(4)  # one more than what can travel needs
        run.run_until_idle()
        assert len(emitter.parked) == 1
        here.release(1)
        run.run_until_idle()
        assert not emitter.parked


class Many(Bolt):
    outputs = ["number", "value"]

    def process(self, tup: Tuple) -> None:
        for number in range(1000):
            self.emit([number, "plain"])


class Parked(Topology):
    config = {"topology.executor.receive.buffer.size": 32}
    numbers = Numbers.spec()
    many = Many.spec(inputs=[numbers])
    slow = Slow.spec(inputs={many: Grouping.SHUFFLE}, par=8)


def test_what_finds_no_room_is_not_tried_again_each_time_somebody_takes_a_tuple(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, errors = [0], Trial.errors

    def counted(self: Trial, rows: list[Any], *where: Any) -> Any:
        tried[0] += len(rows)
        return errors(self, rows, *where)

    monkeypatch.setattr(Trial, "errors", counted)
    with StepRun(Parked, 2, inputs={"numbers": [[0]]}) as run:
        run.run_to_end()
        assert run.counts()["slow"].executed == 1000
        assert tried[0] <= 2 * 1000
