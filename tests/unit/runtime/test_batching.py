"""streamparse's batching bolts: tuples of an interval by key, one outcome for each group."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any

import pytest

from pasps import BatchingBolt, Bolt, Grouping, Stream, TicklessBatchingBolt, Topology, Tuple
from pasps.api.tuples import Source, values_type
from pasps.errors import ConfigError, Interrupt, TopologyError
from pasps.testing import PAUSE, StepRun, complete_topology
from tests.unit.runtime.parts import Numbers, rows

EVERY_SECOND = {"topology.tick.tuple.freq.secs": 1}


class Parity(BatchingBolt):
    outputs = ["odd", "numbers"]
    config = EVERY_SECOND

    def group_key(self, tup: Tuple) -> Hashable:
        return tup.values.number % 2

    def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
        self.emit([key, [tup.values.number for tup in tups]])


class Seen(Bolt):
    outputs = ["odd", "numbers"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


def chained(batching: type[Bolt], **spec: Any) -> type[Topology]:
    class Chained(Topology):
        numbers = Numbers.spec()
        batching_ = batching.spec(inputs=[numbers], name="batching", **spec)
        seen = Seen.spec(inputs=[batching_])

    return Chained


@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_each_group_of_an_interval_is_one_batch_and_acked_with_what_came_of_it(execution: str) -> None:
    kind = type("Executed", (Parity,), {"execution": execution})
    done = complete_topology(chained(kind), {"numbers": [*rows(4), PAUSE(1.5), [4], PAUSE(1.5)]})
    assert sorted(done.rows("seen")) == [(0, [0, 2]), (0, [4]), (1, [1, 3])]
    assert sorted(done.acked["numbers"]) == [0, 1, 2, 3, 4]
    assert not done.errors


def test_nothing_is_acked_before_its_batch() -> None:
    with StepRun(chained(Parity), 1, inputs={"numbers": [*rows(4), PAUSE(5)]}) as run:
        run.advance(0.9)
        assert run.verdicts.acked["numbers"] == []
        run.advance(0.2)
        assert sorted(run.verdicts.acked["numbers"]) == [0, 1, 2, 3]


def test_without_a_key_everything_is_one_batch_and_it_may_take_several_ticks() -> None:
    class Whole(Parity):
        ticks_between_batches = 3

        def group_key(self, tup: Tuple) -> Hashable:
            return BatchingBolt.group_key(self, tup)

    done = complete_topology(chained(Whole), {"numbers": [*rows(3), PAUSE(2.5), [3], PAUSE(1)]})
    assert done.rows("batching") == [(None, [0, 1, 2, 3])]


@pytest.mark.parametrize("raised", [LookupError, StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_a_batch_that_raises_fails_alone_and_sends_nothing(raised: type[BaseException]) -> None:
    class Refuses(Parity):
        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            super().process_batch(key, tups)
            if key == 1:
                raise raised("no odd ones")

    done = complete_topology(chained(Refuses), {"numbers": [*rows(4), PAUSE(1.5)]})
    assert done.rows("seen") == [(0, [0, 2])]
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == ([0, 2], [1, 3])
    (error,) = done.errors
    assert error.component == "batching"
    assert error.text.endswith(f"{raised.__name__}: no odd ones")
    assert "in process_batch" in error.text
    assert done.counts["batching"].errors == 1


def test_a_wrong_emission_of_a_batch_is_told_with_its_line_and_none_of_it_is_sent() -> None:
    class Wide(Parity):
        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            self.emit([key, []])
            self.emit([key, 2, 3])  # the line

    done = complete_topology(chained(Wide), {"numbers": [[0], PAUSE(1.5)]})
    assert done.rows("batching") == []
    assert list(done.failed["numbers"]) == [0]
    assert "expected 2 values (odd, numbers), got [0, 2, 3]" in done.errors[0].text
    assert "# the line" in done.errors[0].text


def test_what_is_emitted_is_anchored_to_the_whole_batch() -> None:
    class Fails(Bolt):
        def process(self, tup: Tuple) -> None:
            if tup.values.odd:
                raise ValueError("odd")

    class Failing(Topology):
        numbers = Numbers.spec()
        batching = Parity.spec(inputs=[numbers])
        fails = Fails.spec(inputs=[batching])

    done = complete_topology(Failing, {"numbers": [*rows(6), PAUSE(1.5)]})
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == ([0, 2, 4], [1, 3, 5])


def test_the_switches_hold_for_the_batch() -> None:
    class Own(Parity):
        auto_anchor = False
        auto_ack = False

        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            self.emit([key, []], anchors=tups[:1])
            self.ack(tups[0])
            self.fail(tups[1])

    done = complete_topology(chained(Own), {"numbers": [*rows(4), PAUSE(1.5)]})
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == ([0, 1], [2, 3])


def test_batches_go_to_several_streams() -> None:
    class Two(Parity):
        outputs = [Stream(["odd"], "odd"), Stream(["even", "count"], "even")]

        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            self.emit([key], stream="odd") if key else self.emit([key, len(tups)], stream="even")

    class Split(Topology):
        numbers = Numbers.spec()
        two = Two.spec(inputs=[numbers])

    done = complete_topology(Split, {"numbers": [*rows(5), PAUSE(1.5)]})
    assert (done.rows("two", "odd"), done.rows("two", "even")) == ([(1,)], [(0, 3)])


def test_a_tickless_one_needs_no_key() -> None:
    class Every(TicklessBatchingBolt):
        outputs = ["odd", "numbers"]
        secs_between_batches = 0.5

        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            self.emit([key, [tup.values.number for tup in tups]])

    topology = chained(Every)
    assert topology.blueprint().components["batching"].config == {"topology.tick.tuple.freq.secs": 0.5}
    slower = chained(Every, config={"topology.tick.tuple.freq.secs": 7})
    assert slower.blueprint().components["batching"].config == {"topology.tick.tuple.freq.secs": 7}
    done = complete_topology(topology, {"numbers": [*rows(2), PAUSE(0.6), [2], PAUSE(0.6)]})
    assert done.rows("seen") == [(None, [0, 1]), (None, [2])]


def test_what_ends_the_whole_call_forgets_none_of_the_groups() -> None:
    class Interrupted(Parity):
        tries = 0

        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            self.tries += 1
            if self.tries == 2:
                raise Interrupt
            self.handled.append((key, len(tups)))

    bolt: Any = Interrupted()
    bolt.put_in_place(None, dict.fromkeys(("emit", "ack", "fail"), lambda *given: None))
    bolt.handled = []
    kind = values_type(("number",))
    for number in range(3):
        bolt.process(Tuple(kind((number,)), 0, 0, Source("numbers", "default", 1, ("number",))))
    with pytest.raises(Interrupt):
        bolt.process_batches()
    bolt.handled.clear()
    bolt.process_batches()
    bolt.process_batches()
    assert bolt.handled == [(0, 2), (1, 1)]


class Unfinished(BatchingBolt): ...


class Tickles(Parity):
    config = None


class Zero(Parity):
    ticks_between_batches = 0


class Awaiting(Parity):
    async def process_batch(self, key: Hashable, tups: list[Tuple]) -> None: ...  # type: ignore[override]


class Unkeyed(Parity):
    def process_batch(self, tups: list[Tuple]) -> None: ...  # type: ignore[override]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Unfinished, "this batching bolt does not define process_batch(key, tups); define process_batch(self, key, tups)"),
        (Tickles, "Tickles has process_tick(), but no tick would come"),
        (Zero, "ticks_between_batches must be an integer of at least 1, got 0; 1 is the default"),
        (Awaiting, "process_batch() must be a plain method, not async and without yield: nothing would run it"),
        (Unkeyed, "process_batch(self, tups) is called as process_batch(key, tups): too many positional arguments"),
    ],
)
def test_one_that_cannot_run_is_refused(kind: type[Bolt], expected: str) -> None:
    with pytest.raises(TopologyError) as caught:
        chained(kind)
    assert str(caught.value).startswith(f"component 'batching': {expected}")


def test_no_time_between_batches_is_no_time() -> None:
    with pytest.raises(
        ConfigError, match=r"component 'batching': configuration key 'topology.tick.tuple.freq.secs' must be a number above 0"
    ):
        chained(type("Never", (Parity, TicklessBatchingBolt), {"secs_between_batches": 0, "config": None}))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_gathered_moves_with_its_task(workers: int) -> None:
    class Keyed(Topology):
        numbers = Numbers.spec()
        parity = Parity.spec(inputs={numbers: Grouping.fields("number")}, par=1, pool=4, config={"topology.tick.tuple.freq.secs": 10})

    with StepRun(Keyed, workers, inputs={"numbers": [*rows(20), PAUSE(60)]}) as run:
        run.advance(1)
        for active in (4, 2, 3, 1):
            run.set_active("parity", active)
        run.advance(20)
        emitted = run.emitted["parity"]["default"]
        assert sorted(number for _, numbers in emitted for number in numbers) == list(range(20))
        assert sorted(run.verdicts.acked["numbers"]) == list(range(20))
        run.run_to_end()
        parked = {report.index for report in run.journal.of("parked")}
        active = run.controller.table.components["parity"].active
        assert parked | set(active) == set(range(4)), "a replica that was given up has nothing left"


def test_a_batch_may_be_emptied_by_whoever_works_it_off() -> None:
    class Empties(Parity):
        def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
            while tups:
                self.emit([key, [tups.pop().values.number]])

    done = complete_topology(chained(Empties), {"numbers": [*rows(4), PAUSE(1.5)]})
    assert sorted(done.rows("seen")) == [(0, [0]), (0, [2]), (1, [1]), (1, [3])]
    assert sorted(done.acked["numbers"]) == [0, 1, 2, 3]
    assert done.failed["numbers"] == []
