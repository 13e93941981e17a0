"""Values go by reference where a worker hands them on by reference, and what could not travel fails as between two workers."""

from __future__ import annotations

from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Stream, Topology, Tuple, bolt
from pasps.testing import StepOptions, StepRun, complete_topology

in_any_number_of_workers = pytest.mark.parametrize("workers", [1, 2, 3])


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


# ---- by reference


class Lists(Bolt):
    """Emits a list, and goes on using it."""

    outputs = ["numbers"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.seen: list[int] = []

    def process(self, tup: Tuple) -> None:
        self.seen.append(tup.values[0])
        self.emit([self.seen])


class Clears(Bolt):
    """Changes what it received."""

    outputs = ["length"]

    def process(self, tup: Tuple) -> None:
        self.emit([len(tup.values[0])])
        tup.values[0].clear()


@bolt(outputs=["length"])
def length(numbers: list[int]) -> tuple[int]:
    return (len(numbers),)


class Emitting(Topology):
    numbers = Numbers.spec()
    lists = Lists.spec(inputs=[numbers])
    length_ = length.spec(inputs=[lists])


class Receiving(Topology):
    numbers = Numbers.spec()
    lists = Lists.spec(inputs=[numbers])
    clears = Clears.spec(inputs=[lists])
    length_ = length.spec(inputs=[lists])


@pytest.mark.parametrize("check_wire", [True, False])
def test_a_list_that_is_changed_after_it_was_emitted_is_seen_to_change(check_wire: bool) -> None:
    done = complete_topology(Emitting, {"numbers": [[1], [2], [3]]}, check_wire=check_wire)
    assert done.rows("length_") == [(3,), (3,), (3,)], "one list, three times; copies would hide it"


@pytest.mark.parametrize("check_wire", [True, False])
def test_what_one_receiver_changes_the_other_sees(check_wire: bool) -> None:
    done = complete_topology(Receiving, {"numbers": [[1], [2], [3]]}, check_wire=check_wire)
    assert done.rows("clears") == [(3,), (0,), (0,)]
    assert done.rows("length_") == [(0,)] * 3


def test_what_was_emitted_is_written_down_as_it_was() -> None:
    assert complete_topology(Receiving, {"numbers": [[1]]}).rows("lists") == [([1],)]


class Nested(Bolt):
    outputs = ["value"]

    def process(self, tup: Tuple) -> None:
        self.emit([{"a": [1, (2, [3])], "b": {4}}])


class Ruins(Bolt):
    def process(self, tup: Tuple) -> None:
        tup.values[0]["a"][1][1].append("changed")
        tup.values[0]["b"].clear()
        tup.values[0].pop("a")


class Ruined(Topology):
    numbers = Numbers.spec()
    nested = Nested.spec(inputs=[numbers])
    ruins = Ruins.spec(inputs=[nested])


@in_any_number_of_workers
def test_neither_is_what_is_inside_of_it(workers: int) -> None:
    done = complete_topology(Ruined, {"numbers": [[1]]}, workers=workers)
    assert done.rows("nested") == [({"a": [1, (2, [3])], "b": {4}},)]


# ---- what cannot travel


class Made(Bolt):
    """Every third value cannot travel."""

    outputs = ["number", "value"]

    def process(self, tup: Tuple) -> None:
        number = tup.values[0]
        self.emit([number, object() if number % 3 == 0 else number])


@bolt(outputs=["number"])
def first(number: int, value: object) -> tuple[int]:
    return (number,)


class Apart(Topology):
    """Far from each other on two workers, in one on one."""

    numbers = Numbers.spec()
    made = Made.spec(inputs={numbers: Grouping.SHUFFLE})
    first_ = first.spec(inputs={made: Grouping.fields("number")}, par=2)
    other = first.spec(inputs={made: Grouping.GLOBAL})


GIVEN = [[n] for n in range(30)]
BAD = [n for n in range(30) if n % 3 == 0]
GOOD = [n for n in range(30) if n % 3]


@in_any_number_of_workers
def test_what_cannot_travel_fails_and_the_others_arrive_once(workers: int) -> None:
    done = complete_topology(Apart, {"numbers": GIVEN}, workers=workers)
    assert (sorted(done.acked["numbers"]), sorted(done.failed["numbers"])) == (GOOD, BAD)
    assert sorted(done.rows("first_")) == sorted(done.rows("other")) == [(n,) for n in GOOD]
    assert [len(done.rows("made")), done.counts["made"].emitted] == [30, 30]
    (error, *_) = done.errors
    assert error.component == "made"
    assert "'value'" in error.text


@in_any_number_of_workers
def test_it_is_emitted_again_as_often_as_its_spout_does(workers: int) -> None:
    done = complete_topology(Apart, {"numbers": GIVEN}, workers=workers, replays=2)
    assert sorted(done.failed["numbers"]) == sorted(BAD * 3)
    assert done.counts["numbers"].replayed == 2 * len(BAD)
    assert sorted(done.rows("first_")) == [(n,) for n in GOOD]


@in_any_number_of_workers
def test_untracked_it_is_told_and_gone(workers: int) -> None:
    done = complete_topology(Apart, {"numbers": GIVEN}, workers=workers, tracked=False)
    assert sorted(done.rows("first_")) == [(n,) for n in GOOD]
    assert done.errors


class Chosen(Bolt):
    outputs = [Stream(["value"], "to_one", direct=True), Stream(["value"])]

    def process(self, tup: Tuple) -> None:
        (task,) = self.ctx.component_tasks("kept")
        self.emit([object()], stream="to_one", direct_task=task)
        self.emit([object()], need_task_ids=True)


@bolt
def keep(value: object) -> None: ...


class Choosing(Topology):
    numbers = Numbers.spec()
    chosen = Chosen.spec(inputs=[numbers])
    kept = keep.spec(inputs={chosen["to_one"]: Grouping.DIRECT})
    also = keep.spec(inputs=[chosen])


def test_rows_whose_receivers_are_chosen_are_tried_too() -> None:
    done = complete_topology(Choosing, {"numbers": [[1]]})
    assert (done.failed["numbers"], done.counts["kept"].executed, done.counts["also"].executed) == ([0], 0, 0)
    assert complete_topology(Choosing, {"numbers": [[1]]}, check_wire=False).acked["numbers"] == [0]


class Unread(Topology):
    numbers = Numbers.spec()
    made = Made.spec(inputs=[numbers])


def test_what_nobody_reads_need_not_travel() -> None:
    assert complete_topology(Unread, {"numbers": GIVEN}).failed["numbers"] == []


def test_its_own_worker_tells_it() -> None:
    with StepRun(Apart, 3, inputs={"numbers": [[0]]}, options=StepOptions(check_wire=True)) as run:
        run.run_to_end()
        (home,) = {run.controller.table.components["made"].places[replica] for replica in run.controller.table.components["made"].active}
        assert {report.worker for report in run.journal.of("error")} == {home}
