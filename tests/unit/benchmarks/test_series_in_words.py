"""What series are called."""

from __future__ import annotations

import pytest

from benchmarks.forecasting.series import split
from benchmarks.series_in_words import pace_in_words, series_in_words


def test_every_series_for_reporting_has_words() -> None:
    stems = {name.partition("[")[0].rpartition("/")[2].removesuffix(".csv") for name in split()["reporting"]}
    assert stems == {stem for stem in stems if series_in_words(stem) != stem.replace("_", " ") and pace_in_words(stem, 1.0)}


@pytest.mark.parametrize("name", ["twitter", "pa-sps/twitter.csv", "pa-sps/twitter.csv[1900:3700]"])
def test_folder_ending_and_rows_do_not_matter(name: str) -> None:
    assert series_in_words(name) == "the paper's tweets"
    assert pace_in_words(name, 1.0) == "as quick as recorded"


def test_how_much_quicker_goes_by_how_long_a_row_takes() -> None:
    assert pace_in_words("worldcup98_per_minute", 1.0) == "60 times as quick as recorded"
    assert pace_in_words("worldcup98_per_minute", 0.25) == "240 times as quick as recorded"


def test_a_series_that_nobody_named_keeps_its_name_and_has_no_pace() -> None:
    assert series_in_words("my_shop.csv") == "my shop"
    assert pace_in_words("my_shop.csv", 1.0) == ""
