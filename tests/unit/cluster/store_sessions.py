"""What every store promises of registrations, watches and elections, also when it cannot be reached."""

from __future__ import annotations

import asyncio

import pytest

from pasps.cluster.store.contract import Entry, StoreUnavailableError
from pasps.errors import BusyError, InvalidError
from tests.unit.cluster.store_harness import (
    Follower,
    Promise,
    Stores,
    stand,
    until_children,
    until_connected,
    until_many,
    until_seen,
    until_value,
    value_of,
)

PROMISES: list[Promise] = []


def promise(body: Promise) -> Promise:
    PROMISES.append(body)
    return body


@promise
async def a_registration_stays_until_it_is_withdrawn(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    registration = await one.register("/hosts/a", b"here")
    assert await value_of(two, "/hosts/a") == b"here"
    with pytest.raises(InvalidError, match="ephemeral"):
        await two.create("/hosts/a/b", b"")
    await registration.withdraw()
    await registration.withdraw()
    assert await two.children("/hosts") == []


@promise
async def a_registration_goes_with_its_session(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    await one.register("/hosts/a", b"here")
    await one.close()
    assert await two.read("/hosts/a") is None


@promise
async def the_newest_registration_has_the_path(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    first = await one.register("/leader", b"1")
    second = await two.register("/leader", b"2")
    assert await value_of(one, "/leader") == b"2"
    await first.withdraw()
    assert await value_of(one, "/leader") == b"2"
    third = await two.register("/leader", b"3")
    await second.withdraw()
    assert await value_of(one, "/leader") == b"3"
    await third.withdraw()
    assert await one.read("/leader") is None


@promise
async def a_registration_takes_no_lasting_entry(stores: Stores) -> None:
    store = await stores.open()
    await store.create("/leader", b"1")
    with pytest.raises(BusyError, match="/leader' exists"):
        await store.register("/leader", b"2")
    assert await value_of(store, "/leader") == b"1"


@promise
async def a_registration_is_made_again_after_a_lost_session(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    await one.register("/hosts/a", b"here")
    gone = await one.register("/hosts/gone", b"here")
    await one.register("/removed/b", b"here")
    await gone.withdraw()
    await two.remove("/removed")
    await stores.lose(one)
    await until_value(stores, two, "/hosts/a", b"here")
    assert await two.children("/") == ["hosts"]
    assert await two.children("/hosts") == ["a"]


@promise
async def a_registration_that_was_taken_over_is_made_again_when_there_is_room(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    await one.register("/leader", b"1")
    newer = await two.register("/leader", b"2")
    await one.register("/other", b"1")
    await stores.lose(one)
    await until_value(stores, two, "/other", b"1")
    assert await value_of(two, "/leader") == b"2"
    await newer.withdraw()


@promise
async def a_watch_sees_an_entry_come_change_and_go(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    follower = Follower(stores, one, "/a")
    await follower.sees(None, [])
    await two.create("/a", b"0")
    await follower.sees(b"0", [])
    for value in (b"1", b"2", b"3"):
        await two.write("/a", value)
        await follower.sees(value, [])
    await two.create("/a/b", b"")
    await follower.sees(b"3", ["b"])
    await two.remove("/a/b")
    await follower.sees(b"3", [])
    await two.remove("/a")
    await follower.sees(None, [])


@promise
async def a_watch_that_was_cancelled_is_silent(stores: Stores) -> None:
    store = await stores.open()
    cancelled, other = Follower(stores, store, "/a"), Follower(stores, store, "/a")
    await cancelled.sees(None, [])
    await other.sees(None, [])
    cancelled.watch.cancel()
    before = cancelled.calls
    await store.create("/a", b"0")
    await other.sees(b"0", [])
    assert cancelled.calls == before


@promise
async def a_watch_sees_who_registers_and_who_is_lost(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    follower = Follower(stores, two, "/hosts")
    await one.register("/hosts/a", b"")
    await follower.sees(b"", ["a"])
    await one.close()
    await follower.sees(b"", [])


@promise
async def calls_fail_while_the_store_cannot_be_reached(stores: Stores) -> None:
    store = await stores.open()
    await store.create("/a", b"0")
    await stores.cut(store)
    calls = (store.read("/a"), store.write("/a", b"1"), store.increment("/b"), store.children("/"), store.register("/c", b""))
    outcomes = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 5)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailableError] * len(calls)
    await until_connected(stores, store, False)
    await stores.mend(store)
    await until_connected(stores, store, True)
    assert await store.read("/a") == Entry(b"0", 0)
    assert await store.children("/") == ["a"]


@promise
async def registrations_and_watches_survive_an_outage(stores: Stores) -> None:
    one, two = await stores.open(), await stores.open()
    kept, withdrawn = await one.register("/hosts/kept", b""), await one.register("/hosts/withdrawn", b"")
    follower = Follower(stores, one, "/a")
    await follower.sees(None, [])
    await stores.cut(one)
    await two.create("/a", b"0")
    await withdrawn.withdraw()
    await stores.mend(one)
    await follower.sees(b"0", [])
    await until_value(stores, two, "/hosts/withdrawn", None)
    assert await two.children("/hosts") == ["kept"]
    await kept.withdraw()
    assert await two.children("/hosts") == []


@promise
async def one_leads_and_the_next_follows_after_it(stores: Stores) -> None:
    one, two, events = await stores.open(), await stores.open(), list[str]()
    first = await one.candidate(*stand("one", events))
    await until_seen(stores, events, ["one elected"])
    await two.candidate(*stand("two", events))
    await until_children(stores, two, 2)
    assert events == ["one elected"]
    await first.withdraw()
    await first.withdraw()
    await until_seen(stores, events, ["one elected", "one deposed", "two elected"])
    await two.close()
    assert events[-1] == "two deposed"


@promise
async def a_candidate_that_withdraws_is_never_elected(stores: Stores) -> None:
    one, two, three, events = await stores.open(), await stores.open(), await stores.open(), list[str]()
    first = await one.candidate(*stand("one", events))
    await until_children(stores, one, 1)
    second = await two.candidate(*stand("two", events))
    await until_children(stores, one, 2)
    await three.candidate(*stand("three", events))
    await until_children(stores, one, 3)
    await second.withdraw()
    await first.withdraw()
    await until_seen(stores, events, ["one elected", "one deposed", "three elected"])


@promise
async def a_leader_that_loses_its_session_is_deposed_and_stands_again(stores: Stores) -> None:
    one, two, events = await stores.open(), await stores.open(), list[str]()
    await one.candidate(*stand("one", events))
    await until_seen(stores, events, ["one elected"])
    second = await two.candidate(*stand("two", events))
    await until_children(stores, two, 2)
    await stores.lose(one)
    await until_many(stores, events, 3)
    assert sorted(events) == ["one deposed", "one elected", "two elected"]
    await until_children(stores, two, 2)
    await second.withdraw()
    await until_many(stores, events, 5)
    assert events[3:] == ["two deposed", "one elected"]


@promise
async def a_leader_whose_entry_somebody_removes_is_deposed(stores: Stores) -> None:
    store, events = await stores.open(), list[str]()
    await store.candidate(*stand("one", events))
    await until_seen(stores, events, ["one elected"])
    await store.remove("/election")
    await until_seen(stores, events, ["one elected", "one deposed", "one elected"])


@promise
async def a_candidate_that_withdraws_in_an_outage_makes_room_after_it(stores: Stores) -> None:
    one, two, events = await stores.open(), await stores.open(), list[str]()
    first = await one.candidate(*stand("one", events))
    await until_seen(stores, events, ["one elected"])
    await two.candidate(*stand("two", events))
    await until_children(stores, two, 2)
    await stores.cut(one)
    await first.withdraw()
    assert events == ["one elected", "one deposed"]
    await stores.mend(one)
    await until_seen(stores, events, ["one elected", "one deposed", "two elected"])
    await until_children(stores, two, 1)
