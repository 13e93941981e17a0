"""No link of a page leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_pages import PAGES, name_of

_LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ +(.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_the_page_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {target}, but {found.name} has no such heading"
