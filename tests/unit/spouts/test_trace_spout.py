"""The trace spout on a clock that stands still: what is due, when it is emitted, what its position keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pasps import Bolt, Topology, TopologyContext, Tuple
from pasps.control.statistics import stats_of
from pasps.metrics import ComponentStats, WorkerCounts
from pasps.runtime.snapshot import take_counts
from pasps.runtime.spout_executor import SpoutExecutor, read_position
from pasps.spouts import TraceSpout
from pasps.testing import StepRun

EPOCH = 1_700_000_000.0


class Trace(TraceSpout):
    """Of this test, so that its clock is."""


class Note(Bolt):
    """Acks at once; `number % modulus == fails` fails the first time, and while `shut` it keeps everything."""

    outputs = ["id", "due", "at"]
    auto_ack = auto_fail = False
    shut = False
    fails = -1

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.kept: list[Tuple] = []
        self.failed: set[int] = set()

    def process(self, tup: Tuple) -> None:
        number = tup.values[0]
        if type(self).shut:
            self.kept.append(tup)
        elif number == type(self).fails and number not in self.failed:
            self.failed.add(number)
            self.fail(tup)
        else:
            self.emit([*tup.values, Trace.clock.wall() - EPOCH])
            self.ack(tup)


def start(par: int = 1, workers: int = 1, shape: type[TraceSpout] = Trace, **keys: Any) -> StepRun:
    class Replay(Topology):
        config = {"topology.message.timeout.secs": 100, "trace.rows": [10, 0, 20]}
        trace = shape.spec(par=par, config={f"trace.{name.replace('_', '.')}": value for name, value in keys.items()})
        note = Note.spec(inputs=[trace])

    Note.shut, Note.fails = False, -1
    run = StepRun(Replay, workers)
    Trace.clock = run.clock
    return run


def emitted(run: StepRun) -> list[tuple[Any, ...]]:
    return run.emitted.get("trace", {}).get("default", [])


def numbers(run: StepRun) -> list[int]:
    return [row[0] for row in emitted(run)]


def tasks(run: StepRun) -> list[SpoutExecutor]:
    found = [spout for worker in run.workers.values() for spout in worker.residents.spouts.values()]
    return sorted(found, key=lambda spout: spout.replica)


def test_each_event_is_emitted_when_it_is_due_and_says_when_that_was() -> None:
    with start() as run:
        run.advance(0.35)
        assert numbers(run) == [0, 1, 2]
        run.run_to_end()
        assert run.clock.peek() == pytest.approx(1003.0)
        due = [(number + 1) / 10 for number in range(10)] + [2 + (number + 1) / 20 for number in range(20)]
        assert [row[1] - EPOCH for row in emitted(run)] == pytest.approx(due)
        late = [at - (due - EPOCH) for _, due, at in run.emitted["note"]["default"]]
        assert all(0 <= seconds <= 0.0021 for seconds in late), "no batch waits longer than two milliseconds"
        assert run.journal.of("error") == []


def test_at_a_high_rate_it_is_asked_every_two_milliseconds() -> None:
    with start(rows=[20_000], step_seconds=1) as run:
        run.advance(0.5)
        instance = tasks(run)[0].instance
        batches = len({row[2] for row in run.emitted["note"]["default"]})
        assert 240 <= batches <= 255
        assert instance.backlog() <= 40
        run.run_to_end()
        assert numbers(run) == list(range(20_000))


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_share_the_events(workers: int) -> None:
    with start(par=3, workers=workers) as run:
        run.run_to_end()
        for task, spout in enumerate(tasks(run)):
            mine = [number for number in numbers(run) if number % 3 == task]
            assert mine == list(range(task, 30, 3))
            assert spout.collector.sent == 10
        assert sorted(numbers(run)) == list(range(30))


def test_more_tasks_than_events_are_idle_ones() -> None:
    with start(par=3, rows=[2]) as run:
        run.run_to_end()
        assert sorted(numbers(run)) == [0, 1]


def test_held_back_it_keeps_the_due_events_and_catches_up_with_their_due_times() -> None:
    with start() as run:
        Note.shut = True
        tasks(run)[0].max_pending = 4
        run.advance(2.5)
        spout = tasks(run)[0]
        assert numbers(run) == [0, 1, 2, 3]
        assert spout.instance.backlog() == 10 + 10 - 4
        assert spout.meter.held_back > 0
        spout.max_pending = None
        spout.wake()
        run.advance(0.0)
        assert numbers(run) == list(range(20))
        assert spout.instance.backlog() == 0
        assert [row[1] - EPOCH for row in emitted(run)][:10] == pytest.approx([(number + 1) / 10 for number in range(10)])


def test_deactivated_it_goes_on_becoming_due() -> None:
    with start() as run:
        run.advance(0.2)
        run.workers["w0"].deactivate()
        run.advance(0.6)
        assert (numbers(run), tasks(run)[0].instance.backlog()) == ([0, 1], 6)
        run.workers["w0"].activate()
        run.advance(0.0)
        assert numbers(run) == list(range(8))


def test_a_failed_event_is_emitted_again_with_the_time_it_was_due() -> None:
    with start() as run:
        Note.fails = 29
        run.run_to_end()
        assert numbers(run) == [*range(30), 29], "after the end of the trace, too"
        assert emitted(run)[-1] == emitted(run)[-2]
        assert sorted(run.verdicts.acked["trace"]) == list(range(30))
        assert tasks(run)[0].meter.replayed == 1
        assert tasks(run)[0].fates.histogram.count == 30


def test_nothing_is_kept_of_what_is_acked() -> None:
    with start(rows=[1000], step_seconds=1) as run:
        run.run_to_end()
        state = vars(tasks(run)[0].instance)
        assert max(len(value) for value in state.values() if isinstance(value, (list, dict))) == 0


def test_it_repeats_without_an_end() -> None:
    with start(repeat=True) as run:
        run.advance(9.95)
        assert numbers(run) == list(range(99))


class Pairs(TraceSpout):
    outputs = ("user", "rank")

    def values(self, number: int, due: float) -> Sequence[Any]:
        return [f"user {number % 3}", round(due - EPOCH, 6)]


def test_a_subclass_makes_its_own_tuples() -> None:
    class Own(Topology):
        trace = Pairs.spec(config={"trace.rows": [4]})
        note = Note.spec(inputs=[trace])

    with StepRun(Own, 1) as run:
        Pairs.clock = Trace.clock = run.clock
        run.run_to_end()
        assert emitted(run) == [("user 0", 0.25), ("user 1", 0.5), ("user 2", 0.75), ("user 0", 1.0)]


def test_a_value_that_cannot_be_made_is_reported_and_tried_again() -> None:
    class Stumbles(Trace):
        tries = 0

        def values(self, number: int, due: float) -> Sequence[Any]:
            if number == 5 and Stumbles.tries < 3:
                Stumbles.tries += 1
                raise LookupError("not yet")
            return super().values(number, due)

    with start(shape=Stumbles) as run:
        run.run_to_end()
        assert numbers(run) == list(range(30))
        assert len(run.journal.of("error")) == 3


# ---- crashes


class Cuts:
    def __init__(self, run: StepRun) -> None:
        self.run = run
        self.dead: list[WorkerCounts] = []

    def trace(self) -> ComponentStats:
        workers = self.run.controller.table.workers
        living = {name: take_counts(worker, workers[name]) for name, worker in self.run.workers.items() if name in workers}
        return stats_of(self.run.blueprint, self.run.controller.table, living, self.dead, 0.0).components["trace"]

    def kill_the_spout(self) -> None:
        name = self.trace().replicas[0].worker
        self.dead.append(take_counts(self.run.workers[name], 1))
        self.dead[-1].died()
        self.run.kill(name)


def test_after_its_worker_s_death_it_goes_on_from_its_position_on_the_same_time_axis() -> None:
    with start(workers=2, rows=[100] * 3) as run:
        cuts = Cuts(run)
        run.advance(1.0)
        Note.shut = True
        run.advance(0.504)
        assert (cuts.trace().due, cuts.trace().emitted_first) == (150, 150)
        cuts.kill_the_spout()
        assert not cuts.trace().knows_backlog
        Note.shut = False
        run.advance(0.001)
        first = next(number for number in numbers(run)[150:])
        assert 90 <= first <= 100, "from the first that was not acked when the position was saved last"
        done_again = 100 - first
        assert (cuts.trace().due, cuts.trace().replayed, cuts.trace().restarts) == (150 + done_again, 50, 1)
        run.advance(0.507)
        assert cuts.trace().due == 201 + done_again
        run.run_to_end()
        assert run.clock.peek() == pytest.approx(1003.0, abs=0.01)
        assert set(numbers(run)) == set(range(300))
        assert {row[0]: row[1] for row in emitted(run)} == pytest.approx({n: EPOCH + (n + 1) / 100 for n in range(300)})
        assert cuts.trace().due == 300 + done_again


def test_a_crash_while_it_emits_again_makes_nothing_due_twice() -> None:
    with start(workers=2, rows=[100] * 3) as run:
        cuts = Cuts(run)
        Note.shut = True
        run.advance(1.004)
        for due in (101, 102, 103):
            cuts.kill_the_spout()
            for name in ("w0", "w1"):
                if name not in run.workers:
                    run.restart(name)
            run.advance(0.001)
            assert cuts.trace().due == due - 1
            run.advance(0.009)
            assert cuts.trace().due == due


def test_the_last_position_covers_everything() -> None:
    with start() as run:
        run.run_to_end()
        spout = tasks(run)[0]
        assert spout.collector.position == (30, EPOCH, pytest.approx(EPOCH, abs=0.001))


def test_who_goes_on_after_one_that_closed_emits_again_what_was_in_flight_and_nothing_else() -> None:
    with start() as run:
        run.advance(0.62)
        (spout,) = tasks(run)
        Note.shut = True
        run.advance(0.2)
        assert numbers(run) == list(range(8))
        run.workers["w0"].deactivate()
        before = read_position(spout.position() or b"")
        run.workers["w0"].close()
        assert (before[0], read_position(spout.position() or b"")[0]) == (4, 6), "the first that was not acked, then and now"


def test_one_that_never_began_closes_without_a_position() -> None:
    with start() as run:
        (spout,) = tasks(run)
        assert spout.instance.backlog() == 0
        run.workers["w0"].close()
        assert spout.position() is None


def test_positions_are_saved_at_most_twice_a_second() -> None:
    with start(rows=[1000] * 4) as run:
        run.run_to_end()
        assert 8 <= tasks(run)[0].collector.saves <= 10


def test_a_new_instance_has_the_backlog_before_it_is_asked_for_a_tuple() -> None:
    with start() as run:
        run.advance(1.0)
        context = TopologyContext(run.blueprint, "trace", 0, "w0", (4, EPOCH), lambda component: [], lambda text: None)
        fresh = Trace()
        fresh.initialize({"trace.rows": [10, 0, 20]}, context)
        assert fresh.backlog() == 6


# ---- a wall clock that is set

JUMPS = pytest.mark.parametrize("jump", [3600.0, -3600.0])


@JUMPS
def test_a_wall_clock_that_is_set_neither_holds_the_trace_up_nor_spoils_its_latencies(jump: float) -> None:
    with start() as run:
        run.advance(0.35)
        run.clock.set_wall(jump)
        run.run_to_end()
        assert run.clock.peek() == pytest.approx(1003.0)
        latencies = tasks(run)[0].fates.histogram
    assert latencies.count == 30
    assert 0 < latencies.total / latencies.count < 0.0021, "as on a steady clock: no batch waits longer than two milliseconds"


@JUMPS
def test_what_waits_while_the_wall_clock_is_set_has_waited_as_long_as_it_did(jump: float) -> None:
    with start(rows=[0, 1]) as run:
        run.advance(0.5)
        run.workers["w0"].deactivate()
        run.advance(2.5)
        run.clock.set_wall(jump)
        run.workers["w0"].activate()
        run.run_to_end()
        assert tasks(run)[0].fates.histogram.total == pytest.approx(1.0, abs=0.003)


@JUMPS
def test_a_spout_that_goes_on_after_the_wall_clock_was_set_is_where_the_trace_is(jump: float) -> None:
    with start(workers=2, rows=[100] * 3) as run:
        run.advance(0.2)
        run.clock.set_wall(jump)
        run.advance(1.0)
        Cuts(run).kill_the_spout()
        run.advance(0.3)
        assert max(numbers(run)) == 149
        run.run_to_end()
        assert run.clock.peek() == pytest.approx(1003.0, abs=0.01)
        assert set(numbers(run)) == set(range(300))
        due = [(number, pytest.approx((number + 1) / 100)) for number in range(300)]
        assert sorted({(number, at - EPOCH) for number, at in emitted(run)}) == due, "an event says the same each time"
