from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.api.groupings import Grouping, GroupingSpec
from tests.unit.groupings.harness import counts_of, rows_of, splitter_of, view_of


@given(batches=st.lists(st.integers(0, 70), max_size=30), size=st.integers(1, 8), seed=st.integers(0, 99))
def test_counts_are_equal_up_to_one_whatever_the_batches(batches: list[int], size: int, seed: int) -> None:
    splitter = splitter_of(Grouping.SHUFFLE, seed=seed)
    splitter.refresh(view_of(range(size)))
    counts: Counter[int] = Counter(dict.fromkeys(range(size), 0))
    for batch in batches:
        rows = rows_of(batch)
        counts += counts_of(rows, splitter.split(rows))
        seen = [counts[index] for index in range(size)]
        assert max(seen) - min(seen) <= 1


def test_a_batch_goes_out_in_contiguous_stretches() -> None:
    splitter = splitter_of(Grouping.SHUFFLE)
    splitter.refresh(view_of(range(4)))
    assert sorted(pick.stop - pick.start for _, pick in splitter.split(rows_of(10)) if isinstance(pick, slice)) == [2, 2, 3, 3]


def test_senders_start_at_different_replicas() -> None:
    first = Counter[int]()
    for seed in range(200):
        splitter = splitter_of(Grouping.SHUFFLE, seed=seed)
        splitter.refresh(view_of(range(4)))
        first[splitter.split(rows_of(1))[0][0]] += 1
    assert min(first[index] for index in range(4)) > 25


def test_the_turn_goes_on_after_a_refresh() -> None:
    splitter = splitter_of(Grouping.SHUFFLE)
    splitter.refresh(view_of(range(4)))
    last = splitter.split(rows_of(1))[0][0]
    splitter.refresh(view_of(range(4)))
    assert splitter.split(rows_of(1))[0][0] == (last + 1) % 4
    gone = (last + 2) % 4
    splitter.refresh(view_of(index for index in range(4) if index != gone))
    assert splitter.split(rows_of(1))[0][0] == next(i % 4 for i in range(gone + 1, gone + 4))


def test_local_or_shuffle_stays_in_the_worker_while_it_can() -> None:
    splitter = splitter_of(Grouping.LOCAL_OR_SHUFFLE)
    rows = rows_of(100)
    splitter.refresh(view_of(range(6), local=[1, 4]))
    assert counts_of(rows, splitter.split(rows)) == {1: 50, 4: 50}
    splitter.refresh(view_of(range(5)))
    assert counts_of(rows, splitter.split(rows)) == dict.fromkeys(range(5), 20)


@given(
    weights=st.lists(st.integers(1, 9), min_size=1, max_size=6).map(lambda drawn: dict(enumerate(drawn))),
    batches=st.lists(st.integers(0, 70), max_size=30),
    seed=st.integers(0, 99),
)
def test_a_queue_gets_the_share_of_its_replicas_whatever_the_batches(weights: dict[int, int], batches: list[int], seed: int) -> None:
    splitter = splitter_of(Grouping.SHUFFLE, seed=seed)
    splitter.refresh(view_of(weights, weights=weights))
    counts: Counter[int] = Counter()
    for batch in batches:
        counts += counts_of(rows_of(batch), splitter.split(rows_of(batch)))
        for index, weight in weights.items():
            share = weight / sum(weights.values())
            # a tuple, and its share of half a tuple by which each of the others may be early or late
            assert abs(counts[index] - counts.total() * share) <= 1 + share * len(weights) / 2


def test_the_turns_of_a_queue_are_spread_over_the_round() -> None:
    splitter = splitter_of(Grouping.SHUFFLE)
    splitter.refresh(view_of([0, 3], weights={0: 4, 3: 2}))
    turns = [splitter.split(rows_of(1))[0][0] for _ in range(30)]
    assert all(sorted(turns[start : start + 3]) == [0, 0, 3] for start in range(28))


@pytest.mark.parametrize(
    ("spec", "weight"),
    [
        (Grouping.SHUFFLE, 1),
        (Grouping.SHUFFLE, 3),
        (Grouping.LOCAL_OR_SHUFFLE, 1),
        (Grouping.LOCAL_OR_SHUFFLE, 3),
        (Grouping.NONE, 1),
        (Grouping.LOAD_AWARE, 1),  # of three replicas each, a tuple is a third of its seconds
    ],
    ids=str,
)
def test_equal_weights_change_no_choice(spec: GroupingSpec, weight: int) -> None:
    plain, weighted = splitter_of(spec), splitter_of(spec)
    for active in (range(8), [0, 2, 5], [4]):
        plain.refresh(view_of(active, local=[2]))
        weighted.refresh(view_of(active, local=[2], weights=dict.fromkeys(range(8), weight)))
        for size in (1, 3, 16, 1, 1000):
            assert plain.split(rows_of(size)) == weighted.split(rows_of(size))


def test_the_turn_goes_on_when_replicas_come_to_a_queue() -> None:
    splitter = splitter_of(Grouping.SHUFFLE)
    counts: Counter[int] = Counter()
    for replicas in range(1, 9):
        splitter.refresh(view_of([0, 1], weights={0: replicas, 1: 8}))
        counts += counts_of(rows_of(100), splitter.split(rows_of(100)))
    assert abs(counts[0] - sum(100 * replicas / (replicas + 8) for replicas in range(1, 9))) < 9


def test_none_gives_a_queue_the_share_of_its_replicas() -> None:
    splitter = splitter_of(Grouping.NONE)
    splitter.refresh(view_of([0, 1], weights={0: 3}))
    counts = counts_of(rows_of(4000), splitter.split(rows_of(4000)))
    assert 2850 < counts[0] < 3150


def test_none_chooses_each_row_independently() -> None:
    splitter = splitter_of(Grouping.NONE)
    splitter.refresh(view_of(range(4)))
    rows = rows_of(4000)
    counts = counts_of(rows, splitter.split(rows))
    assert all(850 < counts[index] < 1150 for index in range(4))
    assert len(set(counts.values())) > 1
    assert {splitter.split(rows_of(1))[0][0] for _ in range(50)} == set(range(4))
