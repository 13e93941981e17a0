"""Calls that wait on the worker's loop are told from calls that compute, and counted by wall time."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import pytest

from pasps import Bolt, EndOfInput, Spout, Topology, Tuple, bolt
from pasps.metrics import ReplicaCounts
from pasps.runtime.executor import Executor, Pump
from pasps.runtime.meters import Blocking
from pasps.runtime.snapshot import take_counts
from pasps.testing import FakeClock, StepOptions, StepRun
from tests.unit.runtime.parts import Numbers


class Timed(Bolt):
    """Takes the time that its input says: seconds of computing, seconds of waiting."""

    clock: ClassVar[FakeClock]
    outputs = ("n",)

    def process(self, tup: Tuple) -> None:
        computes, waits = tup.values[0]
        self.clock.advance(computes)
        self.clock.wait(waits)


class Computing(Timed):
    """Takes a millisecond of computing whatever comes."""

    def process(self, tup: Tuple) -> None:
        self.clock.advance(0.001)


class Timing(Topology):
    numbers = Numbers.spec()
    timed = Timed.spec(inputs=[numbers])


def after(*calls: tuple[float, float], kind: type[Topology] = Timing, name: str = "timed") -> ReplicaCounts:
    """What is counted of a bolt after these calls: seconds of computing and of waiting."""
    with StepRun(kind, 1, inputs={"numbers": [[call] for call in calls]}) as run:
        Timed.clock = run.clock
        run.run_until_idle()
        return next(counts for counts in take_counts(run.workers["w0"], 1).replicas if counts.component == name)


def test_a_bolt_whose_calls_wait_blocks_and_all_its_time_counts() -> None:
    found = after(*[(0.001, 0.05)] * 100)
    assert found.blocks
    assert found.seconds == pytest.approx(100 * 0.051)


def test_a_bolt_that_computes_is_counted_by_what_it_computes() -> None:
    found = after(*[(0.05, 0.001)] * 100)
    assert (found.blocks, found.seconds) == (False, pytest.approx(100 * 0.05))


def test_a_wait_now_and_then_counts_when_it_is_a_large_part_of_the_time() -> None:
    assert after(*[(0.001, 0.0)] * 49, (0.0, 0.2), *[(0.001, 0.0)] * 50, *[(0.0, 0.2)] * 20).blocks


@pytest.mark.parametrize("first", [0.5, 2.0, 30.0])
def test_a_first_call_that_connects_says_nothing_of_the_others(first: float) -> None:
    found = after((0.0, first), *[(0.01, 0.0)] * 300)
    assert (found.blocks, found.seconds) == (False, pytest.approx(3.0))


def test_two_slow_calls_are_not_enough() -> None:
    assert not after((0.0, 3.0), (0.0, 3.0)).blocks


def test_a_bolt_that_blocks_no_more_is_counted_by_cpu_time_again() -> None:
    found = after(*[(0.0, 0.05)] * 100, *[(0.05, 0.0)] * 1000)
    assert (found.blocks, found.seconds) == (False, pytest.approx(5.0 + 50.0))


def test_a_bolt_that_begins_to_block_late_is_found_too() -> None:
    found = after(*[(0.05, 0.0)] * 1000, *[(0.0, 0.05)] * 500)
    assert found.blocks
    # not all that ever passed: one look, which may have begun with calls that compute
    assert found.seconds == pytest.approx(50.0 + 25.0, abs=0.1)


class OnThread(Timed):
    execution = "thread"


class OnThreads(Topology):
    numbers = Numbers.spec()
    timed = OnThread.spec(inputs=[numbers])


def test_a_bolt_on_a_thread_may_wait() -> None:
    found = after(*[(0.0, 0.05)] * 100, kind=OnThreads)
    assert (found.blocks, found.seconds) == (False, pytest.approx(5.0))


class Slow(Spout):
    """Waits for its source where it should say when to ask again."""

    clock: ClassVar[FakeClock]
    outputs = ("n",)

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.asked = 0

    def next_tuple(self) -> None:
        self.asked += 1
        if self.asked > 100:
            raise EndOfInput
        self.clock.wait(0.05)
        self.emit([(0.0, 0.0)])


class FromSlow(Topology):
    numbers = Slow.spec()
    timed = Timed.spec(inputs=[numbers])


def test_a_spout_that_waits_blocks_and_the_bolt_behind_it_does_not() -> None:
    with StepRun(FromSlow, 1) as run:
        Timed.clock = Slow.clock = run.clock
        run.run_until_idle()
        assert {counts.component: counts.blocks for counts in take_counts(run.workers["w0"], 1).replicas} == {
            "numbers": True,
            "timed": False,
        }


class Steady(Spout):
    """A tuple each millisecond."""

    outputs = ("n",)

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.given = 0

    def next_tuple(self) -> float:
        self.given += 1
        if self.given > 12_000:
            raise EndOfInput
        self.emit([self.given])
        return 0.001


@bolt(outputs=["n"])
def quick(n: int) -> tuple[int]:
    return (n,)


class Buffers(Bolt):
    """Writes every hundredth tuple's worth; all calls but one in a hundred are quick."""

    clock: ClassVar[FakeClock]
    outputs = ("n",)

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.rows: list[Any] = []

    def process(self, tup: Tuple) -> None:
        self.rows.append(tup[0])
        self.clock.advance(1e-6)
        if len(self.rows) == 100:
            self.clock.wait(0.05)
            self.rows = []


class Behind(Topology):
    numbers = Steady.spec()
    before = quick.spec(inputs=[numbers])
    buffers = Buffers.spec(inputs=[before])


def test_a_bolt_that_waits_once_in_many_calls_blocks_and_not_the_one_before_it() -> None:
    with StepRun(Behind, 1, options=StepOptions(creep=1e-6)) as run:
        Buffers.clock = run.clock
        run.run_to_end()
        found = {counts.component: counts for counts in take_counts(run.workers["w0"], 1).replicas}
    assert {name: counts.blocks for name, counts in found.items()} == {"numbers": False, "before": False, "buffers": True}
    assert found["buffers"].seconds == pytest.approx(120 * 0.05, rel=0.1)


class Beside(Topology):
    """One computes as long as the other waits."""

    numbers = Numbers.spec()
    computes = Computing.spec(inputs=[numbers])
    waits = Timed.spec(inputs=[numbers])


@pytest.mark.parametrize("every", [1, 10, 200])
def test_of_one_that_computes_and_one_that_waits_in_the_same_passes_each_is_counted_for_itself(every: int) -> None:
    with StepRun(Beside, 1, inputs={"numbers": [[(0.0, 0.01 * (n % every == 0))] for n in range(20 * every + 2000)]}) as run:
        Timed.clock = run.clock
        run.run_to_end()
        found = {counts.component: counts for counts in take_counts(run.workers["w0"], 1).replicas}
    waited = 0.01 * sum(n % every == 0 for n in range(20 * every + 2000))
    assert found["computes"].seconds == pytest.approx(0.001 * (20 * every + 2000), rel=0.05)
    assert not found["computes"].blocks
    assert found["waits"].blocks == (waited > 2.0)


# ---- waits that are none


def test_a_wait_for_a_core_or_for_the_interpreter_is_none() -> None:
    """Another process has the core, or another thread the interpreter: some thread of this process is ready all the time."""
    blocking = Blocking()
    for _ in range(10_000):
        blocking.step(0.001, 0.05, 0.05 if blocking.watching else None)
    assert not blocking.blocks


def test_what_threads_do_beside_a_wait_makes_it_shorter_not_longer() -> None:
    blocking = Blocking()
    for _ in range(10_000):
        blocking.step(0.001, 0.05, 0.08 if blocking.watching else None)
    assert not blocking.blocks


def test_a_machine_that_does_not_tell_accuses_nobody() -> None:
    blocking = Blocking()
    counted = sum(blocking.step(0.001, 0.05) for _ in range(10_000))
    assert (blocking.blocks, counted) == (False, pytest.approx(10.0))


def test_looking_closely_is_rare() -> None:
    """It costs, and a machine that is too small for its work is no reason to do it all the time."""
    blocking, watched = Blocking(), 0
    for _ in range(10_000):
        watched += blocking.watching
        blocking.step(0.001, 0.002, 0.002 if blocking.watching else None)
    assert 0 < watched < 2_000


class Crowded(FakeClock):
    """Another process takes the core for a while: in each step, and whenever somebody looks how long the process was awake."""

    taken = 0.0

    def take(self, seconds: float) -> None:
        self.advance(seconds)
        self.taken += seconds

    def cpu(self) -> float:
        return super().cpu() - self.taken

    def awake(self) -> float:
        self.take(0.02)
        return super().cpu()


class Computes:
    """Stands for an executor: its steps compute, as far as they are let."""

    rank = 0
    queued = False

    def __init__(self, clock: Crowded) -> None:
        self.clock = clock
        self.blocking = Blocking()

    def step(self) -> None:
        self.clock.advance(0.001)
        self.clock.take(0.005)

    def used(self, cpu: float, wall: float, awake: float | None) -> None:
        self.blocking.step(cpu, wall, awake)


def test_a_busy_machine_makes_no_bolt_look_as_if_it_waited() -> None:
    clock = Crowded()
    pump, computes = Pump(1, clock, 0.001), Computes(clock)
    watched = 0
    for _ in range(3000):
        pump.schedule(cast("Executor", computes))
        pump.run_pass()
        watched += computes.blocking.watching
        assert not computes.blocking.blocks
    assert watched


class Brief(Computes):
    """Its steps are shorter than a look at how long the process was awake."""

    def step(self) -> None:
        self.clock.advance(0.0001)
        self.clock.take(0.0001)


class Asked(Crowded):
    looks = 0.0

    def awake(self) -> float:
        self.looks += 0.001
        self.take(0.001)
        return super(Crowded, self).cpu()


def test_looking_closely_costs_little_where_steps_are_short() -> None:
    clock = Asked()
    pump, brief = Pump(1, clock, 0.001), Brief(clock)
    began = clock.peek()
    for _ in range(20_000):
        pump.schedule(cast("Executor", brief))
        pump.run_pass()
    assert 0.0 < clock.looks < (clock.peek() - began) / 3
