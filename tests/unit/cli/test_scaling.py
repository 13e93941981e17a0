from __future__ import annotations

import pytest

from pasps.cli.run import parse_scales
from pasps.errors import InvalidError
from tests.unit.cli.builders import blueprint


def test_the_last_word_on_a_bolt_counts() -> None:
    assert parse_scales(["doubled=2", " doubled = 4 "], blueprint()) == {"doubled": 4}
    assert parse_scales([], blueprint()) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("doubled", "expected bolt=n"),
        ("=3", "expected bolt=n"),
        ("doubled=", "expected bolt=n"),
        ("doublet=2", "did you mean 'doubled'?"),
        ("other=2", "it has doubled"),
        ("numbers=1", "it is a spout"),
        ("doubled=0", "expected 1 to 4 replicas"),
        ("doubled=5", "expected 1 to 4 replicas"),
        ("doubled=two", "got 'two'"),
        ("doubled=-1", "got '-1'"),
    ],
)
def test_what_cannot_be_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidError, match="--scale") as caught:
        parse_scales([text], blueprint())
    assert words in str(caught.value)
