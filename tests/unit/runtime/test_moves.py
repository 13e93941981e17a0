"""Keyed tasks that change worker: refused, failing at run time, with hooks; races built by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pasps import Bolt, FunctionBolt, Grouping, StatefulFunction, Stream, Topology, TopologyContext, Tuple, bolt
from pasps.activation import with_active
from pasps.errors import UnmovableError
from pasps.testing import PAUSE, StepOptions, StepRun
from tests.unit.runtime.parts import Numbers


class Count(Bolt):
    outputs = ["key", "count"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: dict[int, int] = {}

    def process(self, tup: Tuple) -> None:
        key = tup[0]
        self.counts[key] = self.counts.get(key, 0) + 1
        self.emit([key, self.counts[key]])


class StatefulCount(StatefulFunction):
    outputs = ["key", "count"]
    initialize = Count.initialize
    counts: dict[int, int]

    def __call__(self, key: int) -> tuple[int, int]:
        self.counts[key] = self.counts.get(key, 0) + 1
        return key, self.counts[key]


def topology_of(kind: type[Bolt | StatefulFunction] | FunctionBolt[..., Any], pool: int = 4) -> type[Topology]:
    class Keyed(Topology):
        numbers = Numbers.spec()
        count = kind.spec(inputs={numbers: Grouping.fields("number")}, par=2, pool=pool)

    return Keyed


def parts(*sizes: int) -> list[Any]:
    """Rows of ten keys, with a pause after each part."""
    items: list[Any] = []
    for size in sizes:
        items += [[i % 10] for i in range(size)] + [PAUSE(1)]
    return items


def run_of(kind: Any, *sizes: int, workers: int = 2, **options: Any) -> StepRun:
    return StepRun(topology_of(kind), workers, inputs={"numbers": parts(*sizes)}, options=StepOptions(**options))


def check_continuous(run: StepRun, total: int) -> None:
    seen: dict[int, int] = {}
    rows = run.emitted["count"]["default"]
    assert len(rows) == total
    for key, count in rows:
        assert count == seen.get(key, 0) + 1
        seen[key] = count


@pytest.mark.parametrize("kind", [Count, StatefulCount])
def test_state_moves_with_its_task(kind: Any) -> None:
    with run_of(kind, 50, 50, 50) as run:
        run.run_until_idle()
        run.set_active("count", 1)
        run.advance(1.5)
        run.set_active("count", 4)
        run.run_to_end()
        check_continuous(run, 150)
        assert len(run.journal.of("moved")) > 4
        assert run.verdicts.failed["numbers"] == []


class Locked(Count):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.guard = threading.Lock()


class StatefulLocked(StatefulCount):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.guard = threading.Lock()


@pytest.mark.parametrize("kind", [Locked, StatefulLocked])
def test_an_unmovable_instance_is_refused_before_anything_changes(kind: Any) -> None:
    with run_of(kind, 20) as run:
        run.run_until_idle()
        table = run.controller.table
        with pytest.raises(UnmovableError) as caught:
            run.set_active("count", 1)
        assert caught.value.attribute == "guard"
        assert "'count'" in str(caught.value)
        assert "lock" in str(caught.value)
        assert run.controller.table is table
        run.run_to_end()
        check_continuous(run, 20)


def test_an_unmovable_instance_may_change_replica_within_its_worker() -> None:
    with run_of(Locked, 20, 20, workers=1) as run:
        run.run_until_idle()
        run.set_active("count", 1)
        run.set_active("count", 3)
        run.run_to_end()
        check_continuous(run, 40)


class Reopening(Locked):
    calls: list[str] = []

    def on_move_out(self) -> None:
        self.calls.append(f"out {self.ctx.worker_id}")
        del self.guard

    def on_move_in(self, ctx: TopologyContext) -> None:
        self.calls.append(f"in {ctx.worker_id}")
        self.guard = threading.Lock()


class StatefulReopening(StatefulLocked):
    on_move_out = Reopening.on_move_out
    on_move_in = Reopening.on_move_in
    calls = Reopening.calls


@pytest.mark.parametrize("kind", [Reopening, StatefulReopening])
def test_hooks_let_a_bolt_drop_and_reopen_what_cannot_travel(kind: Any) -> None:
    with run_of(kind, 20, 20) as run:
        run.run_until_idle()
        before = run.controller.table.components["count"]
        Reopening.calls.clear()
        run.set_active("count", 1)
        run.run_to_end()
        check_continuous(run, 40)
        after = run.controller.table.components["count"]
        gone = [task for task in range(4) if before.worker_of(task) != after.worker_of(task)]
        assert Reopening.calls.count("out w0") + Reopening.calls.count("out w1") >= len(gone) > 0
        assert set(Reopening.calls[-2:]) <= {"out w0", "out w1", "in w0", "in w1"}


class Breaks(Count):
    """Becomes unmovable while it runs."""

    def process(self, tup: Tuple) -> None:
        super().process(tup)
        if tup[0] == 3:
            self.broken = (lambda: (yield))()  # a generator cannot be pickled


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delays", [False, True])
def test_a_move_that_fails_at_run_time_is_undone_and_keeps_order(seed: int, delays: bool) -> None:
    with run_of(Breaks, 2, 60, 60, seed=seed, delays=delays) as run:
        run.run_until_idle()
        run.set_active("count", 4, wait=False)
        run.controller.request(lambda table: None)
        run.clock.advance(1)  # the second part, with key 3 in it, flows while tasks move
        run.settle()
        for active in (1, 3, 2):
            request_active(run, active)
            run.clock.advance(0.4)
            run.settle()
        run.run_to_end()
        check_continuous(run, 122)
        assert run.verdicts.failed["numbers"] == []


def request_active(run: StepRun, count: int) -> None:
    """Ask for it, whatever becomes of it."""
    run.controller.request(lambda table: with_active(table, "count", count))


def test_a_failed_move_is_reported_with_its_attribute_and_publishes_one_table_more() -> None:
    with run_of(Breaks, 20, 20) as run:
        run.run_until_idle()
        version = run.controller.table.version
        request_active(run, 1)
        run.settle()
        failed = run.journal.of("move_failed")
        if failed:
            assert failed[0].text.startswith("broken: ")
            assert run.controller.table.version == version + 1 + len(failed)
            replica = run.controller.table.components["count"].replica_of(failed[0].index)
            assert replica in run.controller.table.components["count"].active
        run.run_to_end()
        check_continuous(run, 40)


def test_who_asked_for_a_move_that_fails_is_told() -> None:
    with run_of(Breaks, 20, 20) as run:
        run.run_until_idle()
        with pytest.raises(UnmovableError, match="'broken'"):
            run.set_active("count", 1)
        assert run.journal.of("move_failed")
        run.run_to_end()
        check_continuous(run, 40)


@bolt(outputs=["key", "count"])
def key_only(number: int) -> tuple[int, int]:
    return number, 0


def test_keyed_functions_move_though_they_have_no_hooks() -> None:
    with run_of(key_only, 30, 30) as run:
        run.run_until_idle()
        for active in (1, 4, 2):
            run.set_active("count", active)
        run.run_to_end()
        assert len(run.emitted["count"]["default"]) == 60
        assert run.journal.of("error") == []


class BadHook(Count):
    def on_move_in(self, ctx: TopologyContext) -> None:
        if ctx.worker_id == "w1":
            raise OSError("no such database")


def test_a_task_that_cannot_arrive_goes_back_with_its_state() -> None:
    with run_of(BadHook, 40, 40) as run:
        run.run_until_idle()
        request_active(run, 4)
        request_active(run, 1)
        request_active(run, 2)
        run.settle()
        run.run_to_end()
        check_continuous(run, 80)
        if run.journal.of("move_failed"):
            assert any("no such database" in report.text for report in run.journal.of("error"))


class WordlessError(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Attribute:
    """Cannot be pickled, for a reason that cannot travel."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> str:
        raise self.error


@pytest.mark.parametrize(
    "error", [WordlessError(), ValueError("\ud800"), ValueError("x" * 1_000_000)], ids=["wordless", "surrogate", "long"]
)
@pytest.mark.parametrize("where", ["state", "arrival"])
def test_why_a_task_stays_is_told_in_words_that_can_travel(where: str, error: Exception) -> None:
    class Fails(Count):
        def process(self, tup: Tuple) -> None:
            super().process(tup)
            self.attribute = Attribute(error) if where == "state" else None

        def on_move_in(self, ctx: TopologyContext) -> None:
            raise error

    with run_of(Fails, 40) as run:
        run.run_until_idle()
        request_active(run, 4)
        request_active(run, 1)
        run.settle()
        failed = run.journal.of("move_failed")
        run.run_to_end()
        check_continuous(run, 40)
    assert failed
    for report in failed:
        assert len(report.text.encode()) < 9_000
        assert report.text.startswith("attribute: Attribute: " if where == "state" else "on_move_in: ")


class OnItsThread(Count):
    """Notices hooks that run elsewhere."""

    execution = "thread"
    elsewhere: list[str]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.guard: Any = threading.Lock()
        self.home = threading.get_ident()

    def on_move_out(self) -> None:
        if threading.get_ident() != self.home:
            self.elsewhere.append("out")
        self.guard = None

    def on_move_in(self, ctx: TopologyContext) -> None:
        if threading.current_thread() is threading.main_thread():
            self.elsewhere.append("in")
        self.home = threading.get_ident()
        self.guard = threading.Lock()


def test_whether_a_task_could_move_is_tried_where_its_code_runs() -> None:
    OnItsThread.elsewhere = []
    with run_of(OnItsThread, 20, 20) as run:
        run.run_until_idle()
        run.set_active("count", 1)
        run.set_active("count", 4)
        run.run_to_end()
        check_continuous(run, 40)
    assert OnItsThread.elsewhere == []


# ---- on the way home


def without_w1(kind: type[Bolt], **options: Any) -> StepRun:
    """A run in which w1 died before the first row, so that others have counted for it."""
    run = run_of(kind, 0, 50, 50, workers=3, **options)
    run.set_active("count", 4)  # with no replica in reserve, those of w1 are placed anew
    run.kill("w1")
    run.advance(1.5)
    assert len(run.emitted["count"]["default"]) == 50
    run.set_active("count", 2)
    return run


@pytest.mark.parametrize("delays", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_tasks_on_their_way_home_stay_with_their_state_when_the_worker_dies_again(seed: int, delays: bool) -> None:
    """They were looked for where their replica had been sent, and started afresh, while the worker that they left had them."""
    with without_w1(Count, seed=seed, delays=delays) as run:
        run.restart("w1")
        for _ in range(1000):
            run.step()
            if any(worker.moves.departures for worker in run.workers.values()):
                break
        assert "w1" in {run.controller.table.components["count"].worker_of(task) for task in range(4)}
        run.kill("w1")
        run.run_to_end()
        check_continuous(run, 100)


class Broken(Count):
    """Becomes unmovable with its first tuple."""

    def process(self, tup: Tuple) -> None:
        super().process(tup)
        self.broken = (lambda: (yield))()


@pytest.mark.parametrize("delays", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_tasks_that_cannot_go_home_stay_where_they_are(seed: int, delays: bool) -> None:
    """They were left to the replicas that they had been on, which were at home by then; what came for them waited for ever."""
    with without_w1(Broken, seed=seed, delays=delays) as run:
        run.restart("w1")
        run.settle(5000)
        failed = {report.index for report in run.journal.of("move_failed")}
        assert failed
        assert "w1" not in {run.controller.table.components["count"].worker_of(task) for task in failed}
        run.run_to_end()
        check_continuous(run, 100)


def staggered(run: StepRun, first: str, second: str, condition: Callable[[], bool]) -> None:
    """`first` applies the next table at once, `second` only when `condition` holds."""
    run.held = {first, second}
    run.controller.advance()
    run.controller.deliver(first)
    for _ in range(200):
        run.step()
        if condition():
            break
    run.held = set()


@pytest.mark.parametrize(("first", "second"), [("w0", "w1"), ("w1", "w0")])
def test_what_comes_before_the_table_that_routed_it_waits_for_that_table(first: str, second: str) -> None:
    """It was passed back to the old host, where it could overtake older tuples, or run on a replica that had parked."""
    with run_of(Count, 40, 40, 40) as run:
        run.run_until_idle()
        request_active(run, 4)
        staggered(run, first, second, lambda: False)
        run.advance(1.5)
        run.settle()
        request_active(run, 1)
        run.controller.advance()
        staggered(run, second, first, lambda: False)
        run.run_to_end()
        check_continuous(run, 120)


class Splits(Bolt):
    """Keyed, with a stream of its own, anchors and task ids: what it emits is on its way when it moves."""

    outputs = [Stream(["key", "count"], "default"), Stream(["key"], "side")]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: dict[int, int] = {}

    def process(self, tup: Tuple) -> None:
        self.counts[tup[0]] = self.counts.get(tup[0], 0) + 1
        tasks = self.emit([tup[0], self.counts[tup[0]]], need_task_ids=True)
        assert tasks is not None
        self.emit([tup[0]], stream="side", anchors=[tup])


@pytest.mark.parametrize("seed", range(3))
def test_emissions_with_options_survive_moves(seed: int) -> None:
    class Chain(Topology):
        numbers = Numbers.spec()
        count = Splits.spec(inputs={numbers: Grouping.fields("number")}, par=2, pool=4)
        after = Count.spec(inputs={count: Grouping.fields("key")}, par=2, pool=4)
        side = key_only.spec(inputs={count["side"]: Grouping.SHUFFLE})

    with StepRun(Chain, 3, inputs={"numbers": parts(60, 60, 60)}, options=StepOptions(delays=True, seed=seed)) as run:
        for active in (4, 1, 3, 2):
            run.set_active("count", active)
            run.set_active("after", 5 - active)
            run.advance(0.6)
        run.run_to_end()
        check_continuous(run, 180)
        assert len(run.emitted["side"]["default"]) == 180
        assert sorted(run.verdicts.acked["numbers"]) == list(range(180))
