"""Groupings that packages bring: their splitters, looked at, so that a mistake of theirs costs the tuples that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pasps.api.splitting import Carrying, GroupingType, Observer, Pick, Receiver, Row, Sender, TargetView
from pasps.errors import GroupingError, shown


def checked_observer(type: GroupingType, at: Receiver) -> Observer:
    """The observer of a `GroupingType` at a task.

    Raises:
        GroupingError: what was made cannot do what it is for.
    """
    assert type.observer is not None
    observer = type.observer(at)
    _check_methods(f"component {at.target!r}, grouping {type.name!r}", "observer", observer, ["executed", "heard"])
    return observer


def _check_methods(where: str, role: str, made: object, needed: Sequence[str]) -> None:
    missing = [name for name in needed if not callable(getattr(made, name, None))]
    if missing:
        raise GroupingError(f"{where}: {shown(made)} has no {' and no '.join(missing)}(); its {role} needs one")


class CheckedSplitter:
    """Passes on what the splitter of a `GroupingType` gives, once every row has a receiver and every receiver is one."""

    fan: int | None = None

    def __init__(self, type: GroupingType, at: Sender) -> None:
        """Make the splitter.

        Raises:
            GroupingError: what was made cannot do what it is for.
        """
        self._where = f"component {at.source!r}, stream {at.stream!r}, grouping {type.name!r}"
        self._splitter = type.splitter(at)
        self._by_task = type.receivers == "task"
        self._observed = type.observer is not None
        self._allowed: frozenset[int] = frozenset()
        needed = ["split", "refresh"] + (["heard"] if type.observer is not None else [])
        _check_methods(self._where, "splitter", self._splitter, needed)
        self._missed: TargetView | None = None  # a view that it could not take
        self.heard: Callable[[int, bytes], None] | None = getattr(self._splitter, "heard", None)

    def refresh(self, view: TargetView) -> None:
        """See `Splitter`."""
        self._allowed = frozenset(range(view.tasks) if self._by_task else view.active)
        self._missed = view
        self._splitter.refresh(view)
        self._missed = None

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """See `Splitter`.

        Raises:
            GroupingError: some row has no receiver, or what should be one is none.
        """
        if self._missed is not None:  # what it knows is not so any more
            self.refresh(self._missed)
        picks = self._splitter.split(rows)
        if not isinstance(picks, list):
            raise self._wrong(picks, "expected a list of pairs of a task index and the rows that it gets")
        left = set(range(len(rows)))
        for pair in picks:
            left.difference_update(self._positions(pair, len(rows)))
        if left:
            raise self._wrong(picks, f"in which rows {sorted(left)[:5]} of {len(rows)} have no receiver")
        return picks

    def _positions(self, pair: Any, count: int) -> Sequence[int]:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise self._wrong(pair, "expected a pair of a task index and the rows that it gets")
        index, pick = pair
        if type(index) is not int or index not in self._allowed:
            raise self._wrong(index, f"which is none of the indices that may be named now, {sorted(self._allowed)}")
        if pick is None or isinstance(pick, slice):
            return range(count) if pick is None else range(*pick.indices(count))
        if not isinstance(pick, list) or not all(type(position) is int and 0 <= position < count for position in pick):
            raise self._wrong(pick, f"expected None, a slice, or a list of positions below {count}")
        if isinstance(pick, Carrying) and not self._observed:
            raise self._wrong(pick, "which carries payloads; but there is no observer to hear them")
        return pick

    def _wrong(self, got: object, what: str) -> GroupingError:
        return GroupingError(f"{self._where}: split gave {shown(got)}, {what}")
