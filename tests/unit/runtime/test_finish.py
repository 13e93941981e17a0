"""`finish`: called when no more input can come, wherever the instance is; what it says flows before the end, and once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pytest

from pasps import BatchBolt, Bolt, Grouping, Spout, StatefulFunction, Stream, Topology, Tuple
from pasps.errors import DrainTimeoutError
from pasps.testing import PAUSE, StepOptions, StepRun, complete_topology
from tests.unit.runtime.parts import Numbers, rows

in_one_worker_and_in_two = pytest.mark.parametrize("workers", [1, 2])
KEYS = 5


class Tally(Bolt):
    """Counts by remainder, and says so at the end."""

    outputs = ["key", "count"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.counts: Counter[int] = Counter()

    def process(self, tup: Tuple) -> None:
        self.counts[tup["number"] % KEYS] += 1

    def finish(self) -> Any:
        for key, count in sorted(self.counts.items()):
            self.emit([key, count])


class BatchTally(BatchBolt):
    outputs = ["key", "count"]
    initialize = Tally.initialize
    finish = Tally.finish
    counts: Counter[int]

    def process_batch(self, tuples: list[Tuple]) -> None:
        self.counts.update(tup["number"] % KEYS for tup in tuples)


class ThreadTally(Tally):
    execution = "thread"


class AsyncTally(Tally):
    concurrency = 3

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0.01)
        self.counts[tup["number"] % KEYS] += 1

    async def finish(self) -> None:
        await asyncio.sleep(2)
        super().finish()


class AsyncWithPlainFinish(AsyncTally):
    finish = Tally.finish


class ThreadBatchTally(BatchTally):
    execution = "thread"


class StatefulTally(StatefulFunction):
    outputs = ["key", "count"]
    initialize = Tally.initialize
    counts: Counter[int]

    def __call__(self, number: int) -> None:
        self.counts[number % KEYS] += 1

    def finish(self) -> Any:
        yield from sorted(self.counts.items())


class ThreadStatefulTally(StatefulTally):
    execution = "thread"


class AsyncStatefulTally(StatefulTally):
    concurrency = 3

    async def __call__(self, number: int) -> None:  # type: ignore[override]
        await asyncio.sleep(0.01)
        self.counts[number % KEYS] += 1

    async def finish(self) -> Any:
        await asyncio.sleep(2)
        return sorted(self.counts.items())


KINDS = [
    *(Tally, BatchTally, ThreadTally, AsyncTally, AsyncWithPlainFinish, ThreadBatchTally),
    *(StatefulTally, ThreadStatefulTally, AsyncStatefulTally),
]
every_kind = pytest.mark.parametrize("kind", KINDS)


class Sum(Bolt):
    """Adds up what tallies said, and says that at its own end."""

    outputs = ["key", "sum"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.sums: Counter[int] = Counter()
        self.said = 0

    def process(self, tup: Tuple) -> None:
        assert not self.said, "what a bolt upstream says comes before this one has finished"
        self.sums[tup["key"]] += tup["count"]

    def finish(self) -> None:
        self.said += 1
        for key, count in sorted(self.sums.items()):
            self.emit([key, count])


class Sink(Bolt):
    outputs = ["key", "sum"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


def tallies(kind: type[Bolt], grouping: Any = Grouping.SHUFFLE, pool: int = 3, par: int | None = None) -> type[Topology]:
    class Tallies(Topology):
        numbers = Numbers.spec(par=2)
        tally = kind.spec(inputs={numbers: grouping}, par=par or pool, pool=pool)
        sum = Sum.spec(inputs={tally: Grouping.fields("key")}, par=2, pool=4)
        sink = Sink.spec(inputs=[sum])

    return Tallies


EXPECTED = [(key, 100) for key in range(KEYS)]


@in_one_worker_and_in_two
@every_kind
@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.fields("number")])
def test_what_is_said_at_the_end_flows_through_the_rest(workers: int, kind: type[Bolt], grouping: Any) -> None:
    result = complete_topology(tallies(kind, grouping), {"numbers": rows(100 * KEYS)}, workers=workers)
    assert result.errors == []
    assert sorted(result.rows("sink")) == EXPECTED
    assert sum(count for _, count in result.rows("tally")) == 100 * KEYS
    assert len(result.acked["numbers"]) == 100 * KEYS


@in_one_worker_and_in_two
@every_kind
def test_replicas_that_were_put_out_finish_too(workers: int, kind: type[Bolt]) -> None:
    with StepRun(tallies(kind, pool=6), workers, inputs={"numbers": [*rows(50 * KEYS), PAUSE(5), *rows(50 * KEYS)]}) as run:
        run.run_until_idle()
        run.set_active("tally", 1)
        run.run_until_idle()
        assert run.emitted.get("tally") is None
        run.run_to_end()
        assert sorted(run.emitted["sink"]["default"]) == EXPECTED
        assert run.journal.of("error") == []


class Everyone(Bolt):
    outputs = ["task", "number"]

    def process(self, tup: Tuple) -> None:
        pass

    def finish(self) -> None:
        self.emit([self.ctx.task_index, -1])


@in_one_worker_and_in_two
@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.fields("number")])
def test_every_instance_finishes_once_with_input_or_without(workers: int, grouping: Any) -> None:
    class All(Topology):
        numbers = Numbers.spec()
        everyone = Everyone.spec(inputs={numbers: grouping}, par=2, pool=7)

    with StepRun(All, workers, inputs={"numbers": rows(1)}) as run:
        run.run_to_end()
        said = sorted(run.emitted["everyone"]["default"])
        assert said == [(task, -1) for task in range(7)]
        # neither more waiting nor a move makes an instance finish again
        run.set_active("everyone", 5)
        run.run_to_end()
        run.set_active("everyone", 1)
        run.drain()
        assert sorted(run.emitted["everyone"]["default"]) == said


def test_nothing_is_said_while_input_may_come() -> None:
    with StepRun(tallies(Tally), inputs={"numbers": [*rows(10), PAUSE(60), *rows(10)]}) as run:
        run.advance(30)
        assert run.emitted.get("tally") is None
        assert run.counts()["tally"].executed == 10
        run.run_to_end()
        assert sum(count for _, count in run.emitted["sink"]["default"]) == 20


class Naturals(Spout):
    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.next = 0

    def next_tuple(self) -> float | None:
        self.emit([self.next], self.next)
        self.next += 1
        return 0.1


@in_one_worker_and_in_two
def test_a_drain_for_good_lets_bolts_finish_whose_spouts_never_end(workers: int) -> None:
    class Endless(Topology):
        numbers = Naturals.spec()
        tally = Tally.spec(inputs=[numbers], par=2)
        sum = Sum.spec(inputs={tally: Grouping.fields("key")})

    with StepRun(Endless, workers) as run:
        run.advance(10)
        run.drain()
        emitted = run.counts()["numbers"].emitted
        assert emitted > 90
        assert sum(count for _, count in run.emitted["sum"]["default"]) == emitted
        assert len(run.verdicts.acked["numbers"]) == emitted


# ---- what is kept for the end


class Bundle(Bolt):
    """Keeps its tuples, and emits and acks them in bundles of four; what is left over goes at the end."""

    outputs = [Stream(["numbers"]), Stream(["number"], name="single", direct=True)]
    auto_ack = False

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.kept: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.kept.append(tup)
        if len(self.kept) == 4:
            self.send()

    def send(self) -> None:
        self.emit([[tup["number"] for tup in self.kept]], anchors=self.kept)
        self.emit([len(self.kept)], stream="single", direct_task=self.ctx.component_tasks("single")[-1], anchors=[])
        for tup in self.kept:
            self.ack(tup)
        self.kept.clear()

    def finish(self) -> None:
        if self.kept:
            self.send()


class ThreadBundle(Bundle):
    execution = "thread"


class Refuse(Bolt):
    """Refuses a bundle the first time it sees it."""

    outputs = ["numbers"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Tuple) -> None:
        if tup["numbers"] not in self.seen:
            self.seen.append(tup["numbers"])
            raise ValueError("not yet")
        self.emit(tup.values)


class Count(Bolt):
    outputs = ["task", "number"]

    def process(self, tup: Tuple) -> None:
        self.emit([self.ctx.task_index, tup["number"]])


@in_one_worker_and_in_two
@pytest.mark.parametrize("kind", [Bundle, ThreadBundle])
def test_what_a_bolt_keeps_it_can_emit_and_ack_at_the_end(workers: int, kind: type[Bolt]) -> None:
    class Bundles(Topology):
        numbers = Numbers.spec()
        bundle = kind.spec(inputs=[numbers])
        again = Bundle.spec(inputs={bundle["single"]: Grouping.DIRECT})
        single = Count.spec(inputs={bundle["single"]: Grouping.DIRECT, again["single"]: Grouping.DIRECT}, par=2)

    result = complete_topology(Bundles, {"numbers": rows(10)}, workers=workers)
    assert result.rows("bundle") == [([0, 1, 2, 3],), ([4, 5, 6, 7],), ([8, 9],)]
    assert result.rows("single") == [(1, 4), (1, 4), (1, 2)]
    assert sorted(result.acked["numbers"]) == list(range(10))
    assert result.failed == {"numbers": []}
    assert result.seconds < 1, "nothing timed out"


class Keep(Bolt):
    """Keeps all its tuples until the end."""

    outputs = ["number"]
    auto_ack = False

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.kept: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.kept.append(tup)

    def finish(self) -> None:
        for tup in self.kept:
            self.emit(tup.values, anchors=[tup])
            self.ack(tup)
        self.kept.clear()


class AsyncKeep(Keep):
    concurrency = 2

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0.001)
        super().process(tup)

    async def finish(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0.5)
        super().finish()


class ThreadKeep(Keep):
    execution = "thread"


@in_one_worker_and_in_two
def test_bolts_that_keep_tuples_for_the_end_may_stand_in_a_row(workers: int) -> None:
    class Row(Topology):
        numbers = Numbers.spec()
        first = Keep.spec(inputs=[numbers], par=2)
        second = Keep.spec(inputs=[first], par=2)

    result = complete_topology(Row, {"numbers": rows(10)}, workers=workers)
    assert sorted(result.rows("second")) == [(n,) for n in range(10)]
    assert sorted(result.acked["numbers"]) == list(range(10))
    assert result.seconds < 1


@in_one_worker_and_in_two
def test_what_fails_after_the_end_is_replayed_and_the_instances_that_got_it_finish_again(workers: int) -> None:
    class Refused(Topology):
        numbers = Numbers.spec()
        bundle = Bundle.spec(inputs=[numbers])
        refuse = Refuse.spec(inputs=[bundle])
        single = Count.spec(inputs={bundle["single"]: Grouping.DIRECT})

    result = complete_topology(Refused, {"numbers": rows(2)}, workers=workers, replays=1)
    assert result.rows("refuse") == [([0, 1],)]
    assert result.rows("single") == [(0, 2), (0, 2)]
    assert sorted(result.acked["numbers"]) == [0, 1]
    assert result.counts["numbers"].replayed == 2


def test_a_bolt_that_fails_what_it_kept_gets_it_again_until_the_spout_gives_up() -> None:
    class Fails(Bolt):
        outputs = ["kept"]
        auto_ack = False

        def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
            self.kept: list[Tuple] = []

        def process(self, tup: Tuple) -> None:
            self.kept.append(tup)

        def finish(self) -> None:
            self.emit([len(self.kept)])
            for tup in self.kept:
                self.fail(tup)
            self.kept.clear()

    class Failing(Topology):
        numbers = Numbers.spec()
        fails = Fails.spec(inputs=[numbers])

    result = complete_topology(Failing, {"numbers": rows(3)}, replays=2)
    assert result.rows("fails") == [(3,), (3,), (3,)]
    assert len(result.failed["numbers"]) == 9
    assert result.seconds < 1


def test_what_others_keep_and_do_not_ack_is_waited_for() -> None:
    class Pair(Bolt):
        outputs = ["number"]
        auto_ack = False

        def process(self, tup: Tuple) -> None:
            if tup["number"] % 2:
                self.ack(tup)

    class Pairs(Topology):
        numbers = Numbers.spec()
        pair = Pair.spec(inputs=[numbers])
        everyone = Everyone.spec(inputs=[pair])

    with StepRun(Pairs, inputs={"numbers": rows(3)}) as run:
        run.run_until_idle()
        with pytest.raises(DrainTimeoutError, match="left: numbers: 2"):
            run.run_to_end(most_seconds=10)
        assert run.emitted.get("everyone") is None
        run.run_to_end()  # they time out
        assert run.emitted["everyone"]["default"] == [(0, -1)]


# ---- what goes wrong


class UnpicklableError(Exception):
    def __init__(self, first: str, second: object) -> None:
        super().__init__(f"{first} cannot be said")
        self.second = second

    def __reduce__(self) -> Any:
        raise TypeError("never pickled")


FAILURES: list[Any] = [
    partial(ValueError, "at the end"),
    partial(UnpicklableError, "it", object()),
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    partial(SystemExit, 3),
    KeyboardInterrupt,
    asyncio.CancelledError,
    MemoryError,
    RecursionError,
]


def raising(kind: type[Bolt], error: Any) -> type[Bolt]:
    def raises(self: Any) -> None:
        if self.ctx.task_index == 1:
            self.emit([-1, 1])
            raise error()
        Tally.finish(self)

    async def raises_async(self: Any) -> None:
        await asyncio.sleep(0)
        raises(self)

    return type(f"Raising{kind.__name__}", (kind,), {"finish": raises_async if kind is AsyncTally else raises})


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: getattr(error, "func", error).__name__)
@pytest.mark.parametrize("kind", [Tally, BatchTally, ThreadTally, AsyncTally, AsyncWithPlainFinish])
@in_one_worker_and_in_two
def test_a_finish_that_raises_is_reported_and_the_others_finish(workers: int, kind: type[Bolt], error: Any) -> None:
    # one by one, so that replicas take turns
    numbers = [each for row in rows(30) for each in (row, PAUSE(0.01))]
    result = complete_topology(tallies(raising(kind, error)), {"numbers": numbers}, workers=workers)
    assert [report.component for report in result.errors] == ["tally"]
    text = result.errors[0].text
    assert "in raises" in text
    assert type(error()).__name__ in text
    assert result.counts["tally"].errors == 1
    # what the failed call had emitted is not sent
    assert all(key >= 0 for key, _ in result.rows("tally"))
    assert {key for key, _ in result.rows("sink")} == set(range(KEYS))
    assert 0 < sum(count for _, count in result.rows("sink")) < 30
    assert sorted(result.acked["numbers"]) == list(range(30))


def test_what_a_failed_call_had_acked_fails_and_is_replayed_to_one_that_does_not() -> None:
    class Once(Bundle):
        raised = False

        def finish(self) -> None:
            kept = list(self.kept)
            super().finish()
            if not type(self).raised:
                type(self).raised = True
                self.kept = kept
                raise OSError("the store is away")

    class Bundles(Topology):
        numbers = Numbers.spec()
        bundle = Once.spec(inputs=[numbers])
        single = Count.spec(inputs={bundle["single"]: Grouping.DIRECT})

    result = complete_topology(Bundles, {"numbers": rows(2)}, replays=1)
    assert sorted(result.failed["numbers"]) == sorted(result.acked["numbers"]) == [0, 1]
    assert {number for (numbers,) in result.rows("bundle") for number in numbers} == {0, 1}
    assert "OSError: the store is away" in result.errors[0].text
    assert result.seconds < 1


@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.fields("number")])
@pytest.mark.parametrize("kind", [Tally, ThreadTally, AsyncTally])
def test_the_task_that_failed_is_named(kind: type[Bolt], grouping: Any) -> None:
    result = complete_topology(tallies(raising(kind, ValueError), grouping, par=1), {"numbers": rows(3)})
    first = tallies(Tally).blueprint().components["tally"].first_task
    assert [report.index for report in result.errors] == [first + 1]


def test_an_emission_that_does_not_fit_its_stream_is_reported() -> None:
    class Wide(Everyone):
        def finish(self) -> None:
            self.emit([1, 2, 3])

    class Wider(Topology):
        numbers = Numbers.spec()
        wide = Wide.spec(inputs=[numbers])

    result = complete_topology(Wider, {"numbers": rows(1)})
    assert "EmitError" in result.errors[0].text
    assert result.rows("wide") == []


# ---- while it takes its time


class Long(Everyone):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        pass

    async def finish(self) -> None:  # type: ignore[override]
        await asyncio.sleep(20)
        super().finish()


class Longs(Topology):
    numbers = Numbers.spec()
    long = Long.spec(inputs={numbers: Grouping.fields("number")}, par=2, pool=4)
    sink = Count.spec(inputs=[long])


@in_one_worker_and_in_two
def test_a_topology_whose_bolts_finish_is_not_idle(workers: int) -> None:
    with StepRun(Longs, workers, inputs={"numbers": rows(5)}) as run:
        with pytest.raises(DrainTimeoutError, match="left: long: "):
            run.run_to_end(most_seconds=10)
        assert not run.finished()
        assert run.emitted.get("sink") is None
        run.run_to_end()
        assert sorted(run.emitted["sink"]["default"]) == [(0, -1)] * 4


@in_one_worker_and_in_two
def test_what_dies_meanwhile_is_not_waited_for(workers: int) -> None:
    with StepRun(Longs, workers, inputs={"numbers": rows(5)}) as run:
        with pytest.raises(DrainTimeoutError):
            run.run_to_end(most_seconds=10)
        run.kill("w0")
        run.restart("w0")
        run.run_to_end()
        said = [task for task, _ in run.emitted.get("long", {}).get("default", [])]
        assert len(said) == len(set(said)), "a fresh instance has nothing to say"
        assert len(said) == (0 if workers == 1 else 2)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("kind", [Keep, AsyncKeep, ThreadKeep])
def test_whatever_dies_when_all_that_was_kept_for_the_end_comes_out(kind: type[Bolt], seed: int) -> None:
    class Kept(Topology):
        numbers = Numbers.spec(par=2)
        first = kind.spec(inputs={numbers: Grouping.fields("number")}, par=2, pool=4)
        second = kind.spec(inputs={first: Grouping.SHUFFLE}, par=3)
        sink = Keep.spec(inputs=[second])

    random = Random(seed)
    with StepRun(Kept, 3, inputs={"numbers": rows(60)}, options=StepOptions(seed=seed, delays=True)) as run:
        start = run.clock.peek()
        for _ in range(6):
            for _ in range(random.randrange(1, 12)):
                run.step()
            if random.random() < 0.5:
                with suppress(DrainTimeoutError):
                    run.run_to_end(most_seconds=random.choice([0.1, 0.6]), most_steps=random.randrange(20, 200))
            victim = random.choice(sorted(run.workers))
            run.kill(victim)
            for _ in range(random.randrange(10)):
                run.step()
            run.restart(victim)
        run.run_to_end()
        assert {number for (number,) in run.emitted["sink"]["default"]} == set(range(60))
        assert set(run.verdicts.acked["numbers"]) == set(range(60))
        assert run.journal.of("error") == []
        assert run.clock.peek() < start + 25, "nobody had to time out"


def test_a_fresh_instance_that_got_replays_finishes() -> None:
    class Bundles(Topology):
        numbers = Numbers.spec()
        bundle = Bundle.spec(inputs=[numbers])
        single = Count.spec(inputs={bundle["single"]: Grouping.DIRECT})

    with StepRun(Bundles, 1, inputs={"numbers": rows(3)}) as run:
        run.run_until_idle()
        run.kill("w0")
        run.restart("w0")
        run.run_to_end()
        assert {number for (numbers,) in run.emitted["bundle"]["default"] for number in numbers} == {0, 1, 2}
        assert sorted(run.verdicts.acked["numbers"]) == [0, 1, 2]


def emptied(kind: type[Bolt]) -> type[Bolt]:
    """Forgets what it has said, so that asking it more than once does not count twice."""

    def finish(self: Any) -> None:
        Tally.finish(self)
        self.counts.clear()

    async def finish_async(self: Any) -> None:
        await asyncio.sleep(0.01)
        finish(self)

    return type(f"Emptied{kind.__name__}", (kind,), {"finish": finish_async if kind is AsyncTally else finish})


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [Tally, ThreadTally, AsyncTally])
def test_tasks_that_are_asked_while_they_move_say_everything_once(kind: type[Bolt], seed: int) -> None:
    class Moving(Topology):
        numbers = Numbers.spec(par=2)
        tally = emptied(kind).spec(inputs={numbers: Grouping.fields("number")}, par=4)
        sink = Everyone.spec(inputs=[tally])

    with StepRun(Moving, 3, inputs={"numbers": rows(100 * KEYS)}, options=StepOptions(seed=seed, delays=True)) as run:
        for count in [1, 4, 2, 3] * 5:
            run.set_active("tally", count, wait=False)
            for _ in range(3 + seed):
                run.step()
                for worker in run.workers.values():
                    worker.finish("tally")  # long before the end: whoever gets more after that is asked again
        run.run_to_end()
        said: Counter[int] = Counter()
        for key, number in run.emitted["tally"]["default"]:
            said[key] += number
        assert sorted(said.items()) == EXPECTED
        assert run.journal.of("error") == []
        assert len([report for report in run.journal.of("moved") if report.version > 1]) > 20, "tasks have moved between workers"


@pytest.mark.parametrize("seed", range(6))
def test_what_waited_for_a_task_that_moves_after_it_has_finished_is_said_too(seed: int) -> None:
    class Moving(Topology):
        numbers = Numbers.spec()
        tally = emptied(Tally).spec(inputs={numbers: Grouping.fields("number")}, par=4)

    groups: list[Any] = []
    for first in range(0, 120, 10):
        groups += [PAUSE(1), *(item for n in range(first, first + 10) for item in ([n], PAUSE(0)))]
    with StepRun(Moving, 2, inputs={"numbers": groups}, options=StepOptions(seed=seed, delays=True)) as run:
        for group, count in enumerate([1, 4] * 6, 1):
            run.run_until_idle()
            run.set_active("tally", count, wait=False)
            run.clock.advance(1)
            run.run_until_idle()
            for worker in run.workers.values():
                worker.finish("tally")
            run.run_until_idle()
            assert sum(count for _, count in run.emitted["tally"]["default"]) == 10 * group


# ---- replicas that live elsewhere from now on


def test_an_instance_that_is_closed_while_the_topology_goes_on_finishes_first() -> None:
    with StepRun(tallies(Tally, pool=2), 2, inputs={"numbers": [*rows(20), PAUSE(5), *rows(20), PAUSE(5), *rows(20)]}) as run:
        run.run_until_idle()
        run.kill("w1")
        run.advance(6)  # the replica of w1 works on w0
        before = run.counts()["tally"].executed
        run.restart("w1")
        run.settle()
        run.run_until_idle()
        assert sum(count for _, count in run.emitted["tally"]["default"]) > 0, "it had the last word when it left w0"
        assert before < run.counts()["tally"].executed + 20
        run.run_to_end()
        # all but what w1 took with it is said once
        assert sum(count for _, count in run.emitted["tally"]["default"]) == 50


# ---- what cannot run


def generator(self: Any) -> Iterator[int]:
    yield 1


async def coroutine(self: Any) -> None: ...


def with_argument(self: Any, order: int) -> None: ...


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        (generator, "finish() contains yield, so calling it would run nothing; call self.emit(...) instead of yield"),
        (coroutine, "finish() is async but process() is not, so nothing would await it; "
         "make both async, or neither (process decides how the bolt runs)"),
        (with_argument, "finish(self, order) is called as finish(): missing a required argument: 'order'; define finish(self)"),
        (3, "finish must be a method, got 3; define finish(self)"),
    ],
)  # fmt: skip
def test_a_finish_that_could_not_be_called_is_refused(finish: Any, expected: str) -> None:
    kind: Any = type("Wrong", (Everyone,), {"finish": finish})
    with pytest.raises(ValueError, match="finish") as caught:

        class Refused(Topology):
            numbers = Numbers.spec()
            wrong = kind.spec(inputs=[numbers])

    assert str(caught.value) == f"component 'wrong': {expected}"
