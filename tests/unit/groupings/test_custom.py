from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

import pytest

from pasps.api.groupings import Grouping
from pasps.errors import GroupingError
from pasps.groupings.load import LoadTable
from tests.unit.groupings.harness import FIRST_TASK, HandClock, rows_of, splitter_of, view_of


class Scripted:
    """Answers what the row says, and remembers what it was told."""

    def __init__(self) -> None:
        self.prepared: list[tuple[Any, str, list[int]]] = []

    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None:
        self.prepared.append((ctx, stream, target_tasks))

    def choose_tasks(self, source_task: int, values: tuple[Any, ...]) -> Any:
        answer = values[0]
        return answer(self, source_task) if callable(answer) else answer


def test_a_row_may_go_to_several_tasks_or_none() -> None:
    splitter = splitter_of(Grouping.custom(Scripted()))
    splitter.refresh(view_of([0], tasks=3))
    rows = [([FIRST_TASK, FIRST_TASK + 2],), ([],), ([FIRST_TASK + 2],), ((FIRST_TASK + 1,),)]
    assert sorted(splitter.split(rows)) == [(0, [0]), (1, [3]), (2, [0, 2])]
    assert splitter.fan is None


def test_it_is_prepared_once_with_the_whole_pool_and_told_its_sender() -> None:
    seen: list[Any] = []

    def look(scripted: Scripted, source_task: int) -> list[int]:
        seen.extend([scripted.prepared, source_task])
        return []

    splitter = splitter_of(Grouping.custom(Scripted()))
    splitter.refresh(view_of([0], tasks=2))
    splitter.refresh(view_of([0, 1], tasks=2))
    splitter.split([(look,)])
    assert seen == [[(None, "default", [FIRST_TASK, FIRST_TASK + 1])], 3]


def test_each_sender_has_its_own_copy() -> None:
    users = Scripted()
    for _ in range(2):
        splitter_of(Grouping.custom(users)).refresh(view_of([0]))
    assert users.prepared == []


def test_what_cannot_be_copied_is_refused() -> None:
    users = Scripted()
    users.lock = Lock()  # type: ignore[attr-defined]
    with pytest.raises(
        GroupingError, match=r"component 'words', stream 'default', custom grouping Scripted: cannot be copied .* in prepare\(\)"
    ):
        splitter_of(Grouping.custom(users))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ([FIRST_TASK + 2], r"13 is no task of the target; expected ids from 11 to 12"),
        ([0], r"0 is no task of the target"),
        (["a"], r"'a' is no task of the target"),
        (FIRST_TASK, r"returned 11, expected a list of task ids"),
        (None, r"returned None, expected a list of task ids"),
    ],
)
def test_an_answer_that_names_no_task_is_an_error(answer: Any, problem: str) -> None:
    splitter = splitter_of(Grouping.custom(Scripted()))
    splitter.refresh(view_of([0], tasks=2))
    with pytest.raises(GroupingError, match=problem):
        splitter.split([(answer,)])


class Watching(Scripted):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[int, float]] = []

    def refresh_load(self, loads: Mapping[int, float]) -> None:
        self.told.append(dict(loads))


def test_loads_are_shown_at_most_once_a_second_and_only_new_ones() -> None:
    clock, loads = HandClock(), LoadTable(2)
    seen: list[dict[int, float]] = []

    def look(scripted: Scripted, _: int) -> list[int]:
        assert isinstance(scripted, Watching)
        seen[:] = scripted.told
        return []

    splitter = splitter_of(Grouping.custom(Watching()), clock=clock)
    splitter.refresh(view_of([0], tasks=2, loads=loads))

    def told() -> list[dict[int, float]]:
        splitter.split([(look,)])
        return list(seen)

    assert told() == []
    loads.report(1, 0.5, 0.1, 1, now=clock.now())
    assert told() == [{FIRST_TASK: 0.0, FIRST_TASK + 1: 0.5}]
    loads.report(0, 4.0, 0.1, 1, now=clock.now())
    assert len(told()) == 1
    clock.seconds += 1.0
    assert told()[1:] == [{FIRST_TASK: 3.0, FIRST_TASK + 1: 0.0}]
    clock.seconds += 1.0
    assert len(told()) == 2
    assert splitter.split(rows_of(0)) == []
