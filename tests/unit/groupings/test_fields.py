from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.api.groupings import Grouping
from pasps.errors import GroupingError
from pasps.groupings.fields import task_of
from pasps.groupings.hashing import encode, stable_hash
from pasps.groupings.keys import MOST_KEYS, KeyCache
from pasps.groupings.partial_key import candidates
from tests.unit.groupings.harness import choices_of, splitter_of, view_of

by_word = Grouping.fields("word")


def test_equal_keys_have_one_task_and_text_goes_by_the_stable_hash() -> None:
    splitter = splitter_of(by_word)
    splitter.refresh(view_of([0], tasks=5))
    rows = [(key, 0) for key in ("a", 1, None, 2.5, ("x", 1), "a", 1.0, True)]
    assert choices_of(splitter, rows) == [task_of(5, encode(key)) for key, _ in rows]
    assert choices_of(splitter, [("a", 0)]) == [stable_hash("a") % 5]
    both = splitter_of(Grouping.fields("n", "word"))
    both.refresh(view_of([0], tasks=5))
    assert choices_of(both, [("a", 7)]) == [stable_hash((7, "a")) % 5]


@given(
    keys=st.lists(st.text(max_size=3) | st.integers() | st.lists(st.integers(), max_size=2), max_size=40), active=st.sets(st.integers(0, 7))
)
def test_no_key_moves_when_replicas_come_and_go_and_all_senders_agree(keys: list[Any], active: set[int]) -> None:
    rows = [(key, 0) for key in keys]
    splitter, other = splitter_of(by_word, seed=1), splitter_of(by_word, seed=2)
    splitter.refresh(view_of(range(8)))
    other.refresh(view_of([0]))
    before = choices_of(splitter, rows)
    splitter.refresh(view_of(sorted(active | {0})))
    assert choices_of(splitter, rows) == before == choices_of(other, rows)
    assert [choices_of(other, [row])[0] for row in rows] == before


def test_keys_that_cannot_be_remembered_are_computed() -> None:
    splitter = splitter_of(by_word)
    splitter.refresh(view_of([0], tasks=64))
    rows = [([1, 2], 0), ("a", 0), ({"k": [1]}, 0), ((1, [2]), 0), ("long" * 1000, 0)]
    assert choices_of(splitter, rows) == [stable_hash(key) % 64 for key, _ in rows]


def test_a_key_without_a_stable_hash_is_named() -> None:
    splitter = splitter_of(Grouping.fields("word", "n"))
    splitter.refresh(view_of([0]))
    with pytest.raises(
        GroupingError, match=r"component 'words', stream 'default', field 'n': a key of type builtins.object .*; group by a str"
    ):
        splitter.split([("a", object())])
    with pytest.raises(GroupingError, match=r"field 'word': a key of type builtins.set"):
        splitter.split([("a", 1), ({1}, 1)])


@pytest.mark.parametrize("spec", [Grouping.fields("word", "wrd"), Grouping.partial_key("wrd")], ids=str)
def test_a_field_that_the_stream_has_not_is_refused(spec: Any) -> None:
    with pytest.raises(GroupingError, match=r"no key field \['wrd'\] among its fields 'word, n'"):
        splitter_of(spec)


class Text(str):
    """Text that a weak reference may point to."""


def test_the_cache_keeps_a_bounded_number_of_keys_and_no_long_ones() -> None:
    cache: KeyCache[int] = KeyCache(len)
    alive: WeakSet[Text] = WeakSet()
    for number in range(3 * MOST_KEYS):
        key = Text(number)
        alive.add(key)
        cache[key]
    assert len(alive) <= 2 * MOST_KEYS + 1
    key = Text("x" * 10_000)
    alive = WeakSet([key])
    cache[key]
    del key
    assert not alive


def test_a_key_that_comes_again_is_computed_once_however_many_others_pass() -> None:
    computed: list[bytes] = []

    def compute(encoded: bytes) -> int:
        computed.append(encoded)
        return 0

    cache: KeyCache[int] = KeyCache(compute)
    for number in range(3 * MOST_KEYS):
        cache[number]
        cache["again"]
    assert computed.count(encode("again")) == 1


def test_partial_key_gives_a_key_two_tasks_and_balances_them() -> None:
    splitter = splitter_of(Grouping.partial_key("word"))
    splitter.refresh(view_of([0], tasks=8))
    counts = Counter(choices_of(splitter, [("hot", 0)] * 101))
    assert sorted(counts.values()) == [50, 51]


@pytest.mark.parametrize("tasks", [2, 3, 8, 64])
def test_partial_key_balances_keys_and_no_key_has_more_than_two_tasks(tasks: int) -> None:
    splitter = splitter_of(Grouping.partial_key("word"))
    splitter.refresh(view_of([0], tasks=tasks))
    random = Random(5)
    keys = [f"k{random.randrange(1000)}" for _ in range(20_000)]
    tasks_of: dict[str, set[int]] = {}
    choices = choices_of(splitter, [(key, 0) for key in keys])
    for key, task in zip(keys, choices, strict=True):
        tasks_of.setdefault(key, set()).add(task)
    assert max(map(len, tasks_of.values())) == 2
    counts = Counter(choices)
    assert max(counts.values()) - min(counts[task] for task in range(tasks)) < 0.1 * 20_000 / tasks + 2


@pytest.mark.parametrize("tasks", [2, 3, 8, 64])
def test_the_two_tasks_of_a_key_are_different_and_independent(tasks: int) -> None:
    pairs = Counter(candidates(tasks, encode(f"user-{i}")) for i in range(100 * tasks * (tasks - 1)))
    assert len(pairs) == tasks * (tasks - 1)
    assert all(first != second for first, second in pairs)
    assert max(pairs.values()) < 160
    assert candidates(1, b"a") == (0, 0)


def test_partial_key_uses_the_task_given_less_and_counts_go_on_after_a_refresh() -> None:
    splitter = splitter_of(Grouping.partial_key("word"))
    splitter.refresh(view_of([0], tasks=2))
    first = choices_of(splitter, [("a", 0)])
    splitter.refresh(view_of([0, 1], tasks=2))
    assert choices_of(splitter, [("a", 0)]) == [1 - first[0]]


@pytest.mark.parametrize("step", [1, 2, 3, 4, 8, 10])
@pytest.mark.parametrize("tasks", [2, 3, 4, 8])
def test_a_few_whole_numbers_are_spread_evenly(step: int, tasks: int) -> None:
    per_task = Counter(task_of(tasks, encode(step * i)) for i in range(5 * tasks))
    assert len(per_task) == tasks
    assert max(per_task.values()) <= 8


def test_negative_and_very_large_numbers_have_a_task() -> None:
    assert all(0 <= task_of(7, encode(n)) < 7 for n in (-1, -(2**63), 2**64, 10**40, -(10**40)))


@pytest.mark.parametrize("step", [1, 7, 100, 1000, 4096])
def test_many_whole_numbers_are_spread_evenly_whatever_their_step(step: int) -> None:
    per_task = Counter(task_of(8, encode(step * i)) for i in range(8000))
    assert all(900 < count < 1100 for count in per_task.values())
