from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.groupings.hashing import encode, stable_hash

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
        assert stable_hash(one) == stable_hash(other)


def test_different_keys_encode_differently() -> None:
    assert len({encode(key) for key in DIFFERENT}) == len(DIFFERENT)


def test_values_that_travel_as_another_type_keep_their_task() -> None:
    assert encode((1, 2)) == encode([1, 2])  # a tuple inside a row may arrive as a list
    assert encode(Color.RED) == encode("red")
    assert encode(Index()) == encode(7)
    assert encode(float("nan")) == encode(-float("nan")) == encode(Decimal("nan"))
    assert encode(Decimal("-Infinity")) == encode(float("-inf"))


@pytest.mark.parametrize("key", [object(), Loose(1), Point, {1, 2}, 1j, (1, object()), lambda: 1], ids=repr)
def test_what_has_no_stable_form_is_refused_by_type(key: Any) -> None:
    with pytest.raises(TypeError, match=r"^(builtins|tests)\."):
        stable_hash(key)


def test_hashes_are_the_same_in_a_process_with_another_seed() -> None:
    expression = repr([1, 2.5, "word", b"x", None, ("a", (1, 2)), {"k": "v", "j": 2}, 2**90])
    program = f"from pasps.groupings.hashing import stable_hash\nprint([stable_hash(key) for key in {expression}])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = [stable_hash(key) for key in eval(expression)]
    assert outputs == {f"{here}\n"}


def test_hashes_never_change_between_releases() -> None:
    # a topology's workers may run different Python versions, and a saved position outlives a release
    assert [stable_hash(key) for key in ("word", 17, ("a", 1), None, 0.5)] == [74151647, 2356274893, 1452603194, 965214993, 3520593185]


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
    per_task = Counter(stable_hash(make(i)) % tasks for i in range(count))
    expected = count / tasks
    chi_square = sum((per_task[task] - expected) ** 2 / expected for task in range(tasks))
    freedom = tasks - 1
    assert chi_square < freedom + 5 * (2 * freedom) ** 0.5 + 5
