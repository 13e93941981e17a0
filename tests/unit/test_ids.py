"""Ids are random, owned, repeatable from a seed and never zero where zero means untracked."""

from __future__ import annotations

import tracemalloc

import hypothesis.strategies as st
from hypothesis import given

from pasps.ids import MOST_TASKS, OWNER_MASK, IdSource


@given(st.integers(0, 200), st.integers(1, MOST_TASKS), st.integers(0, 2**32))
def test_roots_carry_their_owner_and_fit_64_bits(count: int, owner: int, seed: int) -> None:
    roots = IdSource(seed).roots(count, owner)
    assert len(roots) == count
    assert all(root & OWNER_MASK == owner and 0 < root < 2**64 for root in roots)


def test_the_same_seed_gives_the_same_ids_and_another_does_not() -> None:
    one, same, other = IdSource(1), IdSource(1), IdSource(2)
    assert one.edges(3) == same.edges(3)
    assert one.roots(3, 5) == same.roots(3, 5)
    assert IdSource(1).edges(3) != other.edges(3)


def test_ids_without_a_seed_differ_from_source_to_source() -> None:
    assert IdSource().edges(4) != IdSource().edges(4)


def test_many_ids_are_distinct_and_their_xor_is_not_zero() -> None:
    ids = IdSource(3).edges(10_000)
    assert len(set(ids)) == len(ids)
    total = 0
    for each in ids:
        total ^= each
    assert total


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 3)), max_size=20))
def test_batches_of_any_sizes_in_any_order_carry_their_owner(batches: list[tuple[int, int]]) -> None:
    source = IdSource(4)
    for count, owner in batches:
        assert [root & OWNER_MASK for root in source.roots(count, owner)] == [owner] * count


def test_what_is_kept_does_not_grow_with_the_sizes_of_batches() -> None:
    source = IdSource(5)
    source.roots(500, 1)
    tracemalloc.start()
    try:
        for count in range(1, 500):
            source.roots(count, 1)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
