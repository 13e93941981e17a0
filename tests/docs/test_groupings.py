"""The page about groupings names all that a splitter and an observer are given."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pasps.groupings import Receiver, Sender, TargetView

PAGE = Path(__file__).parents[2] / "docs" / "groupings.md"


@pytest.mark.parametrize(("of", "head"), [(TargetView, "view"), (Receiver, "Receiver")])
def test_a_table_names_each_attribute(of: type, head: str) -> None:
    _, _, table = PAGE.read_text(encoding="utf-8").partition(f"| `{head}` | |\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    wanted = {field.name for field in fields(of)}
    assert named == ({*wanted, "tell"} - {"send"} if of is Receiver else wanted)


def test_the_row_of_a_splitter_names_what_a_sender_has() -> None:
    (row,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `splitter` |"))
    said = row.split("|")[2]
    assert all(re.search(rf"\b{field.name}\b", said) for field in fields(Sender))
