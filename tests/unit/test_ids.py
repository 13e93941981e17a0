"""Ids are random, owned, repeatable from a seed and never zero where zero means untracked."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from pasps.ids import MOST_TASKS, IdSource, owner_of


@given(st.integers(0, 200), st.integers(1, MOST_TASKS), st.integers(0, 2**32))
def test_roots_carry_their_owner_and_fit_64_bits(count: int, owner: int, seed: int) -> None:
    roots = IdSource(seed).roots(count, owner)
    assert len(roots) == count
    assert all(owner_of(root) == owner and 0 < root < 2**64 for root in roots)


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


def test_more_sizes_than_are_remembered_still_work() -> None:
    source = IdSource(4)
    for count in range(1100):
        assert len(source.roots(count % 3 + 1, count + 1)) == count % 3 + 1
