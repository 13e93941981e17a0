from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.api.groupings import Grouping
from pasps.errors import GroupingError
from pasps.groupings.keys import MOST_KEYS, KeyCache, candidates, encode, task_of
from tests.unit.groupings.harness import choices_of, splitter_of, view_of

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    note: str = field(default="", compare=False)


@dataclass
class Loose:
    x: int


class Pair(NamedTuple):
    a: int
    b: int


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Index:
    def __index__(self) -> int:
        return 7


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
EQUAL: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0, -0.0),
    (0, False),
    (2**80, float(2**80)),
    (1, Level.LOW),
    (Decimal("1.0"), 1),
    (Decimal("0.5"), 0.5),
    (Decimal("0.10"), Decimal("0.1")),
    ((1, "a"), (True, "a")),
    ((1, (2.0, None)), (1.0, (2, None))),
    (Pair(1, 2), (1, 2)),
    (Point(1, 2), Point(1.0, 2.0, "elsewhere")),
    ({"a": 1, "b": 2}, {"b": 2.0, "a": True}),
    (b"ab", bytearray(b"ab")),
    (NOON, NOON.astimezone(timezone(timedelta(hours=5)))),
    (NOON.timetz(), NOON.astimezone(timezone(timedelta(hours=5))).timetz()),
    (timedelta(seconds=60), timedelta(minutes=1)),
    (Decimal(2**70), 2**70),
    (Decimal(10**30 + 1), 10**30 + 1),
]
DIFFERENT: list[Any] = [
    None, 0, 1, -1, 255, 256, -256, 2**80, 0.5, float("inf"), float("-inf"), float("nan"), Decimal("0.1"), 0.1,
    "", "1", "a", "é", "\ud800", b"", b"a", (), ("",), ("", ""), ("a", "b"), ("ab", ""), ((1, 2), 3), (1, (2, 3)),
    {}, {1: 2}, (1, 2), Point(1, 2), Point(2, 1), NOON, NOON.replace(tzinfo=None), NOON.date(), date(2024, 5, 2), NOON.time(),
    time(1, 2), time(1, 2, tzinfo=UTC),
    timedelta(1), UUID(int=5), "Infinity",
]  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes()
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=repr)
def test_equal_keys_hash_equal(one: Any, other: Any) -> None:
    assert one == other
    assert encode(one) == encode(other)


@given(
    one=st.integers(-3, 3) | st.floats(-3, 3) | st.decimals(-3, 3, places=2), other=st.integers(-3, 3) | st.sampled_from([0.5, 1.0, True])
)
def test_numbers_encode_equal_just_when_they_are(one: Any, other: Any) -> None:
    assert (one == other) == (encode(one) == encode(other))


@given(one=keys, other=keys)
def test_keys_that_compare_equal_always_hash_equal(one: Any, other: Any) -> None:
    if one == other:
        assert encode(one) == encode(other)


def test_different_keys_encode_differently() -> None:
    assert len({encode(key) for key in DIFFERENT}) == len(DIFFERENT)


def test_values_that_travel_as_another_type_keep_their_task() -> None:
    assert encode((1, 2)) == encode([1, 2])  # a tuple inside a row may arrive as a list
    assert encode(Color.RED) == encode("red")
    assert encode(Index()) == encode(7)
    assert encode(float("nan")) == encode(-float("nan")) == encode(Decimal("nan"))
    assert encode(Decimal("-Infinity")) == encode(float("-inf"))


@pytest.mark.parametrize("key", [object(), Loose(1), Point, {1, 2}, 1j, (1, object()), lambda: 1])
def test_what_has_no_stable_form_is_refused_by_type(key: Any) -> None:
    with pytest.raises(TypeError, match=r"^(builtins|tests)\."):
        encode(key)


def test_tasks_are_the_same_in_a_process_with_another_seed() -> None:
    expression = repr([1, 2.5, "word", b"x", None, ("a", (1, 2)), {"k": "v", "j": 2}, 2**90])
    tasks = f"[(task_of(2**32, encode(key)), candidates(2**32, encode(key))) for key in {expression}]"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", f"from pasps.groupings.keys import candidates, encode, task_of\nprint({tasks})"],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{eval(tasks)}\n"}


def test_the_task_of_a_key_never_changes_between_releases() -> None:
    # a topology's workers may run different Python versions, and a saved position outlives a release
    encoded = [encode(key) for key in ("word", 17, ("a", 1), None, 0.5)]
    assert [candidates(2**32, key)[0] for key in encoded] == [74151647, 2356274893, 1452603194, 965214993, 3520593185]
    assert [task_of(2**32, key) for key in encoded] == [74151647, 2175735121, 1452603194, 965214993, 3520593185]


@pytest.mark.parametrize("tasks", [2, 3, 7, 8, 64])
@pytest.mark.parametrize(
    "make",
    [
        str,
        int,
        lambda i: f"user-{i:06d}",
        lambda i: i * 64,
        lambda i: (i % 10, i // 10),
        float,
        lambda i: f"{i}@example.org",
        lambda i: i / 7,
    ],
    ids=["str", "int", "padded", "multiples", "pairs", "float", "suffix", "sevenths"],
)
def test_keys_spread_evenly(make: Any, tasks: int) -> None:
    count = 6400
    expected = count / tasks
    freedom = tasks - 1
    for choose in (task_of, lambda tasks, key: candidates(tasks, key)[0]):
        per_task = Counter(choose(tasks, encode(make(i))) for i in range(count))
        chi_square = sum((per_task[task] - expected) ** 2 / expected for task in range(tasks))
        assert chi_square < freedom + 5 * (2 * freedom) ** 0.5 + 5


by_word = Grouping.fields("word")


def test_equal_keys_have_one_task() -> None:
    splitter = splitter_of(by_word)
    splitter.refresh(view_of([0], tasks=5))
    rows = [(key, 0) for key in ("a", 1, None, 2.5, ("x", 1), "a", 1.0, True)]
    assert choices_of(splitter, rows) == [task_of(5, encode(key)) for key, _ in rows]
    both = splitter_of(Grouping.fields("n", "word"))
    both.refresh(view_of([0], tasks=5))
    assert choices_of(both, [("a", 7)]) == [task_of(5, encode((7, "a")))]


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
    assert choices_of(splitter, rows) == [task_of(64, encode(key)) for key, _ in rows]


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
