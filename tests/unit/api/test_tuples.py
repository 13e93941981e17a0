"""What a tuple says of a field that it does not have."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from pasps.api.tuples import Source, Tuple, values_type
from pasps.runtime.reports import told_of

FIELDS = ("word", "count", "from")
VALUES = values_type(FIELDS)(("a", 1, "b"))
TUPLE = Tuple(VALUES, 0, 0, Source("split", "default", 3, FIELDS))


def test_a_wrong_name_of_a_value_says_which_there_are() -> None:
    with pytest.raises(AttributeError, match=r"'values\(word, count, from\)' object has no attribute 'wrod'"):
        _ = TUPLE.values.wrod
    with pytest.raises(KeyError) as missing:
        _ = TUPLE["wrod"]
    expected = "no field 'wrod' in stream 'default' of 'split'; did you mean 'word'? there are 'word', 'count', 'from'"
    assert missing.value.args == (expected,)


def raised(read: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any
        read()
    return caught.value


def test_when_it_is_told_the_nearest_is_named_too() -> None:
    def chained() -> None:
        try:
            _ = TUPLE.values.wrod
        except AttributeError as error:
            raise LookupError("of its own") from error

    near = "a tuple's values have no field 'wrod'; did you mean 'word'? there are 'word', 'count', 'from'"
    assert told_of(raised(lambda: TUPLE.values.wrod)).endswith(f"AttributeError: {near}")
    assert f"AttributeError: {near}\n" in told_of(raised(chained))
    assert told_of(raised(lambda: TUPLE.values.x9)).endswith("have no field 'x9'; there are 'word', 'count', 'from'")
    assert told_of(raised(lambda: [].wrod)).endswith("'list' object has no attribute 'wrod'")  # type: ignore[attr-defined]
    assert told_of(AttributeError("by hand")) == "AttributeError: by hand"


def test_whoever_asks_whether_there_is_a_field_is_answered() -> None:
    assert getattr(TUPLE.values, "other", None) is None
    assert (hasattr(TUPLE.values, "word"), hasattr(TUPLE.values, "from_")) == (True, False)
    assert ("word" in TUPLE, "other" in TUPLE) == (True, False)


def test_values_are_copied_and_pickled_as_before() -> None:
    for twin in (copy.copy(VALUES), copy.deepcopy(VALUES), pickle.loads(pickle.dumps(VALUES))):
        assert (twin, type(twin), twin.word) == (VALUES, type(VALUES), "a")
