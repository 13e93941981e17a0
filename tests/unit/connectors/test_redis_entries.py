"""Entries as `values` gets them, and their ids."""

from __future__ import annotations

from pasps.connectors.redis_client import RedisEntry, entries_of, entry_of, place_of, share_of


def test_an_entry_has_text_for_names_and_bytes_for_values() -> None:
    entry = entry_of("orders", (b"1700000000500-3", {b"item": b"\xff\x00", b"na\xffme": b"x"}))
    assert entry == RedisEntry("orders", "1700000000500-3", {"item": b"\xff\x00", "na\\xffme": b"x"})
    assert (entry.seconds, str(entry)) == (1_700_000_000.5, "entry 1700000000500-3 of 'orders'")


def test_a_deleted_entry_has_no_fields() -> None:
    assert entry_of("orders", (b"1-0", None)).fields == {}
    assert entry_of("orders", (b"1-0", {})).fields == {}


def test_ids_are_ordered_as_numbers() -> None:
    ids = ["10-0", "9-12", "9-2", "9"]
    assert sorted(ids, key=place_of) == ["9", "9-2", "9-12", "10-0"]


def test_an_answer_may_be_empty() -> None:
    assert entries_of("orders", []) == entries_of("orders", None) == entries_of("orders", [[b"orders", []]]) == []


def test_shares_add_up() -> None:
    for count in range(20):
        for tasks in range(1, 7):
            shares = [share_of(count, index, tasks) for index in range(tasks)]
            assert sum(shares) == count
            assert max(shares) - min(shares) <= 1
