from __future__ import annotations

import math
from typing import Any

import pytest

from pasps.errors import ConfigError
from topologies.number_keys import above_zero, whole


def test_a_key_that_is_not_there_has_its_usual_value() -> None:
    assert whole({}, "a.most", 7, 1, 9, "component 'a'") == 7
    assert above_zero({"a.seconds": None}, "a.seconds", 0.5, "component 'a'") == 0.5


def test_a_value_within_the_bounds_is_taken() -> None:
    assert whole({"a.most": 9}, "a.most", 7, 1, 9, "component 'a'") == 9
    assert above_zero({"a.seconds": 2}, "a.seconds", 0.5, "component 'a'") == 2.0


@pytest.mark.parametrize("value", [0, 10, True, 1.5, "3"])
def test_what_is_no_whole_number_within_the_bounds_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"component 'a'.*a\.most.*from 1 to 9"):
        whole({"a.most": value}, "a.most", 7, 1, 9, "component 'a'")


@pytest.mark.parametrize("value", [0, -1.5, math.inf, math.nan, False, "3"])
def test_what_is_no_number_above_zero_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"component 'a'.*a\.seconds.*above 0"):
        above_zero({"a.seconds": value}, "a.seconds", 0.5, "component 'a'")
