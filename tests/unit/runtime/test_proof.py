"""`proof` may miss what is certain, but never calls certain what is not."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from pasps.runtime.proof import Seen, always_returns_row, seen_of_argument


def pair(a: Any, b: Any) -> Any:
    return a, b


def early(a: Any, b: Any) -> Any:
    if a:
        return b, a
    for _ in range(3):
        b += 1
    return a, b


def constant(a: Any) -> Any:
    return 1, "x"


def no_return(a: Any) -> None:
    str(a)


def filters(a: Any, b: Any) -> Any:
    if a:
        return None
    return a, b


def falls_off(a: Any, b: Any) -> Any:
    if a:
        return a, b


def variable(a: Any, b: Any) -> Any:
    row = (a, b)
    return row


def passes(row: Any) -> Any:
    return row


def chooses(a: Any, b: Any) -> Any:
    return (a, b) if a else [b]


def several(a: Any, b: Any) -> Any:
    yield a, b


async def later(a: Any, b: Any) -> Any:
    return a, b


def in_list(a: Any, b: Any) -> Any:
    return [(a, b)]


def guarded(a: Any, b: Any) -> Any:
    try:
        return a, b
    finally:
        str(a)


@functools.wraps(pair)
def wrapped(*args: Any) -> Any:
    return list(pair(*args))


@pytest.mark.parametrize("function", [pair, early, constant])
def test_plain_rows_are_certain(function: Any) -> None:
    assert always_returns_row(function, 2)


@pytest.mark.parametrize("function", [pair, early, constant])
def test_another_width_is_not(function: Any) -> None:
    assert not always_returns_row(function, 3)


@pytest.mark.parametrize(
    "function",
    [
        no_return,
        filters,
        falls_off,
        variable,
        passes,
        chooses,
        several,
        later,
        in_list,
        wrapped,
        len,
        functools.partial(pair, 1),
        str.split,
    ],
)
def test_anything_else_is_not_certain(function: Any) -> None:
    assert not always_returns_row(function, 2)


def test_what_is_called_certain_is_a_row() -> None:
    if always_returns_row(guarded, 2):
        assert guarded(1, 2) == (1, 2)


class Sees:
    """Methods by what they see of `tup`: the first letters of their names say it."""

    kept: Any = None

    def row_star(self, tup: Any) -> Any:
        return pair(*tup.values)

    def row_star_behind_others(self, tup: Any) -> Any:
        return functools.partial(pair, self, *tup.values, key=1)

    def row_unpacked(self, tup: Any) -> Any:
        a, *rest = tup.values
        return rest, a

    def row_by_index(self, tup: Any) -> Any:
        return tup.values[0], tup.values[-1]

    def row_in_turn(self, tup: Any) -> Any:
        for value in tup.values:
            if value:
                return [*tup.values]
        return [str(value) for value in tup.values]

    def row_not_at_all(self, tup: Any) -> Any:
        return None

    def values_by_name(self, tup: Any) -> Any:
        return tup.values.a

    def values_kept(self, tup: Any) -> Any:
        self.kept = tup.values

    def values_given(self, tup: Any) -> Any:
        a, b = tup.values
        return pair(a or b, tup.values)

    def values_sliced(self, tup: Any) -> Any:
        return tup.values[self.kept :]

    def values_as_names(self, tup: Any) -> Any:
        return dict(**tup.values)

    def values_and_more(self, tup: Any) -> Any:
        return pair(*tup.values, **tup.values)

    def tuple_given(self, tup: Any) -> Any:
        return pair(tup, 1)

    def tuple_kept(self, tup: Any) -> Any:
        other = tup
        return other.values

    def tuple_by_key(self, tup: Any) -> Any:
        return tup["a"]

    def tuple_other_attribute(self, tup: Any) -> Any:
        return tup.stream, tup.values[0]

    def tuple_changed(self, tup: Any) -> Any:
        tup.values = ()

    def tuple_replaced(self, tup: Any) -> Any:
        tup = Sees()
        return tup.kept

    def tuple_in_closure(self, tup: Any) -> Any:
        return lambda: tup.values

    def tuple_in_locals(self, tup: Any) -> Any:
        return locals()

    def tuple_later(self, tup: Any) -> Any:
        yield tup.values

    async def tuple_awaited(self, tup: Any) -> Any:
        return tup.values[0]

    def tuple_of_two(self, tup: Any, other: Any = None) -> Any:
        return tup.values[0]


@pytest.mark.parametrize("name", [name for name in vars(Sees) if name.startswith(("row", "values", "tuple"))])
def test_what_a_method_sees_of_its_tuple_is_not_taken_for_less(name: str) -> None:
    most = Seen[name.partition("_")[0].upper()]
    assert seen_of_argument(vars(Sees)[name]) <= most


@pytest.mark.parametrize("name", ["row_star", "row_unpacked", "row_by_index", "values_by_name", "values_kept"])
def test_what_is_written_most_often_is_recognised(name: str) -> None:
    assert seen_of_argument(vars(Sees)[name]) is Seen[name.partition("_")[0].upper()]


@pytest.mark.parametrize("other", [None, len, str.split, functools.partial(pair, 1), Sees().row_star, lambda: None])
def test_what_is_no_plain_function_may_see_all(other: Any) -> None:
    assert seen_of_argument(other) is Seen.TUPLE
