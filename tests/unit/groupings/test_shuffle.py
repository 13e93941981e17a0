from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pasps.api.groupings import Grouping
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


def test_none_chooses_each_row_independently() -> None:
    splitter = splitter_of(Grouping.NONE)
    splitter.refresh(view_of(range(4)))
    rows = rows_of(4000)
    counts = counts_of(rows, splitter.split(rows))
    assert all(850 < counts[index] < 1150 for index in range(4))
    assert len(set(counts.values())) > 1
    assert {splitter.split(rows_of(1))[0][0] for _ in range(50)} == set(range(4))
