"""What every store promises of its entries."""

from __future__ import annotations

import asyncio

import pytest

from pasps.cluster.store.contract import ConflictError, Entry
from pasps.errors import BusyError, ClosedError, InvalidError
from tests.unit.cluster.store_harness import Promise, Stores

PROMISES: list[Promise] = []


def promise(body: Promise) -> Promise:
    PROMISES.append(body)
    return body


@promise
async def what_one_session_writes_another_reads(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    assert one.connected
    assert await one.read("/a/b") is None
    await one.create("/a/b", b"0")
    assert await two.read("/a/b") == Entry(b"0", 0)
    assert await two.read("/a") == Entry(b"", 0)
    assert await two.write("/a/b", b"1") == 1
    assert await one.read("/a/b") == Entry(b"1", 1)


@promise
async def an_entry_is_created_once(stores: Stores) -> None:
    store = await stores.open()
    await store.create("/a", b"first")
    with pytest.raises(BusyError, match="'/a' exists"):
        await store.create("/a", b"second")
    assert await store.read("/a") == Entry(b"first", 0)


@promise
async def writing_makes_what_is_missing(stores: Stores) -> None:
    store = await stores.open()
    assert await store.write("/a/b/c", b"0") == 0
    assert await store.write("/a/b/c", b"1") == 1
    assert await store.read("/a/b/c") == Entry(b"1", 1)


@promise
async def a_write_that_expects_another_version_changes_nothing(stores: Stores) -> None:
    store = await stores.open()
    with pytest.raises(ConflictError, match="'/a': expected version 0, got nothing"):
        await store.write("/a", b"new", expected=0)
    assert await store.read("/a") is None
    await store.create("/a", b"0")
    assert await store.write("/a", b"1", expected=0) == 1
    with pytest.raises(ConflictError, match="'/a': expected version 0"):
        await store.write("/a", b"other", expected=0)
    assert await store.read("/a") == Entry(b"1", 1)


@promise
async def an_entry_goes_with_all_below(stores: Stores) -> None:
    store = await stores.open()
    for path in ("/a", "/a/b/c", "/a/b/d", "/ab"):
        await store.create(path, b"x")
    await store.remove("/a")
    await store.remove("/a")
    assert await store.children("/") == ["ab"]
    assert await store.read("/a/b/c") is None
    with pytest.raises(InvalidError):
        await store.remove("/")


@promise
async def children_are_sorted_names(stores: Stores) -> None:
    store = await stores.open()
    assert await store.children("/a") == []
    for path in ("/a/z", "/a/b", "/a/b/below"):
        await store.create(path, b"")
    assert await store.children("/a") == ["b", "z"]
    assert await store.children("/a/z") == []


@promise
async def no_number_is_counted_twice(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    counts = await asyncio.gather(*(store.increment("/a/count") for store in (one, two) for _ in range(10)))
    assert sorted(counts) == list(range(1, 21))
    await one.write("/a/word", b"word")
    with pytest.raises(InvalidError, match="'/a/word' is no counter"):
        await one.increment("/a/word")


@promise
async def what_cannot_be_a_path_or_a_value_is_refused(stores: Stores) -> None:
    store = await stores.open()
    for path in ("", "a", "/a/", "//a", "/a/../b", "/a\0"):
        with pytest.raises(InvalidError, match="expected a path"):
            await store.read(path)
    with pytest.raises(InvalidError, match="1000001"):
        await store.write("/a", b"x" * 1_000_001)
    assert await store.write("/a", b"x" * 1_000_000) == 0


@promise
async def a_closed_session_refuses_calls(stores: Stores) -> None:
    store = await stores.open()
    await store.close()
    await store.close()
    assert not store.connected
    with pytest.raises(ClosedError):
        await store.read("/a")
    with pytest.raises(ClosedError):
        store.watch("/a", lambda: None)
