from __future__ import annotations

import pytest

from pasps.data.sql_text import literal, micros_of_moment, micros_of_number, micros_of_text, month_number, name


def test_literals_and_names_hold_any_text() -> None:
    assert literal(r"it's \d") == r"'it\'s \\d'"
    assert name("a `b`") == "`a ``b```"


def test_months_are_numbers() -> None:
    assert month_number("m").startswith("decode(m, 'Jan', '01', ")
    assert month_number("m").endswith(", 'Dec', '12', NULL)")


def test_a_zone_is_applied_to_times_that_have_none() -> None:
    assert micros_of_moment("t", "UTC").startswith("unix_micros(try_add(t, ")
    assert micros_of_moment("t", "Europe/Berlin").startswith("unix_micros(try_add(to_utc_timestamp(t, 'Europe/Berlin'), ")
    assert "substr(t, 12)" not in micros_of_text("t", "iso", "UTC")
    assert "if(substr(t, 12) RLIKE '[-+A-Za-z]'" in micros_of_text("t", "iso", "Europe/Berlin")


@pytest.mark.parametrize(("pattern", "moved"), [("yyyy-MM-dd", True), ("yyyy-MM-dd 'Z'", True), ("yyyy-MM-dd Z", False), ("d VV", False)])
def test_a_pattern_with_a_zone_is_not_moved(pattern: str, moved: bool) -> None:
    assert ("to_utc_timestamp" in micros_of_text("t", pattern, "Asia/Tokyo")) is moved


def test_numbers_are_of_their_unit() -> None:
    assert micros_of_number("n", "micros") == "CAST(n AS BIGINT)"
    assert "1e6D" in micros_of_text("t", "seconds", "Europe/Berlin")
    assert "AS BIGINT" in micros_of_text("t", "nanos", "UTC")
