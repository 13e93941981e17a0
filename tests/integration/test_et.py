"""A sample and one pass over one bolt, with the event loop and the threads of a real worker process; Spark has no part in it."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
from typing import Any

import cloudpickle
import pytest

from pasps import Blueprint, Bolt, Spout, StatefulFunction, Topology, TopologyBuilder, Tuple, bolt
from pasps.clock import SystemClock
from pasps.data.et_deliveries import Arrival, input_of
from pasps.data.et_pass import Pace, PassRequest, PassResult, run_pass
from pasps.data.et_sample import Limits, take_sample

pytestmark = pytest.mark.integration

EVENTS = 20


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self) -> None: ...


def where(n: int) -> tuple[int, str]:
    return n, threading.current_thread().name


@bolt(outputs=["n", "thread"])
def inline_function(n: int) -> tuple[int, str]:
    return where(n)


@bolt(outputs=["n", "thread"], execution="thread")
def thread_function(n: int) -> tuple[int, str]:
    return where(n)


@bolt(outputs=["n", "thread"], columns="numpy")
def column_function(n: Any) -> Any:
    return n, [threading.current_thread().name] * len(n)


class Stateful(StatefulFunction):
    outputs = ["n", "thread"]

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.count = 0

    def __call__(self, n: int) -> tuple[int, str]:
        self.count += 1
        assert n == self.count
        return where(n)


class ThreadStateful(Stateful):
    execution = "thread"


class Async(Bolt):
    outputs = ["n", "thread"]

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0)
        self.emit(where(tup.values.n))


class Hanging(Bolt):
    """The call for 3 is never over."""

    outputs = ["n", "thread"]

    async def process(self, tup: Tuple) -> None:
        if tup.values.n == 3:
            await asyncio.get_running_loop().create_future()
        self.emit(where(tup.values.n))


def kept(n: int) -> tuple[int, str]:
    """For 3 never over, and keeps the thread."""
    while n == 3:
        threading.Event().wait(60.0)
    return where(n)


@bolt(outputs=["n", "thread"])
def keeping(n: int) -> tuple[int, str]:
    return kept(n)


class AsyncKeeping(Bolt):
    """Where other calls were to run meanwhile."""

    outputs = ["n", "thread"]

    async def process(self, tup: Tuple) -> None:
        self.emit(kept(tup.values.n))


class Leaving(Bolt):
    outputs = ["n", "thread"]

    def process(self, tup: Tuple) -> None:
        sys.exit(3)


class Unready(Bolt):
    outputs = ["n", "thread"]

    def initialize(self, conf: Any, ctx: Any) -> None:
        raise OSError("no such model")

    def process(self, tup: Tuple) -> None: ...


class Sink(Bolt):
    def process(self, tup: Tuple) -> None: ...


def flow(component: Any) -> Blueprint:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("measured", component).shuffle_grouping("numbers")
    builder.set_bolt("sink", Sink).shuffle_grouping("measured")
    return builder.create_topology("flow")


def passed(component: Any, limit_seconds: float = 30.0, rate: float = 2000.0) -> PassResult:
    blueprint = flow(component)
    given = {"numbers": [("default", [n]) for n in range(1, EVENTS + 1)]}
    sample = take_sample(blueprint, given, Limits(EVENTS, 5.0), SystemClock(), threading.Event().wait)
    arrivals: tuple[Arrival, ...] = input_of(blueprint, "measured", sample.outputs, EVENTS).arrivals
    return run_pass(PassRequest(cloudpickle.dumps(blueprint), "measured", arrivals, Pace(rate, limit_seconds), 100))


@pytest.mark.parametrize(
    ("component", "thread"),
    [
        *((inline_function, "MainThread"), (column_function, "MainThread"), (thread_function, "measured[0]")),
        *((Stateful, "MainThread"), (ThreadStateful, "measured[0]"), (Async, "MainThread")),
    ],
)
def test_each_kind_of_bolt_runs_where_it_runs_in_a_topology(component: Any, thread: str) -> None:
    before = gc.get_threshold()
    result = passed(component)
    assert (result.failure, result.stuck, result.errors) == (None, False, 0)
    assert len(result.costs) == EVENTS
    assert min(result.costs) > 0
    rows = [row for delivery in result.output.deliveries for row in cloudpickle.loads(delivery.rows)]
    assert rows == [(n, thread) for n in range(1, EVENTS + 1)]
    assert [delivery.event for delivery in result.output.deliveries] == list(range(1, EVENTS + 1))
    assert result.emitted == {"default": EVENTS}
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


@pytest.mark.parametrize("component", [Hanging, keeping, AsyncKeeping])
def test_a_call_that_is_never_over_ends_the_pass(component: Any) -> None:
    handler = signal.getsignal(signal.SIGALRM)
    result = passed(component, limit_seconds=0.05)
    assert result.stuck
    assert signal.getsignal(signal.SIGALRM) is handler
    assert len(result.costs) == 2
    assert (result.output.until, len(result.output.deliveries)) == (2, 2)


def test_a_pass_ends_when_its_time_is_over() -> None:
    result = passed(inline_function, limit_seconds=0.05, rate=20.0)
    assert 1 <= len(result.costs) < EVENTS
    assert not result.stuck
    assert result.output.until == len(result.costs)


def test_a_bolt_that_cannot_start_is_told_in_its_own_words() -> None:
    result = passed(Unready)
    assert result.costs == ()
    assert (result.failure or "").startswith("Traceback")
    assert (result.failure or "").endswith("OSError: no such model\ncomponent 'measured': initialize raised this")


def test_a_bolt_that_calls_sys_exit_fails_its_event_as_in_a_topology() -> None:
    result = passed(Leaving)
    assert (result.failure, len(result.costs), result.failed, result.errors) == (None, EVENTS, EVENTS, EVENTS)
    assert (result.error or "").endswith("SystemExit: 3")


class Blocking(Spout):
    outputs = ["n"]

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.given = False

    def next_tuple(self) -> None:
        if self.given:
            threading.Event().wait(60.0)
        self.given = True
        self.emit([1])


class Stuck(Topology):
    blocking = Blocking.spec()
    sink = Sink.spec(inputs=[blocking])


def test_a_spout_that_does_not_come_back_is_interrupted_and_what_it_gave_counts() -> None:
    sample = take_sample(Stuck.blueprint(), {}, Limits(100, 2.0), SystemClock(), threading.Event().wait)
    assert sample.by_spout == {"blocking": 1}
    told = "spout 'blocking' was still in next_tuple after 2 s, and was interrupted; give events of it with --events"
    assert sample.problems == (told,)
