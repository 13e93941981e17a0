"""What is told of exceptions and of calls that do not come back, whatever user code makes of its errors and logs."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import traceback

import pytest

from pasps import Bolt, EndOfInput, Spout, Topology, Tuple, bolt
from pasps.testing import StepRun
from tests.unit.runtime.parts import Numbers, completed, rows


def test_an_error_of_any_length_is_told_in_words_that_can_travel() -> None:
    class Long(Bolt):
        def process(self, tup: Tuple) -> None:
            raise ValueError("\ud800" + "x" * 1_000_000)

    (report,) = completed(Long, 1).errors
    assert len(report.text.encode()) < 10_000
    assert "ValueError: \\ud800xxx" in report.text
    assert report.text.count("  File ") == 1  # the frames of user code alone


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


class Raises(Bolt):
    def process(self, tup: Tuple) -> None:
        raise ValueError("for the log")


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


class Endless(Spout):
    outputs = ["number"]

    def next_tuple(self) -> None:
        raise EndOfInput


@pytest.mark.parametrize("kind", ["inline", "async"])
def test_a_real_interrupt_ends_a_step_run(kind: str) -> None:
    # whoever runs the tests in the background has it ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _interrupted(kind)
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted(kind: str) -> None:
    class Interrupts(Bolt):
        def process(self, tup: Tuple) -> None:
            signal.raise_signal(signal.SIGINT)

    class Awaits(Bolt):
        async def process(self, tup: Tuple) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        completed(Interrupts if kind == "inline" else Awaits, 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
    assert "in process (test_what_is_told.py:" in told[0]
    assert "go_on.wait(20)" in told[0]
    assert "topology.message.timeout.secs is 30" in told[0]


def test_a_call_that_came_back_while_its_worker_stood_still_is_not_told() -> None:
    go_on, begun = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    class Waits(Bolt):
        execution = "thread"

        def process(self, tup: Tuple) -> None:
            begun[tup.values[0]].set()
            go_on[tup.values[0]].wait(20)

    class Topo(Topology):
        config = {"topology.message.timeout.secs": 30}
        numbers = Numbers.spec()
        bolt = Waits.spec(inputs=[numbers])

    with StepRun(Topo, 1, inputs={"numbers": rows(2)}) as run:
        while not begun[0].is_set():
            run.step()
        for _ in range(10):  # the second is ready for the thread
            run.step()
        go_on[0].set()
        assert begun[1].wait(20)
        run.clock.advance_to(run.clock.peek() + 100)
        for _ in range(10):
            run.step()
        told = [report.text for report in run.journal.of("error") if "has not come back" in report.text]
        go_on[1].set()
    assert len(told) == 1
    assert "go_on[tup.values[0]].wait(20)" in told[0]


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
