from __future__ import annotations

import pytest

from pasps.cli.words import clock_text, count_text, rate_text, seconds_text, share_text, table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0, "0 µs"), (0.00085, "850 µs"), (0.0012, "1.2 ms"), (0.25, "250 ms"), (3.44, "3.4 s"), (100.0, "100.0 s")],
)
def test_durations_have_the_unit_that_fits(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


def test_numbers_for_people() -> None:
    assert [rate_text(rate) for rate in (0.0, 0.25, 9.9, 12345.6)] == ["0", "0.2", "9.9", "12,346"]
    assert [share_text(None), share_text(0.456), count_text(None), count_text(1234)] == ["-", "46%", "-", "1,234"]
    assert [clock_text(seconds) for seconds in (0.9, 65, 3725)] == ["0:00:00", "0:01:05", "1:02:05"]


def test_a_table_is_aligned() -> None:
    assert table(["name", "n"], [["a", "1"], ["longer", "100"]]) == ["name      n", "a         1", "longer  100"]
    assert table(["a", "b"], [["x", "1"], ["y", "100"]], left=(1,))[1] == "x  1  "
