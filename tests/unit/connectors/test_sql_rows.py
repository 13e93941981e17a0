"""What fits a column, what does not and how that is said, and what a class may declare."""

from __future__ import annotations

import enum
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from pasps.connectors.sql_rows import Layout, MisfitError, fitted, key_text, layout_of, ordered, written
from pasps.errors import InvalidError

COLUMNS: dict[str, type] = {"event": int, "score": float, "label": str, "good": bool, "raw": bytes, "at": datetime}
LAYOUT = Layout("tweets", COLUMNS, ("event",))
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


class Colour(str, enum.Enum):  # noqa: UP042 - older code is written like this
    RED = "red"


@pytest.mark.parametrize(
    ("column", "given", "written"),
    [
        ("event", 17, 17),
        ("event", np.int32(17), 17),
        ("event", -(2**63), -(2**63)),
        ("score", 0.5, 0.5),
        ("score", 2, 2.0),
        ("score", np.float32(0.5), 0.5),
        ("score", math.inf, math.inf),
        ("label", "", ""),
        ("label", "ñandú 🦤", "ñandú 🦤"),
        ("label", np.str_("word"), "word"),
        ("label", Colour.RED, "red"),
        ("good", False, False),
        ("raw", bytearray(b"\0\xff"), b"\0\xff"),
        ("at", NOON, NOON),
        ("at", NOON.replace(tzinfo=None), NOON),
        ("at", NOON.astimezone(timezone(timedelta(hours=-3))), NOON),
    ],
)
def test_a_value_that_fits_has_exactly_the_column_s_type(column: str, given: Any, written: Any) -> None:
    value = fitted(LAYOUT, {"event": 1, column: given})[column]
    assert value == written
    assert type(value) is COLUMNS[column]


@pytest.mark.parametrize(
    ("column", "given", "words"),
    [
        ("event", "17", r"expected int, got '17' \(str\)"),
        ("event", True, r"expected int, got True \(bool\)"),
        ("event", 1.0, r"expected int, got 1.0 \(float\)"),
        ("event", 2**63, "at most 64 bits, got one of 64"),
        ("event", None, "in the key, so it must have a value, got None"),
        ("score", "0.5", "expected float"),
        ("score", False, "expected float"),
        ("score", 10**400, "too large for one"),
        ("score", math.nan, "got NaN"),
        ("label", 5, r"expected str, got 5 \(int\)"),
        ("label", "a\ud800", r"UTF-8 can write, got '\\ud800' at place 1"),
        ("good", 1, "expected bool"),
        ("raw", "text", "expected bytes"),
        ("at", "2024-02-29", "expected datetime"),
        ("at", datetime.max.replace(tzinfo=timezone(timedelta(hours=-3))), "years 1 to 9999 of UTC"),
        ("labl", "x", "no such column; it has event, score, label, good, raw, at"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_column(column: str, given: Any, words: str) -> None:
    with pytest.raises(MisfitError, match=words) as caught:
        fitted(LAYOUT, {"event": 1, column: given})
    assert caught.value.column == column


def test_what_a_row_leaves_out_is_none() -> None:
    assert fitted(LAYOUT, {"event": 1, "score": None}) == dict.fromkeys(COLUMNS) | {"event": 1}


def test_a_long_value_is_shown_cut() -> None:
    with pytest.raises(MisfitError) as caught:
        fitted(LAYOUT, {"event": "x" * 10_000})
    assert len(str(caught.value)) < 200


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_row_is_written_down_whatever_it_holds() -> None:
    row = {"event": 10**5000, "label": Odd(), "score": [1, "a\ud800"]}
    assert written(row) == f"{{'event': {hex(10**5000)}, 'label': <Odd, whose repr raises RuntimeError>, 'score': [1, 'a\\ud800']}}"
    assert key_text(LAYOUT, row).startswith("event=0x")


def test_rows_are_in_the_order_of_their_keys_and_equal_keys_as_they_came() -> None:
    layout = Layout("words", {"event": int, "word": str, "n": int}, ("event", "word"))
    rows = [{"event": e, "word": w, "n": n} for n, (e, w) in enumerate([(2, "a"), (1, "b"), (1, "a"), (1, "b")])]
    assert [row["n"] for row in ordered(layout, rows)] == [2, 1, 3, 0]
    assert key_text(layout, rows[0]) == "event=2, word='a'"


@pytest.mark.parametrize(
    ("table", "columns", "key", "words"),
    [
        ("", {"event": int}, ("event",), "table must have a name of 1 to 55 bytes, got ''"),
        ("t" * 56, {"event": int}, ("event",), "of 1 to 55 bytes"),
        ("public.tweets", {"event": int}, ("event",), "without a dot, got 'public.tweets'"),
        ("t", {}, ("event",), "columns must be a dict"),
        ("t", ["event"], ("event",), "columns must be a dict"),
        ("t", {"event": int, "tags": list}, ("event",), "column 'tags' must have one of the types int, float, str, bool, bytes, datetime"),
        ("t", {5: int}, ("event",), "a column must have a name of 1 to 63 bytes, got 5"),
        ("t", {"event": int}, (), r"key must name columns \(event\)"),
        ("t", {"event": int}, ("evnt",), r"key must name columns \(event\)"),
        ("t", {"event": int}, "event", r'such as \("event",\), got \'event\''),
    ],
)
def test_a_wrong_declaration_is_refused(table: Any, columns: Any, key: Any, words: str) -> None:
    with pytest.raises(InvalidError, match=f"component 'store': .*{words}"):
        layout_of(table, columns, key, "component 'store'")
