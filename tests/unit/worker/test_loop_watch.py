"""A loop that does not come back: who speaks for it, and what is said of what it is stuck in."""

from __future__ import annotations

import inspect
import logging
from types import FrameType
from typing import Any, cast

import pytest

from pasps import Bolt, Grouping, Spout, Topology, Tuple, bolt
from pasps.testing import FakeClock, StepRun
from pasps.worker.link import ControllerLink
from pasps.worker.loop_watch import LATE_SECONDS, STUCK_SECONDS, LoopWatch, place_of
from pasps.worker.messages import Beat, FromWorker


class Link:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[FromWorker] = []

    def is_silent(self) -> bool:
        return False

    def send(self, message: FromWorker) -> None:
        self.said.append(message)


def watch_over(frame: FrameType | None = None) -> tuple[LoopWatch, Link, FakeClock]:
    clock, link = FakeClock(), Link()
    watch = LoopWatch(cast("ControllerLink", link), clock, lambda: frame)
    watch.telling = True
    return watch, link, clock


def test_a_loop_that_comes_by_speaks_for_itself_and_the_thread_does_not() -> None:
    watch, link, clock = watch_over()
    for _ in range(5):
        clock.advance(LATE_SECONDS / 2)
        watch.look()
    said_by_thread = len(link.said)
    watch.passed()
    clock.advance(LATE_SECONDS / 2)
    watch.look()
    assert link.said == [Beat()] * (said_by_thread + 1)


def test_the_thread_speaks_for_one_that_does_not_come_back() -> None:
    watch, link, clock = watch_over()
    for _ in range(3):
        clock.advance(LATE_SECONDS + 0.1)
        watch.look()
    assert link.said == [Beat()] * 3


def test_what_it_does_not_come_back_from_is_told_once_and_that_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    watch, link, clock = watch_over(inspect.currentframe())
    clock.advance(STUCK_SECONDS + 1)
    for _ in range(10):
        watch.look()
        clock.advance(1)
    stuck = cast("Beat", link.said[-1]).stuck
    assert stuck is not None
    assert stuck.seconds == pytest.approx(STUCK_SECONDS + 10)
    assert len(caplog.records) == 1
    assert "has not come back for 6 s" in caplog.text
    watch.passed()
    assert link.said[-1] == Beat()
    assert "is back after 16 s" in caplog.text
    watch.passed()
    assert len(caplog.records) == 2


def test_it_is_told_again_after_a_long_while(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    watch, _, clock = watch_over(inspect.currentframe())
    for _ in range(3601):
        clock.advance(1)
        watch.look()
    assert 3 < len(caplog.records) < 10


def test_a_slow_start_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    watch, link, clock = watch_over(inspect.currentframe())
    watch.telling = False
    clock.advance(10 * STUCK_SECONDS)
    watch.look()
    assert link.said == [Beat()]
    assert not caplog.records


def test_it_is_the_users_line_that_is_told_also_from_a_handler_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pasps.worker.loop_watch.is_ours", lambda file: file in {"run.py", "handler.py"})
    code = {"looked": inspect.currentframe}
    exec(compile("def handler():\n    return looked()", "handler.py", "exec"), code)
    exec(compile("def process():\n\n\n    return handler()", "user.py", "exec"), code)
    exec(compile("def run():\n    return process()", "run.py", "exec"), code)
    watch, link, clock = watch_over(cast("Any", code["run"])())
    clock.advance(STUCK_SECONDS + 1)
    watch.look()
    stuck = cast("Beat", link.said[-1]).stuck
    assert stuck is not None
    assert stuck.where == "user.py:4 in process"


# ---- whose code it is

PLACES: list[tuple[str, tuple[str, int]]] = []


def note(who: str) -> None:
    PLACES.append((who, place_of(inspect.currentframe())))


class Words(Spout):
    outputs = ("word",)

    def next_tuple(self) -> None:
        raise NotImplementedError


@bolt(outputs=["word"])
def function(word: str) -> str:
    note("function")
    return word


class Inline(Bolt):
    outputs = ("word",)

    def process(self, tup: Tuple) -> None:
        note("inline")
        self.emit(tup.values)


class Awaits(Bolt):
    outputs = ("word",)

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        note("awaits")
        self.emit(tup.values)


class Keyed(Bolt):
    def process(self, tup: Tuple) -> None:
        note("keyed")


class Kinds(Topology):
    words = Words.spec()
    function = function.spec(inputs=[words])
    inline = Inline.spec(inputs=[function])
    awaits = Awaits.spec(inputs=[inline])
    keyed = Keyed.spec(inputs={awaits: Grouping.fields("word")}, par=1, pool=5)


def test_the_component_and_the_task_are_named_whatever_kind_it_is() -> None:
    PLACES.clear()
    with StepRun(Kinds, inputs={"words": [[f"word {number}"] for number in range(20)]}) as run:
        run.run_to_end()
        plans = run.blueprint.components
    for who, (component, task) in PLACES:
        assert component == who
        assert task in plans[component].tasks
    assert {who for who, _ in PLACES} == {"function", "inline", "awaits", "keyed"}
    assert len({task for who, (_, task) in PLACES if who == "keyed"}) > 1, "each key has its own task"


def test_a_spout_is_named() -> None:
    found: list[Any] = []

    class Own(Spout):
        outputs = ("word",)

        def next_tuple(self) -> float | None:
            found.append(place_of(inspect.currentframe()))
            return 1.0

    class Alone(Topology):
        own = Own.spec()
        keyed = Keyed.spec(inputs=[own])

    with StepRun(Alone) as run:
        for _ in range(3):
            run.step()
            run.advance(1.0)
        assert set(found) == {("own", run.blueprint.components["own"].first_task)}


def test_code_that_no_component_called_is_nobodys() -> None:
    assert place_of(inspect.currentframe()) == ("", -1)
    assert place_of(None) == ("", -1)
