from __future__ import annotations

import pytest

from pasps.daemons.membership import is_replaced


@pytest.mark.parametrize(
    ("names", "later"),
    [
        ([], None),
        (["w0-3"], None),
        (["w0-1", "w0-2", "w0-3"], None),
        (["w0-4"], 4),
        (["w0-10"], 10),
        (["w0-1", "w0-4", "w1-9"], 4),
        (["w1-9", "w00-9", "xw0-9", "w0"], None),
        (["w0-", "w0-x", "w0--9", "w0-9-", "w0-9x", "w0-9.5", "w0-\u00b2", "-9", ""], None),
    ],
)
def test_a_worker_is_replaced_by_a_later_one_of_its_name(names: list[str], later: int | None) -> None:
    assert is_replaced(names, "w0", 3) == later


def test_names_with_a_dash_are_names_as_others() -> None:
    assert is_replaced(["a-b-4"], "a-b", 3) == 4
    assert is_replaced(["a-b-4"], "a", 3) is None
