"""Groupings of others that raise, or name several replicas, while replicas come and go: what is lost has failed, and nobody waits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from pasps import Bolt, Grouping, TopologyBuilder, Tuple
from pasps.errors import GroupingError
from pasps.groupings import Carrying, GroupingType, Pick, Row, Sender, TargetView, by_target
from pasps.testing import PAUSE, StepRun
from tests.unit.runtime.parts import Forward
from tests.unit.runtime.watched import IN_TURN, TASKS_IN_TURN, InTurn, Numbers, Writer, rows, watched, watching

COUNT = 60


class Gate(Bolt):
    """Lets nothing through before it is told to."""

    outputs = ["number"]
    open: asyncio.Event

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await Gate.open.wait()
        self.emit(tup.values)


@contextmanager
def shut() -> Iterator[None]:
    """As long as nobody sets `Gate.open`."""
    Gate.open = asyncio.Event()
    yield
    Gate.open.set()


class Moody:
    """Rows in turn to the active replicas, from the last on; raises for some of them once there is another view."""

    fan: int | None = 1
    bad: frozenset[int] = frozenset()
    views = 0

    def __init__(self, at: Sender) -> None:
        self.count = 0

    def refresh(self, view: TargetView) -> None:
        self.active = view.active
        self.views += 1

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        if self.views > 1 and any(row[0] in self.bad for row in rows):
            raise ValueError("in a bad mood")
        targets = []
        for _ in rows:
            targets.append(self.active[-1 - self.count % len(self.active)])
            self.count += 1
        return by_target(targets)


class Moodier(Moody):
    bad = frozenset(range(3, COUNT, 10))


MOODY = GroupingType("moody", "a test's own", Moodier)


class Everybody(Moody):
    """Each row to every active replica."""

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return [(index, None) for index in self.active]


EVERYBODY = GroupingType("everybody", "a test's own", Everybody)
FULL = {"topology.executor.receive.buffer.size": 8, "topology.max.spout.pending": COUNT}


@pytest.mark.parametrize("workers", [1, 2])
def test_what_waits_for_a_replica_that_was_put_out_fails_where_no_other_is_named(workers: int) -> None:
    with shut(), StepRun(watched(Gate, of=MOODY, par=3, spouts=1, config=FULL), workers, inputs={"numbers": rows(COUNT)}) as run:
        start = run.clock.peek()
        run.run_until_idle()
        run.set_active("bolt", 1, wait=False)
        run.run_until_idle()
        Gate.open.set()
        run.run_to_end()
        acked, failed = run.verdicts.acked["numbers"], run.verdicts.failed["numbers"]
        assert sorted(acked + failed) == list(range(COUNT))
        assert failed
        assert set(failed) <= Moodier.bad
        assert {report.component for report in run.journal.of("error")} == {"numbers"}
        assert "ValueError: in a bad mood" in run.journal.of("error")[0].text
        assert run.clock.peek() - start < 25, "something waited for the message time-out"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_copy_for_a_replica_that_was_put_out_goes_to_one_other(workers: int) -> None:
    with shut(), StepRun(watched(Gate, of=EVERYBODY, par=3, spouts=1, config=FULL), workers, inputs={"numbers": rows(COUNT)}) as run:
        start = run.clock.peek()
        run.run_until_idle()
        run.set_active("bolt", 2, wait=False)
        run.run_until_idle()
        Gate.open.set()
        run.run_to_end()
        assert sorted(run.verdicts.acked["numbers"]) == list(range(COUNT))
        assert run.verdicts.failed["numbers"] == []
        assert set(Counter(row[0] for row in run.emitted["bolt"]["default"]).values()) <= {2, 3}
        assert run.clock.peek() - start < 25, "something waited for the message time-out"


class Hesitates(Bolt):
    """Wants to know where its tuple goes, and takes its time then."""

    outputs = ["number"]

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.emit(tup.values, need_task_ids=True)
        await Gate.open.wait()


@pytest.mark.parametrize(("of", "failed", "wanted"), [(MOODY, [0], {4: 1}), (EVERYBODY, [], {3: 3, 4: 3})], ids=["raises", "everybody"])
def test_receivers_that_were_chosen_and_put_out_are_chosen_anew(of: GroupingType, failed: list[int], wanted: dict[int, int]) -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("asks", Hesitates, 4).shuffle_grouping("numbers")
    builder.set_bolt("bolt", Forward, 3).grouping("asks", Grouping.of(of))
    with shut(), StepRun(builder.create_topology("asks"), 2, inputs={"numbers": [[3], [4]]}) as run:
        run.run_until_idle()
        run.set_active("bolt", 1, wait=False)
        run.run_until_idle()
        Gate.open.set()
        run.run_to_end()
        assert run.verdicts.failed["numbers"] == failed
        assert sorted(run.verdicts.acked["numbers"]) == [place for place in (0, 1) if place not in failed]
        assert Counter(row[0] for row in run.emitted["bolt"]["default"]) == wanted
        assert ["in a bad mood" in report.text for report in run.journal.of("error")] == [True] * len(failed)


def test_a_splitter_that_could_not_take_a_view_gets_it_again_before_it_chooses() -> None:
    class Late(Moody):
        def refresh(self, view: TargetView) -> None:
            self.views += 1
            if self.views == 2:
                raise ValueError("not now")
            self.active = view.active

    late = GroupingType("late", "a test's own", Late)
    with shut(), StepRun(watched(Gate, of=late, par=3, spouts=1), 1, inputs={"numbers": [PAUSE(1), *rows(COUNT)]}) as run:
        Gate.open.set()
        run.set_active("bolt", 1)
        run.run_to_end()
        assert len(run.verdicts.acked["numbers"]) == COUNT
        assert ["not now" in report.text for report in run.journal.of("error")] == [True]
        executors = run.workers["w0"].residents.executors
        assert [sum(executors["bolt", replica].meter.executed.values()) for replica in range(4)] == [COUNT, 0, 0, 0]


def test_payloads_of_rows_beside_one_that_cannot_travel_are_heard() -> None:
    class Handle(InTurn):
        def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
            picked: dict[int, list[int]] = {}
            for position, _ in enumerate(rows):
                picked.setdefault(self.targets[position % len(self.targets)], []).append(position)
            return [(index, Carrying(some, dict.fromkeys(some, b"x"))) for index, some in picked.items()]

    class Emits(Bolt):
        outputs = ["number", "value"]

        def process(self, tup: Tuple) -> None:
            number = tup.values[0]
            self.emit([number, iter(()) if number == 5 else None])

    class Reads(Bolt):
        def process(self, tup: Tuple) -> None: ...

    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("emits", Emits).shuffle_grouping("numbers")
    of = GroupingType("handle", "a test's own", Handle, observer=Writer, options=IN_TURN.options)
    builder.set_bolt("bolt", Reads, 4).grouping("emits", Grouping.of(of))
    with watching() as seen, StepRun(builder.create_topology("stuck"), 2, inputs={"numbers": rows(20)}) as run:
        run.run_to_end()
        lost = run.verdicts.failed["numbers"]
        assert set(lost) <= {5}
        assert len(seen.heard()) == len(seen.executed()) == 20 - len(lost)
        assert lost, "the row went to the other worker"


def test_a_payload_behind_a_call_that_is_under_way_when_its_task_changes_replica_is_heard() -> None:
    with shut(), watching() as seen:
        blueprint = watched(Gate, of=TASKS_IN_TURN, par=4, pool=4, spouts=1)
        with StepRun(blueprint, 1, inputs={"numbers": rows(12)}) as run:
            run.run_until_idle()
            run.set_active("bolt", 1, wait=False)
            run.run_until_idle()
            Gate.open.set()
            run.run_to_end()
            assert sorted(run.verdicts.acked["numbers"]) == list(range(12))
            assert sorted(int(payload) for _, _, payload in seen.heard()) == list(range(12))


@pytest.mark.parametrize(
    ("observer", "said"),
    [
        (None, "None has no executed and no heard"),
        (3, "3 has no executed and no heard"),
        (type("Half", (), {"executed": lambda self, row, seconds: None})(), r"has no heard"),
    ],
)
def test_an_observer_that_is_none_is_found_at_the_start(observer: Any, said: str) -> None:
    of = GroupingType("mute", "a test's own", InTurn, observer=lambda at: observer, options=IN_TURN.options)
    with watching(), pytest.raises(GroupingError, match=rf"component 'bolt', grouping 'mute': .*{said}\(\); its observer needs one"):
        StepRun(watched(Gate, of=of), 1)
