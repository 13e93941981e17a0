"""The tables of the docs say what the code says."""

from __future__ import annotations

import pytest

from pasps.api.groupings import Grouping
from pasps.config import KEYS
from predictor_service.registry import builtin_models
from predictor_service.trained.manifest import MODELS as TRAINED
from tests.docs.tables import DOCS, MODELS, STORM_DEFAULTS, TABLES, with_table


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_up_to_date(name: str) -> None:
    path, make = TABLES[name]
    page = path.read_text(encoding="utf-8")
    assert page == with_table(page, name, make()), f"{path.name} is stale; run: python -m tests.docs.tables"


def test_every_key_that_is_compared_with_storm_exists() -> None:
    assert STORM_DEFAULTS.keys() <= KEYS.keys()


def test_every_model_is_in_one_table() -> None:
    listed = [name for names in MODELS.values() for name in names]
    assert sorted(listed) == sorted(name for name, model in builtin_models().items() if model.library is None)


def test_every_model_that_is_trained_beforehand_has_a_row() -> None:
    rows = [line for line in (DOCS / "predictor.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [name for name in TRAINED if not any(f"`{name}`" in row.split("|")[1] for row in rows)] == []


def test_every_grouping_has_a_row() -> None:
    rows = [line.split("|")[1] for line in (DOCS / "concepts.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    names = [name for name in vars(Grouping) if not name.startswith("_")]
    assert [name for name in names if not any(f"`{name}`" in row or f"`{name}(" in row for row in rows)] == []
