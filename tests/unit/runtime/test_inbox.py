"""The inbox: order, chunks, joining of small batches, and credit for what is taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pasps.runtime.batch import Batch
from pasps.runtime.inbox import Inbox


def batch(rows: list[int], *, task: int = 0, source: int = 1, edge: int = 0, origin: str = "", tracked: bool = False) -> Batch:
    roots = [row + 1000 for row in rows] if tracked else None
    return Batch(edge, task, source, [(row,) for row in rows], roots, roots, None, origin)


def values(taken: Batch) -> list[int]:
    return [row[0] for row in taken.rows]


def test_a_large_batch_is_taken_in_chunks() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    inbox.put(batch(list(range(10)), tracked=True))
    first, second, third = inbox.take(4), inbox.take(4), inbox.take(4)
    assert [values(first), values(second), values(third)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert second.roots == [1004, 1005, 1006, 1007]
    assert second.edges is second.roots
    assert inbox.count == 0


def test_small_batches_of_one_kind_are_joined_up_to_the_chunk() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    for start in (0, 3, 6):
        inbox.put(batch([start, start + 1, start + 2], tracked=True))
    taken = inbox.take(7)
    assert values(taken) == [0, 1, 2, 3, 4, 5]
    assert taken.roots == [1000, 1001, 1002, 1003, 1004, 1005]
    assert taken.edges is taken.roots
    assert values(inbox.take(7)) == [6, 7, 8]


def test_what_differs_is_not_joined() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    inbox.put(batch([0]))
    inbox.put(batch([1], task=1))
    inbox.put(batch([2], task=1, source=2))
    inbox.put(batch([3], task=1, source=2, edge=1))
    inbox.put(batch([4], task=1, source=2, edge=1, tracked=True))
    assert [values(inbox.take(9)) for _ in range(5)] == [[0], [1], [2], [3], [4]]


def test_a_chunk_is_filled_though_several_senders_alternate() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    for row in range(40):
        inbox.put(batch([row], source=row % 4))
    assert [values(inbox.take(9)) for _ in range(4)] == [list(range(first, first + 33, 4)) for first in range(4)]
    assert [values(inbox.take(9)) for _ in range(4)] == [[36], [37], [38], [39]]


def test_what_does_not_fit_is_not_overtaken_by_what_came_later() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    for rows, source in (([0], 1), ([1], 2), ([2, 3, 4], 1), ([5], 1)):
        inbox.put(batch(rows, source=source))
    assert [values(inbox.take(3)) for _ in range(3)] == [[0], [1], [2, 3, 4]]
    assert values(inbox.take(3)) == [5]


def test_a_chunk_does_not_look_without_end() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    inbox.put(batch([0]))
    for row in range(1, 101):
        inbox.put(batch([row], source=2))
    inbox.put(batch([101]))
    assert values(inbox.take(9)) == [0]


def test_each_sender_gets_its_own_credit_back_when_batches_are_joined() -> None:
    released: dict[str, int] = {}

    def release(taken: Batch, count: int) -> None:
        released[taken.origin] = released.get(taken.origin, 0) + count

    inbox = Inbox(release)
    inbox.put(batch([0, 1], origin="w1"))
    inbox.put(batch([2, 3, 4], origin="w2"))
    assert values(inbox.take(5)) == [0, 1, 2, 3, 4]
    assert released == {"w1": 2, "w2": 3}


def test_a_task_is_taken_out_with_what_is_left_of_its_batches() -> None:
    inbox = Inbox(lambda _batch, _count: None)
    inbox.put(batch([0, 1, 2]))
    inbox.put(batch([9], task=1))
    inbox.put(batch([3]))
    inbox.take(1)
    gone = inbox.remove_task(0)
    assert [values(part) for part in gone] == [[1, 2], [3]]
    assert inbox.count == 1
    assert inbox.received == {0: 2}
    assert values(inbox.take(5)) == [9]


KINDS = st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(1, 3), st.integers(0, 1))
"""Rows, task, source, edge."""


@given(st.lists(KINDS, max_size=30), st.lists(st.integers(1, 8), max_size=80))
def test_nothing_is_lost_invented_or_reordered_between_two_tasks(puts: list[tuple[int, int, int, int]], takes: list[int]) -> None:
    released = 0

    def release(_batch: Batch, count: int) -> None:
        nonlocal released
        released += count

    inbox, number = Inbox(release), 0
    expected: dict[tuple[int, int], list[int]] = {}
    got: dict[tuple[int, int], list[int]] = {}
    for size, task, source, edge in puts:
        rows = list(range(number, number + size))
        number += size
        expected.setdefault((task, source), []).extend(rows)
        inbox.put(batch(rows, task=task, source=source, edge=edge))
    for most in takes:
        if inbox.count:
            taken = inbox.take(most)
            assert 0 < len(taken.rows) <= most
            got.setdefault((taken.task, taken.source), []).extend(values(taken))
    assert all(rows == expected[pair][: len(rows)] for pair, rows in got.items())
    assert inbox.count == number - sum(map(len, got.values()))
    assert released == number - inbox.count
