"""What a tuple says of a field that it does not have."""

from __future__ import annotations

import copy
import pickle

import pytest

from pasps.api.tuples import Source, Tuple, values_type

FIELDS = ("word", "count", "from")
VALUES = values_type(FIELDS)(("a", 1, "b"))
TUPLE = Tuple(VALUES, 0, 0, Source("split", "default", 3, FIELDS))


def test_a_wrong_name_of_a_value_names_the_fields_and_the_nearest() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = TUPLE.values.wrod
    assert str(caught.value) == "a tuple's values have no field 'wrod'; did you mean 'word'? there are 'word', 'count', 'from'"
    with pytest.raises(AttributeError, match=r"have no field 'x9'; there are 'word', 'count', 'from'$"):
        _ = TUPLE.values.x9
    with pytest.raises(KeyError) as missing:
        _ = TUPLE["wrod"]
    expected = "no field 'wrod' in stream 'default' of 'split'; did you mean 'word'? there are 'word', 'count', 'from'"
    assert missing.value.args == (expected,)


def test_whoever_asks_whether_there_is_a_field_is_answered() -> None:
    assert getattr(TUPLE.values, "other", None) is None
    assert (hasattr(TUPLE.values, "word"), hasattr(TUPLE.values, "from_")) == (True, False)
    assert ("word" in TUPLE, "other" in TUPLE) == (True, False)


def test_values_are_copied_and_pickled_as_before() -> None:
    for twin in (copy.copy(VALUES), copy.deepcopy(VALUES), pickle.loads(pickle.dumps(VALUES))):
        assert (twin, type(twin), twin.word) == (VALUES, type(VALUES), "a")
