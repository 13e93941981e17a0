from __future__ import annotations

import asyncio
import logging
import signal
import socket
import subprocess
import sys

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from pasps.cluster.dev.zookeeper_server import LOOPBACK
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Entry, StoreUnavailableError
from pasps.cluster.store.zookeeper_access import MasterAccess
from pasps.cluster.store.zookeeper_store import open_store
from pasps.errors import InvalidError
from tests.integration.zookeeper_server import ZooKeeperServer, free_port
from tests.integration.zookeeper_stores import SESSION_SECONDS, ZooKeeperStores, kazoo
from tests.unit.cluster.store_contract import CONTRACT
from tests.unit.cluster.store_harness import Follower, Promise, stand, until_children, until_connected, until_many, until_seen, until_value

pytestmark = pytest.mark.integration

LEADER = """
import asyncio, sys
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Entry
from pasps.cluster.store.zookeeper_access import MasterAccess
from pasps.cluster.store.zookeeper_store import open_store

async def lead():
    store = await open_store(sys.argv[1], session_seconds=4)
    await store.register("/leader", b"")
    await store.candidate("/election", "killed", lambda: print("elected", flush=True), lambda: None)
    await asyncio.sleep(60)

asyncio.run(lead())
"""


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_the_zookeeper_store_keeps_its_promise(promise: Promise, zookeeper: ZooKeeperServer, chroot: str) -> None:
    async def on_zookeeper() -> None:
        async with ZooKeeperStores(zookeeper, chroot) as stores:
            await promise(stores)

    asyncio.run(on_zookeeper())


def test_an_outage_of_the_server_is_survived(zookeeper: ZooKeeperServer, chroot: str, caplog: pytest.LogCaptureFixture) -> None:
    async def outage() -> None:
        async with ZooKeeperStores(zookeeper, chroot, session_seconds=10) as stores:
            store, other, events = await stores.open(), await stores.open(), list[str]()
            await store.register("/hosts/a", b"here")
            await store.candidate(*stand("one", events))
            follower = Follower(stores, store, "/a")
            await follower.sees(None, [])
            await until_seen(stores, events, ["one elected"])
            await asyncio.to_thread(zookeeper.stop)
            try:
                await until_connected(stores, store, False)
                with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:\d+ does not answer within 3 s; reading '/a'"):
                    await store.read("/a")
            finally:
                await asyncio.to_thread(zookeeper.start)
            await until_value(stores, other, "/hosts/a", b"here")
            await other.create("/a", b"0")
            await follower.sees(b"0", [])
            assert events == ["one elected"], "so short an outage deposes nobody"

    with caplog.at_level(logging.WARNING):
        asyncio.run(outage())
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 4, said
    assert sum("cannot be reached; going on" in line for line in said) == sum("answers again" in line for line in said) == 2


def test_what_failed_before_the_outage_was_noticed_is_not_done_after_it(zookeeper: ZooKeeperServer, chroot: str) -> None:
    async def late() -> None:
        async with ZooKeeperStores(zookeeper, chroot) as stores:
            store = await stores.open()
            await store.create("/a", b"0")
            await stores.cut(store)
            calls = [asyncio.ensure_future(call) for call in (store.write("/a", b"1"), store.create("/b", b""))]
            # kazoo dials again, so it knows; the store is told on this loop, after both calls
            with socket.create_server((LOOPBACK, stores.line(store).port)) as port:
                port.settimeout(10)
                port.accept()[0].close()
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
            await stores.mend(store)
            await until_connected(stores, store, True)
            assert await store.read("/a") == Entry(b"0", 0)
            assert await store.children("/") == ["a"]

    asyncio.run(late())


def test_a_server_that_hangs_blocks_no_loop(zookeeper: ZooKeeperServer, chroot: str) -> None:
    async def hang() -> None:
        async with ZooKeeperStores(zookeeper, chroot) as stores:
            store = await stores.open()
            await store.create("/a", b"")
            stores.line(store).hold()
            writing = (store.write("/a", b"new") for _ in range(300))
            calls = [asyncio.ensure_future(call) for call in (*writing, store.register("/hosts/a", b""))]
            for _ in range(100):
                await asyncio.sleep(0)
            assert not any(call.done() for call in calls), "the loop did nothing else until one of them was given up"
            outcomes = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)
            assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
            stores.line(store).release()
            assert await store.write("/b", b"") == 0
            await until_value(stores, store, "/hosts/a", None)  # made or not, it is not kept

    asyncio.run(hang())


def test_a_leader_that_is_cut_off_is_deposed_before_another_is_elected(zookeeper: ZooKeeperServer, chroot: str) -> None:
    async def cut_off() -> None:
        async with ZooKeeperStores(zookeeper, chroot) as stores:
            one, two, events = await stores.open(), await stores.open(), list[str]()
            await one.candidate(*stand("one", events))
            await until_seen(stores, events, ["one elected"])
            second = await two.candidate(*stand("two", events))
            await until_children(stores, two, 2)
            stores.line(one).hold()
            await until_seen(stores, events, ["one elected", "one deposed", "two elected"])
            stores.line(one).release()
            await until_children(stores, two, 2)
            await second.withdraw()
            await until_many(stores, events, 5)
            assert events[3:] == ["two deposed", "one elected"]

    asyncio.run(cut_off())


def test_a_process_that_is_killed_leaves_leadership_and_registration(zookeeper: ZooKeeperServer, chroot: str) -> None:
    async def killed() -> None:
        async with ZooKeeperStores(zookeeper, chroot) as stores:
            store, events = await stores.open(), list[str]()
            command = [sys.executable, "-c", LEADER, zookeeper.connect + chroot]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
                assert process.stdout is not None
                assert await asyncio.to_thread(process.stdout.readline) == "elected\n"
                await store.candidate(*stand("next", events))
                await until_children(stores, store, 2)
                assert await store.read("/leader") is not None
                process.send_signal(signal.SIGKILL)
            await until_seen(stores, events, ["next elected"])
            await until_value(stores, store, "/leader", None)

    asyncio.run(killed())


def test_with_credentials_nobody_else_can_read(zookeeper: ZooKeeperServer, chroot: str) -> None:
    place = zookeeper.connect + chroot + "/below"

    async def made() -> None:
        store, elected = await open_store(place, "pasps:secret"), asyncio.Event()
        await store.write("/a/b", b"hidden")
        await store.increment("/count")
        await (await store.register("/hosts/a", b"")).withdraw()
        await store.register("/hosts/a", b"")
        newer = await open_store(place, "pasps:secret")
        await newer.register("/hosts/a", b"newer")
        await newer.candidate("/election", "one", elected.set, lambda: None)
        await elected.wait()
        await asyncio.to_thread(refused)
        for credentials in (None, "pasps:wrong"):
            with pytest.raises(InvalidError, match=r"refuses it; opening '/test-.*'; give the credentials"):
                await open_store(place, credentials)
        await store.close()
        await newer.close()

    def refused() -> None:
        with kazoo(zookeeper.connect) as client:
            with pytest.raises(NoAuthError):
                client.get(f"{chroot}/below/a/b")
            with pytest.raises(NoAuthError):
                client.get_children(chroot)
            client.add_auth("digest", "pasps:secret")
            paths = list(everything(client, chroot))
            assert len(paths) == 9, paths
            assert {acl.id.scheme for path in paths for acl in client.get_acls(path)[0]} == {"digest"}

    asyncio.run(made())


def test_a_driver_reaches_its_own_topology_alone(zookeeper: ZooKeeperServer, chroot: str) -> None:
    place, masters = zookeeper.connect + chroot, MasterAccess("pasps:secret")

    async def body() -> None:
        master = await open_store(place, "pasps:secret")
        for name in ("mine", "other"):
            await master.create(layout.topology(name), b"submitted")
            await master.create(layout.launch(name), b"launched")
        await master.register(layout.LEADER, b"leads")
        driver = await open_store(place, masters.of_driver("mine"))
        told = asyncio.Event()
        driver.watch(layout.launch("mine"), told.set)
        await asyncio.wait_for(told.wait(), 10)
        assert [await driver.read(path("mine")) for path in OF_TOPOLOGIES] == [Entry(b"submitted", 0), Entry(b"launched", 0)]
        await driver.write(layout.table("mine"), b"table")
        await driver.register(layout.alive("mine"), b"alive")
        assert await driver.increment(layout.incarnation("mine", "w0")) == 1
        for path in (layout.topology("mine"), layout.launch("mine"), *(path("other") for path in OF_TOPOLOGIES), layout.LEADER, "/new"):
            with pytest.raises(InvalidError, match="refuses it"):
                await driver.write(path, b"forged")
            if "mine" not in path:
                with pytest.raises(InvalidError, match="refuses it"):
                    await driver.remove(path)
        for path in (*(path("other") for path in OF_TOPOLOGIES), layout.LEADER, layout.TOPOLOGIES):
            with pytest.raises(InvalidError, match="refuses it"):
                await driver.read(path)
        # the next one goes on with what this one made, and the master ends it all
        successor = await open_store(place, masters.of_driver("mine"))
        await successor.register(layout.alive("mine"), b"newer")
        assert await successor.increment(layout.incarnation("mine", "w0")) == 2
        assert await master.read(layout.table("mine")) == Entry(b"table", 0)
        await master.remove(layout.topology("mine"))
        assert await master.children(layout.TOPOLOGIES) == ["other"]
        for store in (driver, successor, master):
            await store.close()

    asyncio.run(body())


OF_TOPOLOGIES = (layout.topology, layout.launch)


def test_credentials_close_a_chroot_that_was_made_by_hand_and_refuse_one_that_is_in_use(zookeeper: ZooKeeperServer, chroot: str) -> None:
    place = zookeeper.connect + chroot

    async def body() -> None:
        with kazoo(zookeeper.connect) as client:
            client.create(chroot, b"")
            await (await open_store(place, "pasps:secret")).close()
            with pytest.raises(NoAuthError):
                client.create(f"{chroot}/topologies", b"")
            client.create(f"{chroot}-open/masters", b"", makepath=True)
            with pytest.raises(InvalidError, match="was made without credentials, and is open to everybody; end its masters"):
                await open_store(f"{place}-open", "pasps:secret")
            client.delete(f"{chroot}-open", recursive=True)
        with pytest.raises(InvalidError, match=r"credentials protect what is below a path, got the root; .* '.*/pasps'"):
            await open_store(zookeeper.connect, "pasps:secret")

    asyncio.run(body())


def everything(client: KazooClient, path: str) -> list[str]:
    return [path, *(found for name in client.get_children(path) for found in everything(client, f"{path}/{name}"))]


def test_nobody_answering_is_told_with_the_cure() -> None:
    port = free_port()
    with pytest.raises(StoreUnavailableError, match=rf"ZooKeeper at {LOOPBACK}:{port} does not answer .*refused.*; start it, or correct"):
        asyncio.run(open_store(f"{LOOPBACK}:{port}/pasps", session_seconds=SESSION_SECONDS))


def test_an_ensemble_with_a_host_that_is_gone_is_used(zookeeper: ZooKeeperServer, chroot: str) -> None:
    async def partly() -> list[str]:
        store = await open_store(f"{LOOPBACK}:{free_port()},no-such-host.invalid,{zookeeper.connect}{chroot}")
        await store.create("/a", b"")
        names = await store.children("/")
        await store.close()
        return names

    assert asyncio.run(partly()) == ["a"]
