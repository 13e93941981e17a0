"""What every grouping promises, whatever the batches and however the active replicas change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.api.groupings import Grouping, GroupingSpec, Kind
from pasps.errors import GroupingError
from pasps.groupings import GroupingType, Pick, Row, Sender, TargetView, by_target
from pasps.groupings.load import LoadTable
from pasps.groupings.shuffle import Ring
from tests.unit.groupings.harness import FIRST_TASK, HandClock, rows_of, splitter_of, taken, view_of

TASKS = 8


class ByNumber:
    """A custom grouping to one task."""

    def choose_tasks(self, source_task: int, values: tuple[str, int]) -> list[int]:
        return [FIRST_TASK + values[1] % TASKS]


class InTurn:
    """What a package may bring."""

    fan: int | None = 1

    def __init__(self, at: Sender) -> None:
        self.ring = Ring(at.random)

    def refresh(self, view: TargetView) -> None:
        self.ring.refresh(view.active, {})

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return by_target([self.ring.next() for _ in rows])


SPECS = [
    Grouping.LOAD_AWARE,
    Grouping.LOAD_AWARE_PAPER,
    Grouping.LOAD_AWARE_STORM,
    Grouping.SHUFFLE,
    Grouping.LOCAL_OR_SHUFFLE,
    Grouping.NONE,
    Grouping.GLOBAL,
    Grouping.ALL,
    Grouping.fields("word"),
    Grouping.partial_key("word", "n"),
    Grouping.custom(ByNumber()),
    Grouping.osg("word"),
    Grouping.of(GroupingType("in-turn", "a test's own", InTurn)),
]
actives = st.sets(st.integers(0, TASKS - 1), min_size=1).map(sorted)
steps = st.lists(
    st.one_of(
        st.integers(0, 40),  # a batch of that many rows
        # a new view: active replicas, what is local, and how many are behind each
        st.tuples(actives, st.sets(st.integers(0, TASKS - 1)), st.dictionaries(st.integers(0, TASKS - 1), st.integers(1, 5))),
        st.tuples(st.integers(0, TASKS - 1), st.floats(0, 1), st.floats(0, 0.1), st.integers(0, 2000)),  # a load report
    ),
    max_size=25,
)


def test_every_kind_but_direct_is_under_this_contract() -> None:
    assert {spec.kind for spec in SPECS} | {Kind.DIRECT} == set(Kind)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@given(first=actives, steps=steps, seed=st.integers(0, 1000), band=st.sampled_from([0.0, 0.005]))
@settings(max_examples=60, deadline=None)
def test_no_row_is_lost_or_invented_and_order_is_kept(
    spec: GroupingSpec, first: list[int], steps: list[Any], seed: int, band: float
) -> None:
    clock, loads, rooms = HandClock(), LoadTable(TASKS), Random(seed)
    splitter = splitter_of(spec, band=band, clock=clock, seed=seed)

    def show(active: list[int], local: set[int], weights: dict[int, int]) -> None:
        near = local & set(active)
        splitter.refresh(view_of(active, tasks=TASKS, local=near, loads=loads, room=lambda _: rooms.randrange(30), weights=weights))

    show(first, set(), {})
    active = first
    for step in steps:
        clock.seconds += 1e-4
        if isinstance(step, int):
            rows = rows_of(step)
            copies: Counter[object] = Counter()
            picks = splitter.split(rows)
            for _, pick in picks:
                got = taken(rows, pick)
                assert got == sorted(got, key=lambda row: row[1]), "the order within a target changed"
                assert got, "a target was named that gets nothing"
                copies.update(got)
            fan = splitter.fan if splitter.fan is not None else 1
            assert copies == dict.fromkeys(rows, fan) if rows else not picks
            targets = [target for target, _ in picks]
            assert len(targets) == len(set(targets))
            allowed = range(TASKS) if spec.keyed else {0} if spec.kind is Kind.GLOBAL else active
            assert set(targets) <= set(allowed)
        elif len(step) == 3:
            active = step[0]
            show(*step)
        else:
            index, waiting, each, done = step
            loads.report(index, waiting, each, done, clock.now())


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_one_target_gets_the_whole_batch_as_it_is(spec: GroupingSpec) -> None:
    splitter = splitter_of(spec)
    splitter.refresh(view_of([0], tasks=1, weights={0: 3}))
    if spec.kind is not Kind.CUSTOM and not spec.observed:
        assert splitter.split(rows_of(5)) == [(0, None)]


@pytest.mark.parametrize("spec", [s for s in SPECS if not s.keyed and s.kind is not Kind.GLOBAL], ids=str)
def test_a_component_without_an_active_replica_is_refused(spec: GroupingSpec) -> None:
    with pytest.raises(GroupingError, match="no active replica"):
        splitter_of(spec).refresh(view_of([]))


def test_direct_is_never_asked_to_choose() -> None:
    splitter = splitter_of(Grouping.DIRECT)
    splitter.refresh(view_of([0]))
    with pytest.raises(GroupingError, match=r"component 'words', stream 'default': 'count' subscribes .* direct_task"):
        splitter.split(rows_of(1))


def test_global_and_all_reach_what_they_say_whatever_is_active() -> None:
    to_first, to_all = splitter_of(Grouping.GLOBAL), splitter_of(Grouping.ALL)
    for splitter in (to_first, to_all):
        splitter.refresh(view_of([0, 2], tasks=4))
    assert to_first.split(rows_of(3)) == [(0, None)]
    assert to_all.split(rows_of(3)) == [(0, None), (1, None), (2, None), (3, None)]
    assert (to_first.fan, to_all.fan) == (1, 4)
