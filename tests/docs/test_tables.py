"""The tables of the docs say what the code says."""

from __future__ import annotations

import pytest

from pasps.config import KEYS
from tests.docs.tables import STORM_DEFAULTS, TABLES, with_table


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_up_to_date(name: str) -> None:
    path, make = TABLES[name]
    page = path.read_text(encoding="utf-8")
    assert page == with_table(page, name, make()), f"{path.name} is stale; run: python -m tests.docs.tables"


def test_every_key_that_is_compared_with_storm_exists() -> None:
    assert STORM_DEFAULTS.keys() <= KEYS.keys()
