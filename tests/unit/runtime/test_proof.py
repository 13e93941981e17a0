"""`proof` may miss what is certain, but never calls certain what is not."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from pasps.runtime.ways import always_returns_row


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
