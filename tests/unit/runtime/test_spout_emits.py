"""What spouts emit: checked where it is emitted, from where it may be, and never left lying."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Stream, Topology, TopologyContext, Tuple
from pasps.errors import EmitError
from pasps.runtime.snapshot import take_counts
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.testing import StepRun


class Keep(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values[:1])


class Script(Spout):
    """Does what it is told in the first call of `next_tuple`; then it has ended."""

    outputs = [Stream(["number"]), Stream(["number"], name="own", direct=True), Stream(["number"], name="more")]
    calls = 0

    def act(self) -> Any:
        """What the test is about."""

    def next_tuple(self) -> float | None:
        self.calls += 1
        if self.calls > 1:
            raise EndOfInput
        return self.act()  # type: ignore[no-any-return]


def topology(spout: type[Spout]) -> type[Topology]:
    class Line(Topology):
        numbers = spout.spec()
        keep = Keep.spec(inputs={numbers: Grouping.SHUFFLE, numbers["more"]: Grouping.SHUFFLE})
        owner = Keep.spec(inputs={numbers["own"]: Grouping.DIRECT}, par=2)

    return Line


def spout_of(run: StepRun) -> SpoutExecutor:
    return next(spout for worker in run.workers.values() for spout in worker.residents.spouts.values())


def texts(run: StepRun) -> list[str]:
    return [report.text for report in run.journal.of("error")]


def kept(run: StepRun, component: str = "keep") -> list[Any]:
    return [row[0] for row in run.emitted.get(component, {}).get("default", [])]


def numbers() -> Iterator[int]:
    yield 1


# ---- wrong arguments: told with component, stream and value, and nothing of the call is emitted

MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "none": (lambda s: s.emit(None), "emit takes a list or tuple of 1 values, got None"),
    "text": (lambda s: s.emit("x"), "emit takes a list or tuple of 1 values, got 'x'"),
    "dict": (lambda s: s.emit({"number": 1}), "emit takes a list or tuple of 1 values, got {'number': 1}"),
    "number": (lambda s: s.emit(1), "emit takes a list or tuple of 1 values, got 1"),
    "generator": (lambda s: s.emit(numbers()), "emit takes a list or tuple of 1 values, got <generator"),
    "width": (lambda s: s.emit([1, 2]), "expected 1 values (number), got 2: [1, 2]"),
    "stream": (lambda s: s.emit([1], stream="mroe"), "component 'numbers', stream 'mroe': not declared in outputs"),
    "unhashable": (lambda s: s.emit([1], tup_id=[7]), "a tup_id must be hashable, got [7]"),
    "deeply unhashable": (lambda s: s.emit([1], tup_id=(7, {})), "a tup_id must be hashable, got (7, {})"),
    "no such task": (lambda s: s.emit([1], 7, stream="own", direct_task=99), "direct_task= takes the id of a task that subscribes"),
    "task by name": (lambda s: s.emit([1], 7, stream="own", direct_task="owner"), "that subscribes to it, got 'owner'"),
    "task that is true": (lambda s: s.emit([1], 7, stream="own", direct_task=True), "that subscribes to it, got True"),
    "rows none": (lambda s: s.emit_batch(None), "emit_batch takes a list of rows, got None"),
    "rows text": (lambda s: s.emit_batch("ab"), "emit_batch takes a list of rows, got 'ab'"),
    "rows generator": (lambda s: s.emit_batch((i,) for i in range(3)), "emit_batch takes a list of rows, got <generator"),
    "rows set": (lambda s: s.emit_batch({(1,), (2,)}), "emit_batch takes a list of rows, got {("),
    "row text": (lambda s: s.emit_batch([(1,), (2,), "x"]), "row 2 of the 3 of this emit_batch: emit takes a list or tuple of 1 values"),
    "row number": (lambda s: s.emit_batch([(1,), 2]), "row 1 of the 2 of this emit_batch: emit takes a list or tuple of 1 values, got 2"),
    "row width": (lambda s: s.emit_batch([(1,), (1, 2), (3,)]), "row 1 of the 3 of this emit_batch: expected 1 values (number), got 2"),
    "ids too few": (lambda s: s.emit_batch([(1,), (2,)], [1]), "expected one tup_id for each of 2 rows, got 1"),
    "ids without rows": (lambda s: s.emit_batch([], [1]), "expected one tup_id for each of 0 rows, got 1"),
    "ids text": (lambda s: s.emit_batch([(1,), (2,)], "ab"), "emit_batch takes a list of tup_ids, got 'ab'"),
    "ids number": (lambda s: s.emit_batch([(1,)], 5), "emit_batch takes a list of tup_ids, got 5"),
    "id unhashable": (lambda s: s.emit_batch([(1,), (2,)], [1, {}]), "tup_ids[1]: a tup_id must be hashable, got {}"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_emission_is_told_where_it_is_made(name: str) -> None:
    act, expected = MISTAKES[name]
    with StepRun(topology(type("Kind", (Script,), {"act": act})), 1) as run:
        run.run_to_end()
        (told,) = texts(run)
        assert "EmitError: component 'numbers', stream '" in told
        assert expected in told
        assert "test_spout_emits.py" in told
        assert (kept(run), kept(run, "owner")) == ([], [])


def test_a_huge_value_makes_no_huge_message() -> None:
    class Big(Script):
        def act(self) -> None:
            self.emit([1], tup_id=["x" * 1_000_000])

    with StepRun(topology(Big), 1) as run:
        run.run_to_end()
        assert len(texts(run)[0]) < 3000


def test_sequences_of_all_kinds_are_batches() -> None:
    class Kinds(Script):
        def act(self) -> None:
            self.emit_batch(deque([[1], (2,)]), numpy.arange(2))  # type: ignore[arg-type] # it is no Sequence, and will do
            self.emit_batch(((3,), [4]), range(2, 4))
            self.emit_batch([], [])

    with StepRun(topology(Kinds), 1) as run:
        run.run_to_end()
        assert sorted(kept(run)) == [1, 2, 3, 4]
        assert sorted(run.verdicts.acked["numbers"]) == [0, 1, 2, 3]
        assert texts(run) == []


# ---- from where


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("method", ["initialize", "activate", "deactivate", "close", "backlog"])
def test_an_emission_elsewhere_is_an_error_that_says_where_one_may(method: str, batch: bool) -> None:
    def emits(self: Any, *args: Any) -> None:
        if batch:
            self.emit_batch([(1,)])
        else:
            self.emit([1])

    kind = type("Kind", (Script,), {"act": lambda self: None, method: emits})
    name = "emit_batch" if batch else "emit"
    expected = f"component 'numbers', stream 'default': {name} was called elsewhere: a spout emits in next_tuple()"
    if method == "initialize":
        with pytest.raises(EmitError, match=re.escape(expected)):
            StepRun(topology(kind), 1)
        return
    with StepRun(topology(kind), 1) as run:
        run.run_to_end()
        worker = run.workers["w0"]
        worker.deactivate()
        take_counts(worker, 1)
        run.run_until_idle()
        assert kept(run) == []
    assert expected in texts(run)[0]


@pytest.mark.parametrize("during", [False, True])
def test_an_emission_of_another_thread_is_an_error_there(during: bool) -> None:
    caught: list[Exception] = []

    class Threaded(Script):
        def act(self) -> None:
            def emit() -> None:
                try:
                    self.emit([1])
                except EmitError as error:
                    caught.append(error)

            self.thread = threading.Thread(target=emit)
            if during:
                self.join()

        def join(self) -> None:
            self.thread.start()
            self.thread.join()

    with StepRun(topology(Threaded), 1) as run:
        run.run_to_end()
        if not during:
            spout_of(run).instance.join()
        run.run_until_idle()
        assert kept(run) == []
    assert "on the thread that calls them" in str(caught[0])


# ---- never idle while it emits


@pytest.mark.parametrize("how", ["direct", "ids"])
def test_a_spout_that_names_or_asks_for_its_receivers_is_not_taken_for_idle(how: str) -> None:
    class Busy(Spout):
        outputs = Script.outputs

        def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
            self.next, self.owner = 0, ctx.component_tasks("owner")[0]

        def next_tuple(self) -> float | None:
            if self.next == 500:
                raise EndOfInput
            self.next += 1
            if how == "direct":
                self.emit([self.next], tup_id=self.next, stream="own", direct_task=self.owner)
            else:
                assert self.emit([self.next], tup_id=self.next, need_task_ids=True)
            return None

    with StepRun(topology(Busy), 1) as run:
        start = run.clock.peek()
        run.run_to_end()
        assert run.clock.peek() == start, "it was left waiting"
        assert len(run.verdicts.acked["numbers"]) == 500
        assert (len(kept(run)), len(kept(run, "owner"))) == ((0, 500) if how == "direct" else (500, 0))


# ---- what `ack` and `fail` emit


class Echo(Spout):
    """Emits 1, and in `ack` (or `fail`) 100 more than what was settled, up to 301; asks for ten minutes in between, or has ended."""

    outputs = Script.outputs
    ends = False
    on_fail = False
    how: dict[str, Any] = {}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.begun = False

    def next_tuple(self) -> float | None:
        if self.begun:
            raise EndOfInput
        self.begun = True
        self.emit([1], tup_id=1)
        if self.ends:
            raise EndOfInput
        return 600.0

    def again(self, number: int) -> None:
        if number < 301:
            self.emit([number + 100], tup_id=number + 100, **self.how)

    def ack(self, number: int) -> None:
        if not self.on_fail:
            self.again(number)

    def fail(self, number: int) -> None:
        if self.on_fail:
            self.again(number)


class Fails(Keep):
    def process(self, tup: Tuple) -> None:
        super().process(tup)
        self.fail(tup)


HOW: list[dict[str, Any]] = [{}, {"stream": "more"}, {"need_task_ids": True}]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("ackers", [True, False])
@pytest.mark.parametrize("ends", [True, False])
def test_what_ack_emits_goes_out_at_once(ends: bool, ackers: bool, how: dict[str, Any]) -> None:
    kind = type("Kind", (Echo,), {"ends": ends, "how": how})
    with StepRun(topology(kind), 1, config=None if ackers else {"topology.acker.executors": 0}) as run:
        start = run.clock.peek()
        run.run_until_idle()
        assert run.clock.peek() == start
        assert kept(run) == [1, 101, 201, 301]
        assert run.verdicts.acked["numbers"] == [1, 101, 201, 301]
        assert spout_of(run).idle()
        assert texts(run) == []


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("ends", [True, False])
def test_what_fail_emits_goes_out_at_once(ends: bool, how: dict[str, Any]) -> None:
    class Line(Topology):
        numbers = type("Kind", (Echo,), {"ends": ends, "on_fail": True, "how": how}).spec()  # type: ignore[attr-defined]
        keep = Fails.spec(inputs={numbers: Grouping.SHUFFLE, numbers["more"]: Grouping.SHUFFLE})
        owner = Keep.spec(inputs={numbers["own"]: Grouping.DIRECT}, par=2)

    with StepRun(Line, 1) as run:
        start = run.clock.peek()
        run.run_until_idle()
        assert run.clock.peek() == start
        assert kept(run) == [1, 101, 201, 301]
        assert run.verdicts.failed["numbers"] == [1, 101, 201, 301]


def test_what_ack_emits_goes_out_while_the_spout_is_deactivated() -> None:
    class Slow(Keep):
        async def process(self, tup: Tuple) -> None:  # type: ignore[override]
            super().process(tup)

    class Line(Topology):
        numbers = type("Kind", (Echo,), {}).spec()  # type: ignore[attr-defined]
        keep = Slow.spec(inputs={numbers: Grouping.SHUFFLE, numbers["more"]: Grouping.SHUFFLE})
        owner = Keep.spec(inputs={numbers["own"]: Grouping.DIRECT}, par=2)

    with StepRun(Line, 1) as run:
        run.workers["w0"].step()
        run.workers["w0"].deactivate()
        run.run_until_idle()
        assert kept(run) == [1, 101, 201, 301]


def test_a_spout_counts_as_busy_while_what_it_emitted_waits() -> None:
    class Held(Echo):
        how = {}

    with StepRun(topology(Held), 1) as run:
        spout = spout_of(run)
        spout.collector.open()
        spout.instance.emit([5], tup_id=5)
        spout.collector.close()
        assert not spout.idle()
        assert run.left()["numbers"] >= 1


@pytest.mark.parametrize("how", [{}, {"need_task_ids": True}])
def test_a_spout_that_emits_for_every_ack_does_not_keep_its_worker_for_itself(how: dict[str, Any]) -> None:
    """To nobody: what it emits is acked at once."""

    class Endless(Spout):
        outputs = ["number"]

        def next_tuple(self) -> float | None:
            self.emit([0], tup_id=0, **how)
            raise EndOfInput

        def ack(self, number: int) -> None:
            self.emit([number + 1], tup_id=number + 1, **how)

    class Alone(Topology):
        numbers = Endless.spec()

    with StepRun(Alone, 1) as run:
        for _ in range(100):
            run.step()
        assert spout_of(run).meter.acked >= 100


class Refuses:
    """A custom grouping that takes nothing."""

    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None:
        """Nothing to prepare."""

    def choose_tasks(self, source_task: int, values: tuple[Any, ...]) -> list[int]:
        raise ValueError("not this one")


def test_a_spout_that_emits_again_at_once_what_cannot_be_routed_does_not_keep_its_worker_for_itself() -> None:
    class Stubborn(Spout):
        outputs = ["number"]

        def next_tuple(self) -> float | None:
            self.emit([0], tup_id=0)
            raise EndOfInput

        def fail(self, number: int) -> None:
            self.emit([0], tup_id=0)

    class Line(Topology):
        numbers = Stubborn.spec()
        keep = Keep.spec(inputs={numbers: Grouping.custom(Refuses())})

    with StepRun(Line, 1) as run:
        for _ in range(100):
            run.step()
        assert spout_of(run).meter.failed >= 50
        assert "ValueError: not this one" in texts(run)[0]
