"""What a package's splitter gives is looked at: a mistake of its own is told in its name, and nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pasps import Grouping
from pasps.errors import GroupingError
from pasps.groupings import Carrying, GroupingType, Row, Sender, TargetView
from tests.unit.groupings.harness import rows_of, splitter_of, view_of


class Gives:
    """Splits as it is told."""

    fan = 1

    def __init__(self, picks: Any, at: Sender | None = None) -> None:
        self.picks = picks

    def refresh(self, view: TargetView) -> None: ...

    def split(self, rows: Sequence[Row]) -> Any:
        return self.picks

    def heard(self, index: int, payload: bytes) -> None: ...


def split(picks: Any, receivers: Any = "replica", observer: Any = None) -> Any:
    """What comes of four rows, where replicas 0, 2 and 5 of 8 are active."""
    splitter = splitter_of(Grouping.of(GroupingType("mine", "a test's own", lambda at: Gives(picks), receivers, observer)))
    splitter.refresh(view_of([0, 2, 5]))
    return splitter.split(rows_of(4))


@pytest.mark.parametrize(
    "picks",
    [
        [(0, None)],
        [(2, slice(0, 2)), (5, slice(2, 4))],
        [(0, [0, 3]), (2, [1, 2])],
        [(0, None), (2, None)],
        [(0, [0, 1, 2, 3]), (5, slice(None, None, 2))],
    ],
)
def test_picks_that_give_every_row_to_somebody_are_passed_on(picks: Any) -> None:
    assert split(picks) == picks


def test_tasks_may_be_named_whether_or_not_their_replicas_are_active() -> None:
    assert split([(7, None)], "task") == [(7, None)]


@pytest.mark.parametrize(
    ("picks", "said"),
    [
        (None, "split gave None, expected a list of pairs"),
        ({0: [0]}, r"split gave \{0: \[0\]\}, expected a list of pairs"),
        ([], r"split gave \[\], in which rows \[0, 1, 2, 3\] of 4 have no receiver"),
        ([(0, [0, 2, 3])], r"in which rows \[1\] of 4 have no receiver"),
        ([0], "split gave 0, expected a pair"),
        ([(0, None, None)], "expected a pair of a task index and the rows"),
        ([(1, None)], r"split gave 1, which is none of the indices that may be named now, \[0, 2, 5\]"),
        ([("0", None)], "split gave '0', which is none of the indices"),
        ([(True, None)], "split gave True, which is none of the indices"),
        ([(0, [0, 1, 2, 4])], r"split gave \[0, 1, 2, 4\], expected None, a slice, or a list of positions below 4"),
        ([(0, [0, 1, 2, -1])], "a list of positions below 4"),
        ([(0, (0, 1, 2, 3))], "a list of positions below 4"),
        ([(0, Carrying(range(4), {0: b"x"}))], "which carries payloads; but there is no observer to hear them"),
    ],
)
def test_picks_that_cannot_be_are_refused_in_the_grouping_s_name(picks: Any, said: str) -> None:
    with pytest.raises(GroupingError, match=r"component 'words', stream 'default', grouping 'mine': .*" + said):
        split(picks)


def test_payloads_are_passed_on_where_somebody_hears_them() -> None:
    picks = [(0, Carrying(range(4), {0: b"x"}))]
    assert split(picks, observer=lambda at: None) == picks
    assert isinstance(split(picks, observer=lambda at: None)[0][1], Carrying)


def test_a_splitter_that_is_none_is_refused_where_it_is_made() -> None:
    with pytest.raises(GroupingError, match=r"grouping 'mine': 3 has no split and no refresh\(\); its splitter needs one"):
        splitter_of(Grouping.of(GroupingType("mine", "a test's own", lambda at: 3)))  # type: ignore[arg-type, return-value]


def test_it_is_told_where_it_works() -> None:
    seen: list[Sender] = []

    def make(at: Sender) -> Any:
        seen.append(at)
        return Gives([])

    splitter_of(Grouping.of(GroupingType("mine", "a test's own", make, takes_fields=True), "n"))
    (at,) = seen
    assert (at.source, at.stream, at.target, at.fields, at.names, at.task) == ("words", "default", "count", ("word", "n"), ("n",), 3)
