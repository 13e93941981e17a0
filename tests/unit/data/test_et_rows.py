"""The rows in files of events: what is good, and how bad ones are counted and named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from pasps.data.et_events import Part, Rows, rows_of
from pasps.errors import InvalidError


def rows(text: str, kind: str, most: int = 100, fields: Sequence[str] = ("user", "price")) -> Rows:
    return rows_of(kind, [Part("", text.splitlines())], fields, most, "--events some/where")


def test_json_lines_are_objects_by_field_or_arrays_and_values_stay_as_they_are() -> None:
    found = rows('{"price": 1.5, "user": "ann", "more": 1}\n["bob", 2]\n\n{"user": null, "price": [1, {"a": true}]}\n', "json")
    assert found == Rows([("ann", 1.5), ("bob", 2), (None, [1, {"a": True}])])
    assert type(found.values[1][1]) is int


def test_bad_lines_are_counted_and_the_first_are_named() -> None:
    found = rows('{"user": "ann"}\n["bob"]\nnot json\n"text"\n["eve", 3]\n', "json")
    assert (found.values, found.bad) == ([("eve", 3)], 4)
    assert found.problems == (
        "line 1: expected field 'price', got only user",
        "line 2: expected 2 values (user, price), got 1",
        "line 3: Expecting value: line 1 column 1 (char 0)",
    )


def test_an_array_of_events_is_not_taken_for_one_event() -> None:
    found = rows('[{"user": "ann", "price": 1}, {"user": "bob", "price": 2}]\n["eve", 3]\n', "json")
    assert found.values == [("eve", 3)]
    assert found.problems == ("line 1: expected one event, got an array of them; `jq -c '.[]' FILE` writes each on a line of its own",)
    assert rows('[{"more": 1}, {"more": 2}]\n', "json").values == [({"more": 1}, {"more": 2})], "values may be objects"


@pytest.mark.parametrize(("text", "cure"), [("[\n {\n", r"`jq -c '\.\[\]' FILE` writes each"), ("{\n", r"`jq -c \. FILE` writes it so")])
def test_json_that_is_laid_out_for_people_is_refused_with_the_cure(text: str, cure: str) -> None:
    with pytest.raises(InvalidError, match=f"bad: line 1: Expecting .*; the file is one value over many lines, .*{cure}"):
        rows(f'{text}  "user": "ann",\n  "price": 1\n }}\n', "json")


def test_no_more_events_are_taken_than_asked_for_and_bad_ones_behind_them_do_not_count() -> None:
    assert rows('["a", 1]\n["b", 2]\nbad\n', "json", 2) == Rows([("a", 1), ("b", 2)])


def test_columns_of_csv_are_found_by_name_and_numbers_are_numbers_where_the_whole_column_is() -> None:
    found = rows('id,price,user\n1,2,ann\n2,,"bo,b"\n3,5,007\n', "csv")
    assert found.values == [("ann", 2), ("bo,b", None), ("007", 5)]
    assert rows("user,price\n007,1\n008,2.5\n", "csv").values == [("007", 1.0), ("008", 2.5)]
    assert rows("user,price\n1,nan\n2,1_0\n", "csv").values == [(1, "nan"), (2, "1_0")]
    assert rows("user,price\n-3,1e3\n4,-0.5\n", "csv").values == [(-3, 1000.0), (4, -0.5)]
    assert rows("user,price\n,\n", "csv").values == [(None, None)]


def test_a_quoted_cell_may_have_line_breaks() -> None:
    assert rows('\ufeffuser,price\n"two\nlines",1\neve,2\n', "csv") == Rows([("two\nlines", 1), ("eve", 2)])


def test_blank_lines_before_the_header_do_not_matter() -> None:
    assert rows("\n\nuser,price\neve,2\n", "csv") == Rows([("eve", 2)])


def test_files_that_were_put_one_behind_the_other_have_several_headers() -> None:
    assert rows("user,price\nann,1\nuser,price\neve,2\nprice,user\n3,bob\n", "csv").values == [("ann", 1), ("eve", 2), ("bob", 3)]


def test_rows_of_csv_with_other_cells_than_the_header_are_bad() -> None:
    found = rows("user,price\nann,1\nbob\neve,2,3\n", "csv")
    assert (found.values, found.bad) == ([("ann", 1)], 2)
    assert found.problems == ("line 3: expected 2 cells, got 1", "line 4: expected 2 cells, got 3")


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("", "json", "expected events with user, price, got none"),
        ("[1]\n", "json", "got none, and 1 bad: line 1: expected 2 values"),
        ("user,prize\nann,1\n", "csv", r"expected a column 'price', got user, prize; is it 'prize'\? then rename that"),
        ("", "csv", "expected a column 'user', got no header"),
        ("user,price\n", "csv", "got none"),
    ],
)
def test_a_file_without_one_good_event_is_refused(text: str, kind: str, words: str) -> None:
    with pytest.raises(InvalidError, match=words) as refused:
        rows(text, kind)
    assert str(refused.value).startswith("--events some/where: ")


# ---- several files


def of_folder(kind: str, most: int = 100, **texts: str) -> Rows:
    parts = (Part(f"{name}.{kind}", text.splitlines()) for name, text in texts.items())
    return rows_of(kind, parts, ("user", "price"), most, "--events some/where")


def test_each_file_of_a_folder_has_its_own_order_of_columns() -> None:
    found = of_folder("csv", a="user,price\n7,1\n", b="", c="price,more,user\n2.5,x,8\n")
    assert found == Rows([(7, 1.0), (8, 2.5)])


def test_a_column_that_one_file_of_a_folder_has_not_is_named_with_the_file() -> None:
    with pytest.raises(InvalidError, match=r"^--events some/where: b\.csv: expected a column 'user', got name, price"):
        of_folder("csv", a="user,price\nann,1\n", b="name,price\nbob,2\n")


@pytest.mark.parametrize(("kind", "header"), [("json", ""), ("csv", "user,price\n")])
def test_bad_rows_are_named_with_the_file(kind: str, header: str) -> None:
    good = '["ann", 1]\n' if kind == "json" else "ann,1\n"
    found = of_folder(kind, a=f"{header}{good}", b=f"{header}{good}[7]\n")
    assert (len(found.values), found.bad) == (2, 1)
    assert found.problems[0].startswith(f"b.{kind}, line {2 if kind == 'json' else 3}: expected 2 ")


def test_no_more_files_are_asked_for_than_needed() -> None:
    def parts() -> Iterator[Part]:
        yield Part("a", ['["a", 1]', '["b", 2]'])
        raise AssertionError("one was enough")

    assert len(rows_of("json", parts(), ("user", "price"), 2, "it").values) == 2
