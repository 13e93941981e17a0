"""What every component's keys have in common: how they are read, and in which words they are refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pasps.api.keys import Keys
from pasps.errors import ConfigError

NAMES = ("well.depth", "well.name", "well.token", "well.url")


def keys(**given: Any) -> Keys:
    return Keys({f"well.{name}": value for name, value in given.items()}, NAMES, "component 'pump'", "well.")


def test_a_key_that_is_not_there_or_null_is_none_or_its_default() -> None:
    empty = keys(depth=None)
    assert (empty.text("well.name", "a name"), empty.whole_or_none("well.depth"), empty.number("well.depth")) == (None, None, None)
    assert empty.counts("well.depth") is None
    assert (empty.whole("well.depth", 7), empty.seconds("well.depth", 0.5), empty.flag("well.depth", True)) == (7, 0.5, True)
    assert empty.choice("well.name", ("deep", "flat")) == "deep"


def test_a_number_is_what_was_written() -> None:
    assert keys(depth=0.1).number("well.depth") == Fraction(1, 10)
    assert keys(depth=0.1).seconds("well.depth", 1.0) == 0.1
    assert keys(depth=(1, 2.5)).counts("well.depth") == [1, Fraction(5, 2)]


REFUSED: list[tuple[Any, Callable[[Keys], object], str]] = [
    (0, lambda k: k.number("well.depth"), "must be a number above 0, got 0 (int)"),
    (float("nan"), lambda k: k.seconds("well.depth", 1.0), "must be a number above 0 (seconds), got nan (float)"),
    (True, lambda k: k.whole("well.depth", 1), "must be an integer of at least 1, got True (bool)"),
    (9, lambda k: k.whole("well.depth", 1, 0, 8), "must be an integer from 0 to 8, got 9 (int)"),
    (9, lambda k: k.whole_or_none("well.depth", 0, 8, ", for it is dry"), "must be an integer from 0 to 8, for it is dry, got 9 (int)"),
    ("yes", lambda k: k.flag("well.depth", True), "must be true or false, got 'yes' (str)"),
    ([2, -1], lambda k: k.counts("well.depth"), "must be counts of at least 0 (place 1), got -1 (int)"),
    ("", lambda k: k.needed("well.depth", "a depth"), "must be a depth, got '' (str)"),
]


@pytest.mark.parametrize(("value", "ask", "told"), REFUSED)
def test_a_wrong_value_is_named_with_whose_it_is(value: Any, ask: Callable[[Keys], object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ask(keys(depth=value))
    assert str(caught.value) == f"component 'pump': configuration key 'well.depth' {told}"


@pytest.mark.parametrize("name", ["well.token", "well.url"])
def test_what_may_be_or_hold_a_secret_is_not_shown(name: str) -> None:
    with pytest.raises(ConfigError, match="must be text, got a value of type int, which is not shown") as caught:
        Keys({name: 4711}, NAMES, "here").text(name, "text")
    assert "4711" not in str(caught.value)


def test_a_slip_of_the_pen_is_found_also_in_the_prefix_where_none_is_given() -> None:
    with pytest.raises(ConfigError, match=r"'well\.dept' is unknown; the nearest known name is 'well\.depth'"):
        keys(dept=5)
    with pytest.raises(ConfigError, match=r"'wel\.depth' is unknown"):
        Keys({"wel.depth": 5, "other": 1}, NAMES, "here")
    Keys({"wel.depth": 5}, NAMES, "here", "well.")


def test_two_keys_that_say_the_same_are_refused() -> None:
    keys(name="a").at_most_one("well.name", "well.depth")
    with pytest.raises(ConfigError, match=r"'well\.name' and 'well\.depth' say the same thing twice; set one of them"):
        keys(name="a", depth=1).at_most_one("well.name", "well.depth")


def test_what_a_file_holds_is_read_and_told_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(" do not tell\n")
    (tmp_path / "pixels").write_bytes(b"\xff\xfe")
    found = Keys({"a.file": str(tmp_path / "secret"), "b.file": str(tmp_path / "pixels"), "c.file": "/nowhere/c"}, (), "here")
    assert (found.content("a.file"), found.content("d.file")) == ("do not tell", None)
    with pytest.raises(ConfigError, match=r"here: configuration key 'b\.file' '.*/pixels' cannot be read: it is not text in UTF-8"):
        found.content("b.file")
    with pytest.raises(ConfigError, match="'/nowhere/c' cannot be read: No such file or directory"):
        found.content("c.file")
