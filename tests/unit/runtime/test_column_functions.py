"""Batch functions by column: what they are given, what may come back, and what is refused for the whole call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pasps import EndOfInput, Spout, Stream, TopologyBuilder, bolt
from pasps.testing import CompletedTopology, complete_topology


class Points(Spout):
    outputs = [Stream(["x", "y"]), Stream(["a", "b"], "others")]

    def next_tuple(self) -> float | None:
        raise EndOfInput


Function = Callable[..., Any]


def completed(function: Any, points: list[list[Any]], **options: Any) -> CompletedTopology:
    builder = TopologyBuilder()
    builder.set_spout("points", Points)
    builder.set_bolt("step", function).shuffle_grouping("points")
    return complete_topology(builder.create_topology("columns"), {"points": points}, **options)


def test_each_field_comes_as_a_list_of_its_own_and_each_output_field_goes_as_one() -> None:
    seen: list[Any] = []

    @bolt(outputs=["sum", "text"], columns=True)
    def add(x: list[int], y: list[int]) -> Any:
        seen.append((x, y))
        return [a + b for a, b in zip(x, y, strict=True)], tuple(map(str, x))

    result = completed(add, [[i, 10 * i] for i in range(30)])
    assert result.rows("step") == [(11 * i, str(i)) for i in range(30)]
    assert all(type(x) is list is type(y) for x, y in seen)
    assert max(len(x) for x, _ in seen) > 1
    assert [value for x, _ in seen for value in x] == list(range(30))
    assert sorted(result.acked["points"]) == list(range(30))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2, -(2**63)], np.int64),
        ([0.5, 1.0], np.float64),
        ([0.5, 1, 2**60], np.float64),
        ([True, False], np.bool_),
        ([2.5, True], np.float64),
        ([np.float32(0.5)], np.float32),
        ([np.float64(0.5)], np.float64),
        ([np.uint64(2**64 - 1)], np.uint64),
    ],
)
def test_arrays_have_the_kind_of_their_numbers(values: list[Any], dtype: Any) -> None:
    seen: list[Any] = []

    @bolt(outputs=["x", "y"], columns="numpy")
    def see(x: Any, y: Any) -> Any:
        seen.append(y)
        return x, y

    result = completed(see, [[0, value] for value in values], check_wire=False)
    assert result.errors == []
    for array in seen:
        assert isinstance(array, np.ndarray)
        assert array.ndim == 1
        assert array.dtype == dtype or (array.dtype == np.int64 and dtype == np.float64), "a batch may have no fraction"
    assert [y for _, y in result.rows("step")] == [value.item() if isinstance(value, np.generic) else value for value in values]
    assert all(type(y) in (int, float, bool) for _, y in result.rows("step"))


def annotated(x: list[Any], y: Any) -> Any:
    return kinds(x, y)


def bare(x: list, y: Any) -> Any:  # type: ignore[type-arg]
    return kinds(x, y)


def unresolved(x: list[Unknown], y: listing) -> Any:  # type: ignore[name-defined] # noqa: F821
    return kinds(x, y)


def all_lists(x: Any, *rest: list[Any]) -> Any:
    return kinds(*rest, x)


def kinds(x: Any, y: Any) -> Any:
    assert type(x) is list
    assert type(y) is np.ndarray
    return [x]


def evaluated(x: Any, y: Any) -> Any:
    return kinds(x, y)


evaluated.__annotations__["x"] = list  # as in a module without `from __future__ import annotations`


@pytest.mark.parametrize(
    ("function", "row"),
    [
        *((annotated, ["a", 1]), (bare, [None, 1]), (unresolved, ["a", 1]), (evaluated, ["a", 1])),
        (all_lists, [1, "a"]),
    ],
)
def test_a_parameter_that_is_annotated_as_a_list_gets_one(function: Any, row: list[Any]) -> None:
    result = completed(bolt(outputs=["x"], columns="numpy")(function), [row, row])
    assert result.errors == []


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (None, "NoneType"),
        ("7", "str"),
        (2**63, "int of more than 64 bits"),
        (2**64, "int of more than 64 bits"),
        ([1], "list"),
    ],
)
def test_what_makes_no_array_of_numbers_is_refused_with_its_field(value: Any, got: str) -> None:
    @bolt(outputs=["x"], columns="numpy")
    def first(x: Any, y: Any) -> Any:
        return x

    result = completed(first, [[1, value]])
    assert result.failed["points"] == [0]
    expected = f"expected numbers or booleans, got {got}; annotate its parameter as a list to get one"
    assert f"component 'step': field 'y' of 'points' makes no array: {expected}" in result.errors[0].text


def in_one_batch(function: Function, outputs: list[str], points: list[list[Any]]) -> CompletedTopology:
    calls: list[int] = []

    def counted(x: Any, y: Any) -> Any:
        calls.append(len(x))
        return function(x, y)

    result = completed(bolt(outputs=outputs, columns="numpy")(counted), points)
    assert calls in ([len(points)], []), "what makes no array calls nobody"
    return result


@pytest.mark.parametrize(
    ("values", "got"),
    [
        *(([1.5, None], "NoneType, float"), ([1, "1"], "int, str"), ([1, 2**63], "int of more than 64 bits")),
        *(([[1], [2]], "list"), ([[1], [2, 3]], "list"), ([1, [2]], "int, list")),
    ],
)
def test_one_value_that_is_no_number_fails_the_batch_and_is_told_once(values: list[Any], got: str) -> None:
    result = in_one_batch(lambda x, y: x, ["x"], [[1, value] for value in values])
    assert sorted(result.failed["points"]) == [0, 1]
    assert len(result.errors) == 1
    assert f"got {got}; annotate its parameter as a list to get one" in result.errors[0].text


ONE, TWO = ["p"], ["p", "q"]
LENGTH_FOR_EACH = "expected a list or array of length 3 for each of "
LENGTH_FOR = "expected a list or array of length 3 for "


@pytest.mark.parametrize(
    ("outputs", "function", "problem"),
    [
        (TWO, lambda x, y: x, LENGTH_FOR_EACH + "p, q, got array([1, 1, 1])"),
        (TWO, lambda x, y: [x], LENGTH_FOR_EACH + "p, q, got 1 of them"),
        (TWO, lambda x, y: (x, y, y), LENGTH_FOR_EACH + "p, q, got 3 of them"),
        (TWO, lambda x, y: None, LENGTH_FOR_EACH + "p, q, got None"),
        (TWO, lambda x, y: (x, y[1:]), LENGTH_FOR + "'q', got one of length 2"),
        (TWO, lambda x, y: (x[1:].tolist(), y), LENGTH_FOR + "'p', got one of length 2"),
        (TWO, lambda x, y: (x, x.sum()), LENGTH_FOR + "'q', got np.int64(3)"),
        (TWO, lambda x, y: (x, "abc"), LENGTH_FOR + "'q', got 'abc'"),
        (TWO, lambda x, y: (x, dict.fromkeys("abc")), LENGTH_FOR + "'q', got {'a': None, 'b': None, 'c': None}"),
        (ONE, lambda x, y: x.tolist(), LENGTH_FOR_EACH + "p, got 3 of them"),
        (ONE, lambda x, y: None, LENGTH_FOR + "'p', got None"),
        (ONE, lambda x, y: x[:2], LENGTH_FOR + "'p', got one of length 2"),
    ],
)
def test_columns_that_do_not_fit_fail_the_call_and_are_told_once(outputs: list[str], function: Function, problem: str) -> None:
    result = in_one_batch(function, outputs, [[1, i] for i in range(3)])
    assert sorted(result.failed["points"]) == [0, 1, 2]
    assert result.rows("step") == []
    assert len(result.errors) == 1
    assert f"component 'step', stream 'default': {problem}, returned by " in result.errors[0].text
    assert "counted (test_column_functions.py:" in result.errors[0].text


def test_the_only_column_may_be_an_array_by_itself() -> None:
    result = in_one_batch(lambda x, y: y * 0.5, ONE, [[1, i] for i in range(3)])
    assert result.rows("step") == [(0.0,), (0.5,), (1.0,)]


def test_an_array_of_rows_gives_a_list_for_each_tuple() -> None:
    result = in_one_batch(lambda x, y: [np.stack([x, y], axis=1)], ONE, [[1, i] for i in range(3)])
    assert result.rows("step") == [([1, i],) for i in range(3)]


def test_a_sink_by_column_returns_nothing() -> None:
    @bolt(columns="numpy")
    def sink(x: Any, y: Any) -> Any:
        return x if x[0] == 3 else None

    result = completed(sink, [[i, i] for i in (3, 4)])
    assert 0 in result.failed["points"]
    assert "a bolt without outputs must return None, got array([3" in result.errors[0].text
    assert completed(sink, [[i, i] for i in range(4, 30)]).errors == []


def test_each_call_has_the_tuples_of_one_stream() -> None:
    seen: list[tuple[str, int]] = []

    @bolt(columns=True)
    def sink(first: list[int], second: list[int]) -> None:
        seen.extend(zip(first, second, strict=True))

    builder = TopologyBuilder()
    builder.set_spout("points", Points)
    builder.set_bolt("step", sink).shuffle_grouping("points").shuffle_grouping("points", "others")
    complete_topology(builder.create_topology("columns"), {"points": [[i, -i] for i in range(9)]})
    assert sorted(seen) == [(i, -i) for i in range(9)]
