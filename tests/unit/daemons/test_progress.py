"""Where a spout task goes on when its worker, or its master, has ended."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from pasps.daemons.messages import Start
from pasps.daemons.progress import Progress
from pasps.metrics import SpoutProgress, WorkerCounts


def counts(*spouts: SpoutProgress) -> WorkerCounts:
    return WorkerCounts("w0", 1, 1, [], [], {}, list(spouts), {}, 0.0)


def at(first: int, **more: Any) -> WorkerCounts:
    return counts(SpoutProgress(1, 0, first, **more))


STARTS = st.dictionaries(
    st.integers(1, 9),
    st.builds(Start, st.none() | st.binary(max_size=3), st.integers(0, 10**6), st.none() | st.binary(max_size=3)),
)


@given(STARTS)
def test_a_master_that_learns_nothing_leaves_the_starts_that_it_got(starts: dict[int, Start]) -> None:
    assert Progress(starts).starts(list(range(1, 10))) == starts


def test_a_task_of_which_nothing_is_known_has_no_start() -> None:
    assert Progress().starts([1, 2]) == {}
    assert Progress({1: Start(b"p", 0, None)}).starts([2]) == {}


def test_a_task_goes_on_at_its_position_and_owes_what_it_emitted_behind_that() -> None:
    progress = Progress()
    progress.take(at(10, position=b"p7", covered=7, last_id=b"id10"))
    assert progress.starts([1]) == {1: Start(b"p7", 3, b"id10")}
    progress.take(at(12, last_id=b"id12"))
    assert progress.starts([1]) == {1: Start(b"p7", 5, b"id12")}


def test_a_position_that_says_what_it_covers_needs_no_last_id() -> None:
    progress = Progress()
    progress.take(at(10, last_id=b"id10"))
    progress.take(at(12, position=b"p7", covered=7, exact=True))
    assert progress.starts([1]) == {1: Start(b"p7", 5, None)}


def test_the_next_incarnation_counts_from_zero_and_what_the_dead_one_emitted_is_still_owed() -> None:
    progress = Progress()
    progress.take(at(10, position=b"p7", covered=7, last_id=b"id10"))
    progress.died(at(10))
    assert progress.starts([1]) == {1: Start(b"p7", 3, b"id10")}
    progress.take(at(0))
    assert progress.starts([1]) == {1: Start(b"p7", 3, b"id10")}
    progress.take(at(4, position=b"p12", covered=2, last_id=b"id14"))
    assert progress.starts([1]) == {1: Start(b"p12", 2, b"id14")}


def test_what_was_owed_to_another_master_is_owed_until_a_position_covers_it() -> None:
    progress = Progress({1: Start(b"p7", 3, b"id10")})
    progress.take(at(0))
    assert progress.starts([1]) == {1: Start(b"p7", 3, b"id10")}
    progress.take(at(2, last_id=b"id12"))
    assert progress.starts([1]) == {1: Start(b"p7", 5, b"id12")}
    progress.take(at(2, position=b"p12", covered=2, last_id=b"id12"))
    assert progress.starts([1]) == {1: Start(b"p12", 0, b"id12")}


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=20))
def test_a_change_of_masters_at_any_time_changes_no_start(steps: list[tuple[int, bool, bool]]) -> None:
    """The reference goes on; the other is made anew of its starts, as when the driver ended, and all workers with it."""
    reference, other = Progress(), Progress()
    first = 0
    for emitted, saves, ends in steps:
        first += emitted
        more: dict[str, Any] = {"position": b"%d" % first, "covered": first} if saves else {}
        for progress in (reference, other):
            progress.take(at(first, last_id=b"id", **more))
        assert other.starts([1]) == reference.starts([1])
        if ends:
            reference.died(at(first))
            other = Progress(other.starts([1]))
            first = 0
        assert other.starts([1]) == reference.starts([1])
