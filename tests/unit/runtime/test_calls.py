"""Where and when user code may emit, ack and fail; where hooks and generators of a bolt run; what is told of mistakes."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, Stream, Topology, TopologyBuilder, TopologyContext, Tuple, bolt
from pasps.testing import PAUSE, CompletedTopology, StepRun, complete_topology
from tests.unit.runtime.parts import Numbers, rows
from tests.unit.runtime.ways import RAISED


def completed(kind: Any, count: int = 3, **options: Any) -> CompletedTopology:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", kind).shuffle_grouping("numbers")
    return complete_topology(builder.create_topology("calls"), {"numbers": rows(count)}, **options)


class Emits(Bolt):
    outputs = [Stream(["number"]), Stream(["number"], "other"), Stream(["number"], "chosen", direct=True)]
    options: dict[str, Any] = {}
    values: Any = (1,)

    def process(self, tup: Tuple) -> None:
        self.emit(self.values, **self.options)


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ((1, 2), {}, "expected 1 values (number), got 2: (1, 2)"),
        ({"number": 1}, {}, "emit takes a list or tuple of 1 values, got {'number': 1}"),
        ((1,), {"stream": "wrod"}, "stream 'wrod': not declared in outputs; declared: chosen, default, other"),
        ((1,), {"anchors": [7]}, "anchors= takes the tuples that were received, got 7"),
        ((1,), {"anchors": [None]}, "anchors= takes the tuples that were received, got None"),
        ((1,), {"anchors": 7}, "anchors= takes the tuples that were received, got 7"),
        ((1,), {"stream": "chosen", "direct_task": 1}, "direct_task=1 is no task that subscribes to it; those are 3 to 3"),
        ((1,), {"stream": "chosen", "direct_task": "3"}, "direct_task='3' is no task that subscribes to it"),
        ((1,), {"stream": "chosen", "direct_task": True}, "direct_task=True is no task that subscribes to it"),
    ],
)
def test_a_wrong_emit_is_told_in_one_line_with_the_line_that_made_it(values: Any, options: dict[str, Any], words: str) -> None:
    wrong = type("Wrong", (Emits,), {"values": values, "options": options})
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", wrong).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).direct_grouping("bolt", "chosen")
    done = complete_topology(builder.create_topology("wrong"), {"numbers": rows(1)})
    (report,) = done.errors
    assert words in report.text
    assert report.text.startswith("EmitError: component 'bolt', stream ")
    assert "in process (test_calls.py:" in report.text
    assert report.text.endswith("self.emit(self.values, **self.options)")
    assert "\n" not in report.text
    assert done.failed["numbers"] == [0]


class Index:
    """An integer by its `__index__` alone."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


@pytest.mark.parametrize("kind", [np.int64, np.uint8, Index])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_direct_task_may_be_any_whole_number(workers: int, kind: Any) -> None:
    chosen = type("Chosen", (Emits,), {"options": {"stream": "chosen", "direct_task": kind(3)}})
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", chosen).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).direct_grouping("bolt", "chosen")
    done = complete_topology(builder.create_topology("direct"), {"numbers": rows(2)}, workers=workers)
    assert not done.errors
    assert sorted(done.acked["numbers"]) == [0, 1]
    assert len(done.rows("after")) == 2


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


class Collects(Bolt):
    """Emits what a hook tried, once there is a call."""

    outputs = ["error"]
    hook = ""
    said: list[str] = []

    def attempt(self, hook: str) -> None:
        if hook == self.hook:
            try:
                self.emit(["too early"])
            except Exception as error:  # noqa: BLE001 - whatever it is
                self.said.append(str(error))

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.attempt("initialize")

    def activate(self) -> None:
        self.attempt("activate")

    def deactivate(self) -> None:
        self.attempt("deactivate")

    def close(self) -> None:
        self.attempt("close")

    def process(self, tup: Tuple) -> None:
        self.emit(["in time"])


class CollectsAsync(Collects):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.emit(["in time"])


class CollectsOnThread(Collects):
    execution = "thread"


@pytest.mark.parametrize("hook", ["initialize", "activate", "close"])
@pytest.mark.parametrize("kind", [Collects, CollectsAsync, CollectsOnThread])
def test_emit_outside_of_a_call_says_where_one_may_emit(kind: type[Collects], hook: str) -> None:
    said: list[str] = []
    done = completed(type("Kind", (kind,), {"hook": hook, "said": said}), 1)
    assert done.rows("bolt") == [("in time",)]
    (text,) = said
    assert "component 'bolt'" in text
    assert "emit, ack and fail work only during a call of process" in text


def test_emit_after_the_call_has_returned_is_refused() -> None:
    kept: list[Bolt] = []

    class Keeps(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            kept.append(self)

    completed(Keeps, 1)
    with pytest.raises(Exception, match="only during a call of process"):
        kept[0].emit([1])


@pytest.mark.parametrize("stream", ["default", "other"])
def test_in_a_batch_an_emission_without_anchors_is_refused_on_every_stream(stream: str) -> None:
    class Loose(BatchBolt):
        outputs = [Stream(["number"]), Stream(["number"], "other")]

        def process_batch(self, tuples: list[Tuple]) -> None:
            self.emit([1], stream=stream)

    done = completed(Loose, 2)
    assert sorted(done.failed["numbers"]) == [0, 1]
    assert all("emit needs anchors=" in report.text for report in done.errors)
    assert not done.rows("bolt", stream)


class Threads(Bolt):
    """Says on which thread each of its methods ran."""

    outputs = ["number"]
    execution = "thread"
    ran: dict[str, int] = {}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.note("initialize")

    def note(self, name: str) -> None:
        self.ran[name] = threading.get_ident()

    def activate(self) -> None:
        self.note("activate")

    def deactivate(self) -> None:
        self.note("deactivate")

    def close(self) -> None:
        self.note("close")

    def on_move_out(self) -> None:
        self.note("on_move_out")

    def process(self, tup: Tuple) -> None:
        self.note("process")
        self.emit(tup.values)

    def process_tick(self, tup: Tuple) -> None:
        self.note("process_tick")


def test_all_hooks_of_a_bolt_on_a_thread_run_on_that_thread() -> None:
    ran: dict[str, int] = {}

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Threads,), {"ran": ran}).spec(  # type: ignore[attr-defined]
            inputs={numbers: Grouping.fields("number")}, config={"topology.tick.tuple.freq.secs": 1}
        )

    with StepRun(Topo, 1, inputs={"numbers": rows(2)}) as run:
        run.run_to_end()
        run.advance(1.5)
    assert set(ran) == {"initialize", "activate", "process", "process_tick", "close"}
    assert len(set(ran.values())) == 1
    assert threading.get_ident() not in ran.values()


def test_a_task_that_leaves_its_worker_is_told_so_on_its_thread() -> None:
    ran: dict[str, int] = {}

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Threads,), {"ran": ran}).spec(  # type: ignore[attr-defined]
            inputs={numbers: Grouping.fields("number")}, par=1, pool=4, config={"topology.tick.tuple.freq.secs": None}
        )

    with StepRun(Topo, 2, inputs={"numbers": rows(40)}) as run:
        run.step()
        run.set_active("bolt", 4)
        run.run_to_end()
        done = run.emitted["bolt"]["default"]
    assert sorted(row[0] for row in done) == list(range(40))
    assert ran["on_move_out"] != threading.get_ident()


def test_a_generator_on_a_thread_runs_there() -> None:
    ran: list[int] = []

    @bolt(outputs=["number"], execution="thread")
    def work(number: int) -> Iterator[tuple[int]]:
        ran.append(threading.get_ident())
        yield (number,)

    assert len(completed(work, 2).rows("bolt")) == 2
    assert threading.get_ident() not in ran


def test_a_bolt_on_a_thread_may_ask_who_gets_its_tuple() -> None:
    class Asks(Bolt):
        outputs = [Stream(["number"]), Stream(["tasks"], "told")]
        execution = "thread"

        def process(self, tup: Tuple) -> None:
            tasks = self.emit(tup.values, need_task_ids=True)
            self.emit([tasks], stream="told")

    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", Asks).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).shuffle_grouping("bolt")
    done = complete_topology(builder.create_topology("asks"), {"numbers": rows(3)})
    assert done.rows("bolt", "told") == [([3],)] * 3
    assert sorted(done.acked["numbers"]) == [0, 1, 2]


class Refuses:
    """A custom grouping that raises what is no Exception."""

    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, source_task: int, values: tuple[Any, ...]) -> Any:
        if values[0] == 1:
            raise SystemExit("cannot choose")
        return [np.int64(self.tasks[0])]


@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_a_grouping_that_raises_costs_the_call_that_asked(execution: str) -> None:
    class Asks(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values, need_task_ids=True)

    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", type("Kind", (Asks,), {"execution": execution})).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).custom_grouping("bolt", Refuses())
    done = complete_topology(builder.create_topology("refuses"), {"numbers": rows(3)})
    assert done.failed["numbers"] == [1]
    assert sorted(done.acked["numbers"]) == [0, 2]
    assert "cannot choose" in done.errors[0].text


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
    assert "work (test_calls.py:" in report.text


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


class Endless(Spout):
    outputs = ["number"]

    def next_tuple(self) -> None:
        raise EndOfInput


@pytest.mark.parametrize("kind", ["inline", "async"])
def test_a_real_interrupt_ends_a_step_run(kind: str) -> None:
    class Interrupts(Bolt):
        def process(self, tup: Tuple) -> None:
            signal.raise_signal(signal.SIGINT)

    class Awaits(Bolt):
        async def process(self, tup: Tuple) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        completed(Interrupts if kind == "inline" else Awaits, 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_any_length_is_told_in_words_that_can_travel() -> None:
    class Long(Bolt):
        def process(self, tup: Tuple) -> None:
            raise ValueError("\ud800" + "x" * 1_000_000)

    (report,) = completed(Long, 1).errors
    assert len(report.text.encode()) < 10_000
    assert "ValueError: \\ud800xxx" in report.text
    assert report.text.count("  File ") == 1  # the frames of user code alone


# ---- ticks and hooks

TICKS = {"topology.tick.tuple.freq.secs": 1}


def ticking(how: str, fault: str) -> Any:
    """A bolt whose every second tick raises, after it has emitted."""

    class Ticking(Bolt):
        outputs = ["number"]
        execution = "thread" if how == "thread" else "inline"
        ticks = 0

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values)

        def process_tick(self, tup: Tuple) -> None:
            self.ticks += 1
            self.emit([-self.ticks])
            if self.ticks % 2:
                RAISED[fault]()

    class Awaiting(Ticking):
        async def process(self, tup: Tuple) -> None:  # type: ignore[override]
            self.emit(tup.values)

        async def process_tick(self, tup: Tuple) -> None:  # type: ignore[override]
            await asyncio.sleep(0.01)
            super().process_tick(tup)

    return Awaiting if how == "async" else Ticking


@pytest.mark.parametrize("fault", RAISED)
@pytest.mark.parametrize("how", ["inline", "thread", "async"])
def test_a_tick_that_raises_sends_nothing_and_stops_nothing(how: str, fault: str) -> None:
    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = ticking(how, fault).spec(inputs=[numbers], config=TICKS)

    with StepRun(Topo, 1, inputs={"numbers": [[1], PAUSE(2.5), [2], PAUSE(2.0), [3]]}) as run:
        run.advance(5.5)
        assert [row[0] for row in run.emitted["bolt"]["default"]] == [1, -2, 2, -4, 3]
        told = run.journal.of("error")
    assert len(told) == 3
    assert all(report.component == "bolt" for report in told)


class ThreeOfTwo(tuple[Any, ...]):
    """Has two values, and gives three."""

    def __iter__(self) -> Iterator[Any]:
        return iter((1, 2, 3))


class TwoOfThree(list[Any]):
    """Has two values, and says three."""

    def __len__(self) -> int:
        return 3


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


@pytest.mark.parametrize("how", ["returned", "emitted", "emitted with anchors"])
@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_rows_are_as_wide_as_what_they_give(execution: Any, how: str) -> None:
    @bolt(outputs=["one", "two"], execution=execution)
    def returns(number: int) -> Any:
        return ThreeOfTwo((1, 2)) if number == 1 else (number, number)

    class EmitsIt(Bolt):
        outputs = ["one", "two"]

        def process(self, tup: Tuple) -> None:
            row = ThreeOfTwo((1, 2)) if tup[0] == 1 else (tup[0], tup[0])
            self.emit(row, anchors=[tup] if how != "emitted" else None)

    done = completed(returns if how == "returned" else type("Kind", (EmitsIt,), {"execution": execution}))
    assert done.failed["numbers"] == [1]
    assert sorted(done.rows("bolt")) == [(0, 0), (2, 2)]


def test_results_are_as_many_as_they_give() -> None:
    @bolt(outputs=["number"], batch=True)
    def returns(batch: list[Any]) -> list[Any]:
        return TwoOfThree([1, 2])

    done = completed(returns)
    (report,) = done.errors
    assert "expected a list of 3 results, one for each tuple (None filters), got 2 results" in report.text
    assert sorted(done.failed["numbers"]) == [0, 1, 2]


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


@pytest.mark.parametrize("raised", [ValueError, SystemExit])
def test_a_log_filter_that_raises_ends_no_worker(raised: type[BaseException]) -> None:
    def refuses(record: logging.LogRecord) -> bool:
        raise raised("no log")

    log = logging.getLogger("pasps.runtime.worker")
    log.addFilter(refuses)
    try:
        done = completed(Raises)
    finally:
        log.removeFilter(refuses)
    assert done.failed["numbers"] == [0, 1, 2]
    assert [report.text.splitlines()[-1] for report in done.errors] == ["ValueError: for the log"] * 3


class Raises(Bolt):
    def process(self, tup: Tuple) -> None:
        raise ValueError("for the log")


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


class SaysStringError(Exception):
    __class__ = str  # type: ignore[assignment]


class SaysNoClassError(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise ValueError("no class")


@pytest.mark.parametrize("error", [SaysStringError, SaysNoClassError])
def test_an_exception_may_say_anything_of_its_class(error: type[Exception]) -> None:
    @bolt(outputs=["number"])
    def passes_some(number: int) -> tuple[int]:
        if number == 1:
            raise error("odd")
        return (number,)

    done = completed(passes_some)
    assert sorted(done.acked["numbers"]) == [0, 2]
    assert done.failed["numbers"] == [1]
    (report,) = done.errors
    assert error.__name__ in report.text


class Hides(Bolt):
    """Raises when one of its methods is looked up."""

    outputs = ["number"]
    hidden = ""

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)

    def process_tick(self, tup: Tuple) -> None: ...

    def finish(self) -> None: ...

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "hidden"):
            raise ValueError(f"no {name}")
        return object.__getattribute__(self, name)


class HidesAwaited(Hides):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.emit(tup.values)


@pytest.mark.parametrize("name", ["process", "process_tick", "finish", "activate", "deactivate", "close"])
@pytest.mark.parametrize("how", ["inline", "thread", "async"])
def test_a_method_that_cannot_be_looked_up_fails_as_one_that_raises(how: str, name: str) -> None:
    members = {"hidden": name, "execution": "inline" if how == "async" else how}

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (HidesAwaited if how == "async" else Hides,), members).spec(  # type: ignore[attr-defined]
            inputs=[numbers], par=2, pool=2, config=TICKS
        )

    run = StepRun(Topo, 1, inputs={"numbers": [*rows(4), PAUSE(1.5)]})
    run.run_to_end()
    run.set_active("bolt", 1)
    run.run_until_idle()
    failed = name == "process"
    assert sorted(run.verdicts.failed["numbers"]) == ([0, 1, 2, 3] if failed else [])
    assert len(run.emitted.get("bolt", {}).get("default", [])) == (0 if failed else 4)
    run.close()
    told = run.journal.of("error")
    assert told
    assert all(f"ValueError: no {name}" in report.text for report in told)


class OneAtATime(Bolt):
    """Notices when two of its methods run at once."""

    outputs = ["number"]
    overlaps: list[str] = []
    inside = ""

    async def alone(self, name: str) -> None:
        if self.inside:
            self.overlaps.append(f"{name} beside {self.inside}")
        self.inside = name
        await asyncio.sleep(0.4)
        self.inside = ""

    async def process(self, tup: Tuple) -> None:
        await self.alone("process")
        self.emit(tup.values)

    async def process_tick(self, tup: Tuple) -> None:
        await self.alone("process_tick")


def test_a_tick_never_runs_beside_process_while_tasks_move_between_replicas() -> None:
    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = OneAtATime.spec(inputs={numbers: Grouping.fields("number")}, par=1, pool=4, config=TICKS)

    OneAtATime.overlaps.clear()
    with StepRun(Topo, 1, inputs={"numbers": rows(60)}) as run:
        for step in range(30):
            run.advance(0.3)
            run.set_active("bolt", 1 + step % 4, wait=False)
        run.run_to_end()
        assert sorted(row[0] for row in run.emitted["bolt"]["default"]) == list(range(60))
    assert OneAtATime.overlaps == []


@pytest.mark.parametrize("fault", RAISED)
@pytest.mark.parametrize("hook", ["activate", "deactivate", "close"])
@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_a_hook_that_raises_is_told_and_stops_nothing(execution: str, hook: str, fault: str) -> None:
    def raises(self: Bolt) -> None:
        RAISED[fault]()

    class Passes(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values)

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Passes,), {"execution": execution, hook: raises}).spec(  # type: ignore[attr-defined]
            inputs=[numbers], par=2, pool=2
        )

    run = StepRun(Topo, 1, inputs={"numbers": rows(4)})
    run.run_to_end()
    run.set_active("bolt", 1)
    run.set_active("bolt", 2)
    run.run_until_idle()
    assert len(run.emitted["bolt"]["default"]) == 4
    run.close()
    told = run.journal.of("error")
    assert len(told) == {"activate": 3, "deactivate": 1, "close": 2}[hook]
    assert {report.component for report in told} == {"bolt"}


@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_nothing_is_called_behind_close(execution: str) -> None:
    called: list[str] = []

    class Notes(Bolt):
        def process(self, tup: Tuple) -> None:
            called.append("process")

        def process_tick(self, tup: Tuple) -> None:
            called.append("process_tick")

        def close(self) -> None:
            called.append("close")

    class Topo(Topology):
        numbers = Numbers.spec()
        bolt = type("Kind", (Notes,), {"execution": execution}).spec(inputs=[numbers], config=TICKS)  # type: ignore[attr-defined]

    run = StepRun(Topo, 1, inputs={"numbers": rows(500)})
    run.step()
    (worker,) = run.workers.values()
    worker.close()
    run.clock.advance_to(run.clock.peek() + 5.0)
    while worker.step():
        pass
    assert called[-1] == "close"
    assert called.count("close") == 1


def test_an_exception_that_is_reported_stays_its_owner_s() -> None:
    lines: list[int] = []

    class Reports(Bolt):
        def process(self, tup: Tuple) -> None:
            try:
                raise ValueError("reported, and looked at later")
            except ValueError as error:
                self.ctx.report_error(error)
                lines.append(len(traceback.format_exception(error)))

    done = completed(Reports, 1)
    assert lines == [3]
    assert "reported, and looked at later" in done.errors[0].text
    assert done.counts["bolt"].errors == 1


def test_a_call_on_a_thread_that_does_not_come_back_is_told_once_with_its_line() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Waits(Bolt):
        execution = "thread"

        def process(self, tup: Tuple) -> None:
            begun.set()
            go_on.wait(20)

    class Topo(Topology):
        config = {"topology.message.timeout.secs": 30}
        numbers = Numbers.spec()
        bolt = Waits.spec(inputs=[numbers])

    with StepRun(Topo, 1, inputs={"numbers": rows(1)}) as run:
        while not begun.is_set():
            run.step()
        for _ in range(10):  # not by `advance`: that waits for the thread
            run.clock.advance_to(run.clock.peek() + 29)
            run.step()
        told = [report.text for report in run.journal.of("error") if "has not come back" in report.text]
        go_on.set()
    assert len(told) == 1
    assert "a call has not come back for" in told[0]
    assert "in process (test_calls.py:" in told[0]
    assert "go_on.wait(20)" in told[0]
    assert "topology.message.timeout.secs is 30" in told[0]


def test_an_awaited_call_that_does_not_come_back_is_told_once() -> None:
    class Waits(Bolt):
        async def process(self, tup: Tuple) -> None:
            await asyncio.sleep(1000)

    class Topo(Topology):
        config = {"topology.message.timeout.secs": 30}
        numbers = Numbers.spec()
        bolt = Waits.spec(inputs=[numbers])

    with StepRun(Topo, 1, inputs={"numbers": rows(1)}) as run:
        run.advance(300)
        told = [report for report in run.journal.of("error") if "has not come back" in report.text]
    assert [(report.component, report.index) for report in told] == [("bolt", 2)]
