"""Whatever a spout raises or returns: it is told with component, task and traceback, the worker lives, and the spout is asked again."""

from __future__ import annotations

import asyncio
import math
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy
import pytest

from pasps import Bolt, EndOfInput, Spout, Topology, TopologyContext, Tuple
from pasps.runtime.snapshot import take_counts
from pasps.runtime.spout_executor import SpoutExecutor, read_position
from pasps.testing import StepRun
from tests.unit.runtime.parts import add_one


class Own(BaseException):
    """A user's, and no Exception."""


class MuteError(Exception):
    def __init__(self, needed: int, also: int) -> None:
        super().__init__(needed)

    def __str__(self) -> str:
        raise ValueError("no words")


MAKERS: list[Callable[[], BaseException]] = [
    lambda: ValueError("out of order"),
    lambda: MuteError(1, 2),
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    asyncio.CancelledError,
    lambda: SystemExit(3),
    KeyboardInterrupt,
    MemoryError,
    RecursionError,
    Own,
]
RAISED = {type(make()).__name__: make for make in MAKERS}


class Faulty(Spout):
    """Emits 0, 1, 2 one by one; raises in the method that it is told to, once or always."""

    outputs = ["number"]
    where = ""
    make: Callable[[], BaseException] = ValueError
    always = False
    total = 3

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.numbers = list(range(self.total))
        self.raised: set[str] = set()
        self.failed_once = False
        self.fault("initialize")

    def fault(self, method: str) -> None:
        if method == self.where and (self.always or method not in self.raised):
            self.raised.add(method)
            raise type(self).__dict__["make"]()

    def next_tuple(self) -> float | None:
        self.fault("before")
        if not self.numbers:
            raise EndOfInput
        number = self.numbers.pop(0)
        self.emit([number], tup_id=number)
        self.fault("after")
        return None

    def ack(self, number: int) -> None:
        self.fault("ack")

    def fail(self, number: int) -> None:
        self.numbers.append(number)
        self.fault("fail")

    def activate(self) -> None:
        self.fault("activate")

    def deactivate(self) -> None:
        self.fault("deactivate")

    def close(self) -> None:
        self.fault("close")

    def backlog(self) -> int | None:
        self.fault("backlog")
        return len(self.numbers)

    def due_at(self, number: int) -> float | None:
        self.fault("due_at")
        return None


class FailsOnce(Bolt):
    """The first number that it sees."""

    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.seen = False

    def process(self, tup: Tuple) -> None:
        if not self.seen:
            self.seen = True
            self.fail(tup)
        else:
            self.emit(tup.values)


def line(spout: type[Spout], bolt: Any = add_one) -> type[Topology]:
    class Line(Topology):
        numbers = spout.spec()
        last = bolt.spec(inputs=[numbers])

    return Line


def spout_of(run: StepRun) -> SpoutExecutor:
    return next(iter(run.workers["w0"].residents.spouts.values()))


def errors(run: StepRun) -> list[str]:
    found = run.journal.of("error")
    assert {(report.component, report.index) for report in found} <= {("numbers", 1)}
    return [report.text for report in found]


@pytest.mark.parametrize("where", ["before", "after", "ack", "fail", "activate", "due_at"])
@pytest.mark.parametrize("name", RAISED)
def test_what_a_method_raises_is_told_and_nothing_is_lost(where: str, name: str) -> None:
    kind = type("Kind", (Faulty,), {"where": where, "make": RAISED[name]})
    with StepRun(line(kind, FailsOnce), 1) as run:
        run.run_to_end()
        (told,) = errors(run)
        assert name in told
        assert "in fault" in told
        spout = spout_of(run)
        assert sorted(row[0] for row in run.emitted["last"]["default"]) == [0, 1, 2]
        assert (spout.meter.acked, spout.meter.failed, spout.meter.errors) == (3, 1, 1)


@pytest.mark.parametrize("name", RAISED)
def test_deactivate_backlog_and_close_may_raise_too(name: str) -> None:
    for where in ("deactivate", "backlog", "close"):
        kind = type("Kind", (Faulty,), {"where": where, "make": RAISED[name], "always": True})
        with StepRun(line(kind), 1) as run:
            worker = run.workers["w0"]
            worker.deactivate()
            worker.activate()
            run.run_to_end()
            assert next(r for r in take_counts(worker, 1).replicas if r.component == "numbers").backlog == (
                None if where == "backlog" else 0
            )
        assert len(errors(run)) == 1
        assert name in errors(run)[0]


@pytest.mark.parametrize("name", RAISED)
def test_initialize_that_raises_is_an_exception_with_its_cause(name: str) -> None:
    kind = type("Kind", (Faulty,), {"where": "initialize", "make": RAISED[name]})
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any Exception will do, as its launcher tells it
        StepRun(line(kind), 1)
    causes = [caught.value, caught.value.__cause__]
    assert name in [type(cause).__name__ for cause in causes]


def test_initialize_that_is_left_by_an_exit_after_a_crash_is_tried_again() -> None:
    class Comes(Faulty):
        tries: list[int] = []

        def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
            super().initialize(conf, ctx)
            if ctx.restarted:
                self.tries.append(1)
                if len(self.tries) < 3:
                    raise SystemExit(7)

    with StepRun(line(Comes), 2) as run:
        run.kill(next(name for name, worker in run.workers.items() if worker.residents.spouts))
        run.run_to_end()
        assert len(Comes.tries) == 3
        assert len([text for text in errors(run) if "SystemExit: 7" in text and "initialize was left by SystemExit" in text]) == 2


def test_what_was_emitted_before_an_exception_is_emitted_and_tracked() -> None:
    class Half(Faulty):
        where, always = "after", True

    with StepRun(line(Half), 1) as run:
        run.run_to_end()
        assert spout_of(run).meter.acked == 3
        assert spout_of(run).meter.errors == 3


# ---- the pause after an error


class Asked(Spout):
    """Writes down when it was asked, and does what its subclass says."""

    outputs = ["number"]
    clock: Any = None

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.times: list[float] = []

    def next_tuple(self) -> float | None:
        self.times.append(type(self).clock.peek())
        return self.answer(len(self.times))  # type: ignore[no-any-return]

    def answer(self, call: int) -> Any:
        raise NotImplementedError


def pauses(kind: type[Asked], seconds: float) -> tuple[list[float], StepRun]:
    with StepRun(line(kind), 1, config={"topology.max.spout.pending": 1}) as run:
        kind.clock = run.clock
        run.advance(seconds)
        times = spout_of(run).instance.times
        return [later - earlier for earlier, later in pairwise(times)], run


def test_the_pause_after_errors_grows_to_a_second() -> None:
    class Never(Asked):
        def answer(self, call: int) -> None:
            raise ConnectionError("away")

    waited, run = pauses(Never, 30.0)
    assert waited == sorted(waited)
    assert waited[-1] == pytest.approx(1.0)
    assert len(errors(run)) <= 2 * 4 * 5, "reports are throttled"
    assert any("more errors in" in text for text in errors(run))


def test_the_pause_after_an_error_is_short_again_once_it_emitted() -> None:
    class Stumbles(Asked):
        def answer(self, call: int) -> None:
            if call % 3 == 0:
                raise ConnectionError("now and then")
            self.emit([call], tup_id=call)

    waited, run = pauses(Stumbles, 0.2)
    assert len(waited) > 100
    assert max(waited) < 0.01
    assert run.counts()["numbers"].errors > 30


# ---- what next_tuple returns


@pytest.mark.parametrize("odd", ["soon", math.nan, math.inf, -math.inf, [1], (1, "row"), {"a": 1}, True, object(), b"1", Own])
def test_what_is_no_number_of_seconds_is_told_with_component_and_value(odd: Any) -> None:
    class Odd(Asked):
        def answer(self, call: int) -> Any:
            return odd

    waited, run = pauses(Odd, 10.0)
    assert f"component 'numbers': next_tuple() returns None, or seconds until it wants to be asked again, got {odd!r}" in errors(run)[0]
    assert waited[-1] == pytest.approx(1.0)


def test_a_spout_that_emits_and_returns_something_odd_is_told_and_goes_on() -> None:
    class Emits(Asked):
        def answer(self, call: int) -> Any:
            if call > 200:
                raise EndOfInput
            self.emit([call], tup_id=call)
            return [call]

    with StepRun(line(Emits), 1) as run:
        Emits.clock = run.clock
        run.run_to_end(most_seconds=10.0)
        assert spout_of(run).meter.acked == 200
        assert "got [1]" in errors(run)[0]


@pytest.mark.parametrize("seconds", [2, 2.0, numpy.float32(2.0), numpy.int64(2), Fraction(2), Decimal(2)])
def test_any_number_of_seconds_will_do(seconds: Any) -> None:
    class Waits(Asked):
        def answer(self, call: int) -> Any:
            return seconds

    waited, run = pauses(Waits, 7.0)
    assert waited == pytest.approx([2.0] * 3)
    assert errors(run) == []


def test_a_negative_number_means_at_once() -> None:
    class Late(Asked):
        def answer(self, call: int) -> Any:
            return -5.0 if call < 10 else 1.0

    waited, run = pauses(Late, 0.5)
    assert waited == [0.0] * 9
    assert errors(run) == []


def test_a_wait_of_many_years_is_one() -> None:
    class Forever(Asked):
        def answer(self, call: int) -> Any:
            return 1e300

    waited, run = pauses(Forever, 3 * 3600.0)
    assert (waited, errors(run)) == ([], [])


@pytest.mark.parametrize("method", ["next_tuple", "ack", "activate", "backlog", "due_at"])
def test_a_method_that_gives_a_coroutine_is_told(method: str) -> None:
    async def later(*args: Any) -> None:
        """Never runs."""

    kind = type("Kind", (Faulty,), {method: lambda self, *args: later(*args)})
    with StepRun(line(kind), 1) as run:
        run.advance(1.0)
        take_counts(run.workers["w0"], 1)
        assert f"component 'numbers': {method}() of a spout must be a plain method, got a coroutine" in errors(run)[0]


# ---- what it says of itself


@pytest.mark.parametrize("wrong", [3.0, "3", True, -3, math.nan, [3], 2**63, numpy.float64(3), numpy.array([1, 2]), numpy.bool_(True)])
def test_a_backlog_that_is_no_count_is_told_and_the_last_good_one_stands(wrong: Any) -> None:
    class Says(Faulty):
        said: Any = 7

        def backlog(self) -> int | None:
            return self.said  # type: ignore[no-any-return]

    with StepRun(line(Says), 1) as run:
        assert backlog(run) == 7
        spout_of(run).instance.said = wrong
        assert backlog(run) == 7
        assert "component 'numbers': backlog() returns a whole number of events, at least 0, or None, got" in errors(run)[0]
        assert f"{wrong!r}" in errors(run)[0]
        for _ in range(20):
            backlog(run)
        assert len(errors(run)) == 1, "not told at each cut"
        run.advance(15.0)
        backlog(run)
        assert len(errors(run)) == 2
        spout_of(run).instance.said = None
        assert backlog(run) is None


@pytest.mark.parametrize("good", [0, 3, numpy.int64(3), numpy.uint8(3), 2**62])
def test_whole_numbers_of_others_count(good: Any) -> None:
    class Says(Faulty):
        def backlog(self) -> int | None:
            return good  # type: ignore[no-any-return]

    with StepRun(line(Says), 1) as run:
        assert backlog(run) == int(good)
        assert type(backlog(run)) is int
        assert errors(run) == []


def backlog(run: StepRun) -> int | None:
    return next(r.backlog for r in take_counts(run.workers["w0"], 1).replicas if r.component == "numbers")


class Unpicklable:
    def __reduce__(self) -> Any:
        raise SystemExit("not this one")


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
WRONG_POSITIONS = {
    "function": lambda: None,
    "huge": b"x" * 3_000_000,
    "generator": (n for n in range(3)),
    "exits": Unpicklable(),
    "object": {"at": Fraction(1, 3)},
    "set": [{1, 2}],
    "time": datetime(2026, 1, 1, tzinfo=UTC),
    "large number": 2**64,
    "half a character": "a\udc80",
    "endless": ENDLESS,
}


@pytest.mark.parametrize("name", WRONG_POSITIONS)
def test_a_position_that_cannot_be_kept_is_told_and_the_one_before_stands(name: str) -> None:
    wrong = WRONG_POSITIONS[name]

    class Saves(Faulty):
        def ack(self, number: int) -> None:
            self.save_position(number if number < 2 else wrong)

    with StepRun(line(Saves), 2, config={"topology.max.spout.pending": 1}) as run:
        run.run_to_end()
        (told,) = errors(run)
        assert "component 'numbers'" in told
        assert ("a position has 524288 bytes at most" if isinstance(wrong, bytes) else "save_position takes None, numbers, text") in told
        assert len(told) < 3000
        worker = next(worker for worker in run.workers.values() if worker.residents.spouts)
        assert [read_position(position) for position in take_counts(worker, 1).positions.values()] == [1]
        run.kill(worker.id)
        run.step()
        found = [spout.instance.ctx.position for other in run.workers.values() for spout in other.residents.spouts.values()]
        assert found == [1]


POSITIONS: dict[str, Any] = {
    "nothing": None,
    "numbers": [True, -(2**63), 2**64 - 1, 0.1],
    "text": {"file": "Füße", "marks": [b"\x00\xff", ""]},
    "pairs": ((1, 2), [(3, "x")], {"began": (0, 1.5)}),
    "odd keys": {1: "a", None: "b", (2, "c"): "d", 0.5: "e", b"f": "g"},
}


@pytest.mark.parametrize("name", POSITIONS)
def test_a_position_comes_back_as_it_was_given(name: str) -> None:
    class Saves(Faulty):
        def ack(self, number: int) -> None:
            self.save_position(POSITIONS[name])

    with StepRun(line(Saves), 2) as run:
        run.run_to_end()
        assert errors(run) == []
        run.kill(next(name for name, worker in run.workers.items() if worker.residents.spouts))
        run.step()
        (found,) = [spout.instance.ctx.position for other in run.workers.values() for spout in other.residents.spouts.values()]
        assert (found, type(found)) == (POSITIONS[name], type(POSITIONS[name]))


def test_positions_of_numpy_are_kept_as_plain_numbers() -> None:
    class Saves(Faulty):
        def ack(self, number: int) -> None:
            self.save_position(
                {"next": numpy.int64(number), "mean": numpy.float32(0.5), "done": numpy.bool_(True), "name": numpy.str_("x")}
            )

    with StepRun(line(Saves), 1) as run:
        run.run_to_end()
        (found,) = [read_position(position) for position in take_counts(run.workers["w0"], 1).positions.values()]
        assert found == {"next": 2, "mean": 0.5, "done": True, "name": "x"}
        assert [type(value) for value in found.values()] == [int, float, bool, str]
        assert errors(run) == []


class Unpickled:
    """Runs code where it is unpickled."""

    ran = False

    def __reduce__(self) -> Any:
        return setattr, (Unpickled, "ran", True)


FORGED = {"pickle": pickle.dumps(Unpickled()), "cut off": b"\x93\x01", "kind that nobody wrote": b"\xc7\x01\x63x", "nothing": b""}


@pytest.mark.parametrize("name", FORGED)
def test_a_position_that_cannot_be_read_is_told_and_the_spout_does_not_begin_at_the_start(name: str) -> None:
    class Saves(Faulty):
        def ack(self, number: int) -> None:
            self.save_position(number)

    with StepRun(line(Saves), 2) as run:
        run.run_to_end()
        spout = next(name for name, worker in run.workers.items() if worker.residents.spouts)
        run.positions.update(dict.fromkeys(run.positions, FORGED[name]))
        run.kill(spout)
        run.advance(3.0)
        assert not any(worker.residents.spouts for worker in run.workers.values())
        assert "component 'numbers': the position that was saved last cannot be read" in errors(run)[0]
        assert not Unpickled.ran
