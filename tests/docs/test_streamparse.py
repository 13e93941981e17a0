"""The page on compatibility says of every public name of streamparse what became of it, and what it says is so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pasps
from pasps.api.component import Component
from pasps.api.spec import ComponentSpec
from pasps.cli.main import COMMANDS
from tests.docs.streamparse_names import all_names

PAGE = Path(__file__).parents[2] / "docs" / "storm-compatibility.md"
HEADING = "## Every name of streamparse"
SAME, DIFFERS, MISSING = "same", "differs", "not there"
OWNERS = {**vars(pasps), "Component": Component, "ComponentSpec": ComponentSpec}


@dataclass(frozen=True)
class Row:
    """What the page says of a name."""

    name: str
    verdict: str
    what: str


def rows() -> list[Row]:
    section = PAGE.read_text(encoding="utf-8").split(HEADING, 1)[1].split("\n## ", 1)[0]
    found = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `"):
            found += [Row(name, *cells[1:]) for name in re.findall(r"`([^`]+)`", cells[0])]
    return found


ROWS = rows()


def exists(name: str) -> bool:
    """Whether pasps has it: a name of the package, or an attribute of a class, or one that its instances get."""
    owner, dot, attribute = name.rpartition(".")
    if not dot:
        return attribute in pasps.__all__
    found: Any = OWNERS.get(owner)
    if found is None:
        return False
    return hasattr(found, attribute) or any(attribute in vars(kind).get("__annotations__", {}) for kind in found.__mro__)


def test_the_page_says_something_of_every_name_once() -> None:
    named = [row.name for row in ROWS]
    assert sorted(named) == sorted(all_names())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_the_page_says_of_it_is_so(row: Row) -> None:
    assert row.verdict in (SAME, DIFFERS, MISSING)
    assert row.what or row.verdict == SAME, "it says neither how it differs nor what is there instead"
    if row.name.startswith("sparse "):
        assert row.verdict != SAME
    else:
        assert exists(row.name) is (row.verdict != MISSING)


def test_every_command_that_is_named_there_is_one() -> None:
    named = {command for row in ROWS for command in re.findall(r"`pasps (\w+)", row.what)}
    assert named <= {command.name for command in COMMANDS}
    assert named
