"""OSG in runs: it comes to RUN, balances work and not tuples, and nothing that happens to a topology costs it a tuple."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from pasps import Blueprint, Bolt, EndOfInput, Grouping, Spout, TopologyBuilder, Tuple
from pasps.groupings.osg import OsgObserver, OsgSplitter, State
from pasps.testing import PAUSE, FakeClock, StepOptions, StepRun

CLOCK: list[FakeClock] = []
COSTS = {"light": 0.001, "middle": 0.004, "heavy": 0.040}
SHARES = {"light": 0.7, "middle": 0.2, "heavy": 0.1}
WINDOW = 12


class Events(Spout):
    outputs = ["number", "kind"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


class Work(Bolt):
    outputs = ["number", "task"]

    def process(self, tup: Tuple) -> None:
        CLOCK[-1].advance(COSTS[tup.values.kind])
        self.emit((tup.values.number, self.ctx.task_index))


class ThreadWork(Work):
    execution = "thread"


class AsyncWork(Work):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        super().process(tup)


def topology(kind: type[Bolt] = Work, par: int = 3, pool: int = 4, spouts: int = 1, buffer: int = 64, **options: Any) -> Blueprint:
    builder = TopologyBuilder()
    builder.set_spout("events", Events, spouts)
    builder.set_bolt("work", kind, par, pool).grouping("events", Grouping.osg("kind", **{"window": WINDOW, **options}))
    builder.set_bolt("sink", Sink, 1).shuffle_grouping("work")
    return builder.create_topology("osg", {"topology.executor.receive.buffer.size": buffer})


class Sink(Bolt):
    def process(self, tup: Tuple) -> None: ...


def events(count: int, spouts: int = 1) -> list[Any]:
    """Rows at three quarters of what can be done: all that compute in a step run share one clock."""
    kinds = Random(1).choices(list(SHARES), list(SHARES.values()), k=count)
    pause = PAUSE(spouts * sum(SHARES[kind] * COSTS[kind] for kind in SHARES) / 0.75)
    found: list[Any] = []
    for number, kind in enumerate(kinds):
        found += [[number, kind]] if (number + 1) % spouts else [[number, kind], pause]
    return found


def splitters(run: StepRun) -> list[OsgSplitter]:
    """Of the spouts that are alive, by task."""
    found = {}
    for worker in run.workers.values():
        for task, spout in worker.residents.spouts.items():
            (lane,) = spout.emitter.ports["default"].lanes
            assert isinstance(lane.splitter, OsgSplitter)
            found[task] = lane.splitter
    return [found[task] for task in sorted(found)]


def observers(run: StepRun) -> dict[int, OsgObserver]:
    found = {}
    for worker in run.workers.values():
        for (component, task), slot in worker.residents.slots.items():
            if component == "work":
                (observer,) = slot.observers.values()
                assert isinstance(observer, OsgObserver)
                found[task] = observer
    return found


def until(run: StepRun, state: State, most: int = 20_000) -> None:
    """Step until every sender is in that state."""
    for _ in range(most):
        if {splitter.state for splitter in splitters(run)} == {state}:
            return
        if not run.step() and not run.wait_outside():
            run.clock.advance(0.004)
    raise AssertionError(f"not reached; the senders are in {[splitter.state for splitter in splitters(run)]}")


def done(run: StepRun, count: int) -> None:
    """Step until so many tuples have been worked on."""
    while len(run.emitted["work"]["default"]) < count:
        if not run.step() and not run.wait_outside():
            run.clock.advance(0.004)


def started(blueprint: Blueprint, workers: int, rows: list[Any], **options: Any) -> StepRun:
    run = StepRun(blueprint, workers, inputs={"events": rows}, options=StepOptions(**options))
    CLOCK.append(run.clock)
    return run


@pytest.mark.parametrize("kind", [Work, ThreadWork, AsyncWork])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_senders_come_to_run_and_every_tuple_is_done_once(kind: type[Bolt], workers: int) -> None:
    with started(topology(kind, spouts=2), workers, events(600, 2), seed=workers, delays=workers > 1) as run:
        until(run, State.RUN)
        run.run_to_end()
        assert run.journal.of("error") == []
        assert sorted(run.verdicts.acked["events"]) == list(range(600))
        assert sorted(row[0] for row in run.emitted["work"]["default"]) == list(range(600))
        assert {row[1] for row in run.emitted["work"]["default"]} == {0, 1, 2}


def test_each_task_gets_the_same_work_and_not_the_same_number_of_tuples() -> None:
    """A run in which the first is slow: twice as dear for every tuple, which nobody tells its sender but its sketch."""

    class Slow(Work):
        def process(self, tup: Tuple) -> None:
            super().process(tup)
            if self.ctx.task_index == 0:
                CLOCK[-1].advance(COSTS[tup.values.kind])

    with started(topology(Slow), 1, events(2000)) as run:
        until(run, State.RUN)
        before = {task: observer.worked for task, observer in observers(run).items()}
        seen = len(run.emitted["work"]["default"])
        run.run_to_end()
        work = {task: observer.worked - before[task] for task, observer in observers(run).items() if task < 3}
        tuples = Counter(row[1] for row in run.emitted["work"]["default"][seen:])
        assert max(work.values()) / min(work.values()) < 1.1
        assert tuples[0] < 0.65 * min(tuples[1], tuples[2])


def test_what_a_sender_believes_was_given_is_what_tasks_have_done_in_the_end() -> None:
    with started(topology(), 2, events(900)) as run:
        until(run, State.RUN)
        run.run_to_end()
        (splitter,) = splitters(run)
        worked = {task: observer.worked for task, observer in observers(run).items() if task < 3}
        assert splitter.given.keys() == worked.keys()
        for task, micros in worked.items():
            assert splitter.given[task] == pytest.approx(micros, rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_another_number_of_replicas_begins_anew_and_comes_to_run_again(seed: int) -> None:
    with started(topology(spouts=2), 3, events(1200, 2), seed=seed, delays=True, creep=1e-5) as run:
        until(run, State.RUN)
        for count in (4, 2, 3):
            run.set_active("work", count)
            for splitter in splitters(run):
                assert set(splitter.given) == set(range(count))
            until(run, State.RUN)
        run.run_to_end()
        assert run.journal.of("error") == []
        assert sorted(run.verdicts.acked["events"]) == list(range(1200))
        assert run.verdicts.failed["events"] == []


def test_a_replica_that_comes_late_is_not_given_all_to_make_up_for_the_time_before() -> None:
    """The task's sum counts from where the sender began with this set: else a fresh one would be the least loaded for as long."""
    with started(topology(par=2), 1, events(2400)) as run:
        until(run, State.RUN)
        done(run, 900)
        run.set_active("work", 3)
        until(run, State.RUN)
        seen = len(run.emitted["work"]["default"])
        done(run, seen + 400)
        tuples = Counter(row[1] for row in run.emitted["work"]["default"][seen : seen + 400])
        assert max(tuples.values()) < 200


@pytest.mark.parametrize("seed", range(6))
def test_killed_workers_and_broken_links_lose_nothing_and_stall_nobody(seed: int) -> None:
    random = Random(seed)
    with started(topology(spouts=2), 3, events(900, 2), seed=seed, delays=True, creep=1e-5, replays=30) as run:
        start = run.clock.peek()
        for number in range(5):
            for _ in range(random.randrange(20, 60)):
                run.step()
            if number % 2:
                run.break_link(*(names := sorted(random.sample(["w0", "w1", "w2"], 2))))
                run.step()
                run.mend_link(*names)
            else:
                victim = f"w{random.randrange(3)}"
                run.kill(victim)
                for _ in range(random.randrange(5)):
                    run.step()
                run.restart(victim)
        run.settle()
        until(run, State.RUN)
        run.run_to_end()
        assert set(run.verdicts.acked["events"]) == set(range(900))
        assert run.journal.of("error") == []
        assert run.clock.peek() - start < 40, "something waited for the message time-out"


def test_a_key_without_a_stable_form_fails_its_tuple_alone() -> None:
    rows = [*events(5), [5, object()], *[[number + 6, "light"] for number in range(3)]]
    with started(topology(), 1, rows) as run:
        run.run_to_end()
        assert sorted(run.verdicts.acked["events"]) == [0, 1, 2, 3, 4, 6, 7, 8]
        assert run.verdicts.failed["events"] == [5]
        (error,) = run.journal.of("error")
        assert "component 'events', stream 'default', field 'kind': a key of type builtins.object has no hash" in error.text
