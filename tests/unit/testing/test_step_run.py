"""Step runs: one move at a time, time only when told, workers that die and come back, coroutines and threads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, Tuple
from pasps.errors import DrainTimeoutError, InvalidError
from pasps.testing import EOF, PAUSE, StepOptions, StepRun


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


class Echo(Bolt):
    outputs = ["word", "worker"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup[0], self.ctx.worker_id])


class Echoes(Topology):
    words = Words.spec()
    echo = Echo.spec(inputs={words: Grouping.SHUFFLE}, par=2, pool=3)


def letters(count: int) -> list[list[str]]:
    return [[f"w{i}"] for i in range(count)]


def test_nothing_moves_by_itself() -> None:
    with StepRun(Echoes, 2, inputs={"words": letters(4)}) as run:
        assert run.emitted == {}
        assert run.step()
        assert len(run.emitted["words"]["default"]) == 4
        run.run_until_idle()
        assert sorted(run.verdicts.acked["words"]) == [0, 1, 2, 3]
        assert run.finished()
        assert run.left() == {}


def test_time_passes_only_when_it_is_told_to() -> None:
    with StepRun(Echoes, 1, inputs={"words": [["a"], PAUSE(60), ["b"]]}) as run:
        run.run_until_idle()
        before = run.clock.peek()
        assert run.left() == {"words": 1}
        run.advance(59)
        assert run.clock.peek() == pytest.approx(before + 59)
        assert len(run.emitted["words"]["default"]) == 1
        run.advance(1.1)
        assert len(run.emitted["words"]["default"]) == 2


def test_set_active_is_refused_where_it_makes_no_sense() -> None:
    with StepRun(Echoes, 2) as run:
        for component, count, match in [("echo", 0, "1 to 3"), ("echo", 4, "1 to 3"), ("words", 1, "bolt"), ("no", 1, "bolt")]:
            with pytest.raises(InvalidError, match=match):
                run.set_active(component, count)


def test_set_active_is_back_when_all_workers_route_by_the_new_table() -> None:
    with StepRun(Echoes, 3, inputs={"words": letters(3)}) as run:
        run.set_active("echo", 3)
        assert {worker.keeper.table.version for worker in run.workers.values() if worker.keeper.table} == {2}
        run.set_active("echo", 1)
        run.run_to_end()
        assert len(run.journal.of("parked")) == 2


def test_a_killed_worker_s_work_goes_elsewhere_and_is_replayed() -> None:
    with StepRun(Echoes, 2, inputs={"words": [*letters(20), PAUSE(1), ["late"]]}) as run:
        run.step()
        run.kill("w1")
        run.run_to_end()
        assert set(run.verdicts.acked["words"]) == set(range(21))
        assert {worker for _, worker in run.emitted["echo"]["default"]} <= {"w0", "w1"}
        run.restart("w1")
        run.settle()
        assert run.controller.table.workers == {"w0": 1, "w1": 2}


def test_replicas_go_home_when_their_worker_is_back() -> None:
    with StepRun(Echoes, 2, inputs={"words": [["a"], PAUSE(60), ["b"]]}) as run:
        home = {name: routing.places for name, routing in run.controller.table.components.items()}
        run.run_until_idle()
        run.kill("w1")
        run.settle()
        assert run.controller.table.components["echo"].places != home["echo"]
        run.restart("w1")
        run.settle()
        assert run.controller.table.components["echo"].places == home["echo"]


def test_all_workers_may_die_on_the_way_home() -> None:
    with StepRun(Echoes, 2, inputs={"words": [["a"], PAUSE(60), ["b"]]}) as run:
        run.run_until_idle()
        run.kill("w1")
        run.restart("w1")
        run.kill("w1")
        run.kill("w0")
        run.step()
        run.restart("w0")
        run.restart("w1")
        run.run_to_end()
        assert {word for word, _ in run.emitted["echo"]["default"]} == {"a", "b"}


def test_the_end_of_a_file_is_passed_in_the_next_life() -> None:
    with StepRun(Echoes, 1, inputs={"words": [["a"], EOF, ["b"]]}) as run:
        run.run_to_end()
        run.kill("w0")
        run.restart("w0")
        run.run_to_end()
        assert [word for word, _ in run.emitted["echo"]["default"]] == ["a", "b"]


class Saving(Spout):
    """Saves how far it is; emits ten numbers without tuple ids."""

    outputs = ["word"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.next = ctx.position or 0

    def next_tuple(self) -> float | None:
        if self.next == 10:
            raise EndOfInput
        self.emit([str(self.next)])
        self.next += 1
        if self.next == 4:
            self.save_position(4)
        return 1.0


def test_a_spout_goes_on_from_the_position_it_saved() -> None:
    class Saved(Topology):
        saving = Saving.spec()
        echo = Echo.spec(inputs=[saving])

    with StepRun(Saved, 2) as run:
        run.advance(5.5)
        host = run.controller.table.components["saving"].worker_of(0)
        assert len(run.emitted["saving"]["default"]) == 6
        run.kill(host)
        run.run_to_end()
        assert [int(word) for (word,) in run.emitted["saving"]["default"]] == [0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9]
        counts = run.counts()["saving"]
        assert (counts.emitted, counts.replayed) == (12, 0), "nobody tracks them"


class Sleeps(Bolt):
    outputs = ["word"]
    concurrency = 2

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(3600)
        self.emit([tup[0]])


class Sleepy(Topology):
    words = Words.spec()
    sleeps = Sleeps.spec(inputs=[words])
    echo = Echo.spec(inputs=[sleeps])


def test_coroutines_sleep_in_fake_time() -> None:
    with StepRun(Sleepy, 1, inputs={"words": letters(4)}, config={"topology.enable.message.timeouts": False}) as run:
        run.advance(3599)
        assert "sleeps" not in run.emitted
        run.run_to_end(10_000)
        assert sorted(run.verdicts.acked["words"]) == [0, 1, 2, 3]
        assert run.clock.peek() - 1000 == pytest.approx(7200, abs=1)


def test_coroutines_of_a_dead_worker_end() -> None:
    with StepRun(Sleepy, 2, inputs={"words": letters(2)}, config={"topology.enable.message.timeouts": False}) as run:
        run.advance(10)
        run.kill(run.controller.table.components["sleeps"].worker_of(0))
        run.run_to_end(10_000)
        assert set(run.verdicts.acked["words"]) == {0, 1}


class Helper(Bolt):
    """Awaits a thread of asyncio's own."""

    outputs = ["word"]

    async def process(self, tup: Tuple) -> None:
        self.emit([await asyncio.to_thread(str.upper, tup[0])])


def test_coroutines_may_await_real_threads() -> None:
    class Helped(Topology):
        words = Words.spec()
        helper = Helper.spec(inputs=[words])
        echo = Echo.spec(inputs=[helper])

    with StepRun(Helped, 1, inputs={"words": [["a"], ["b"]]}) as run:
        run.run_to_end()
        assert sorted(run.emitted["helper"]["default"]) == [("A",), ("B",)]


def test_a_run_that_does_not_become_idle_says_what_is_left() -> None:
    with StepRun(Echoes, 1, inputs={"words": letters(50)}) as run, pytest.raises(DrainTimeoutError):
        run.run_until_idle(most_steps=1)


def test_random_delays_are_repeatable() -> None:
    def story(seed: int) -> list[Any]:
        with StepRun(Echoes, 3, inputs={"words": letters(40)}, options=StepOptions(delays=True, seed=seed)) as run:
            run.set_active("echo", 3)
            run.set_active("echo", 1)
            run.run_to_end()
            return [run.steps, run.emitted["echo"]["default"], run.journal.reports]

    assert story(5) == story(5)
    assert story(5) != story(6)


class Closing(Echo):
    closed = 0

    def close(self) -> None:
        Closing.closed += 1


def test_leaving_the_run_closes_everything() -> None:
    class Closed(Topology):
        words = Words.spec()
        closing = Closing.spec(inputs=[words], par=2, pool=2)

    Closing.closed = 0
    with StepRun(Closed, 2) as run:
        run.run_to_end()
    assert Closing.closed == 2
    assert run.workers == {}
