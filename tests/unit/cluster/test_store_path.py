from __future__ import annotations

import pytest

from pasps.cluster.store.path import above, ancestors, below, checked_name, turn
from pasps.errors import InvalidError


def test_what_is_above_and_below() -> None:
    assert (below("/", "a"), below("/a", "b")) == ("/a", "/a/b")
    assert [above(path) for path in ("/", "/a", "/a/b")] == ["/", "/", "/a"]
    assert [ancestors(path) for path in ("/a", "/a/b/c")] == [[], ["/a", "/a/b"]]


@pytest.mark.parametrize("name", ["", "a/b", ".", "..", "a\n"])
def test_a_name_that_would_be_a_path_is_refused(name: str) -> None:
    assert checked_name("master-1") == "master-1"
    with pytest.raises(InvalidError, match="expected a name"):
        checked_name(name)


def test_the_first_of_the_candidates_leads_and_what_is_none_never() -> None:
    assert sorted(["z-0000000001", "lost+found", "a-0000000002", "b-x"], key=turn)[:2] == ["z-0000000001", "a-0000000002"]
