"""The leader's loop: reads what the store holds of each topology, lets `decide` say what is missing, and does it.

Level-triggered: a watch only says when to look; it looks every second anyhow, so a change that nobody told of is found.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from pasps.clock import Clock
from pasps.cluster.master import records
from pasps.cluster.master.decide import Action, OwnDriver, Seen, Track, decide, must_ask
from pasps.cluster.master.driver_client import ask, door_of
from pasps.cluster.master.driver_process import Drivers
from pasps.cluster.master.endings import Endings
from pasps.cluster.master.found import Found, find
from pasps.cluster.master.locks import Locks
from pasps.cluster.master.packages import Packages
from pasps.cluster.master.records import DriverStart
from pasps.cluster.store import layout
from pasps.cluster.store.contract import ConflictError, Store, StoreUnavailableError, Watch
from pasps.cluster.store.submission import Desired, DriverRecord, decoded, encoded, is_left, with_desired
from pasps.errors import BrokenError, BusyError
from pasps.topology.process_identity import started
from pasps.topology.run_record import host

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


class Reconciler:
    """Acts only while this master leads, and asks it again before each step. All on one event loop."""

    def __init__(
        self,
        store: Store,
        processes: Drivers,
        packages: Packages,
        endings: Endings,
        locks: Locks,
        signing: str,
        clock: Clock,
    ) -> None:
        self._store, self._processes, self._packages, self._endings = store, processes, packages, endings
        self._locks, self._signing = locks, signing
        self._clock, self._leads = clock, endings.leads
        self._tracks: dict[str, Track] = {}
        self._watches: dict[str, list[Watch]] = {}
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._away = False

    def wake(self) -> None:
        """Look soon; on the loop."""
        self._news.set()

    def standing(self, name: str) -> tuple[OwnDriver | None, Track, float]:
        """What is known of a topology beyond the store, and the time: for views."""
        return self._processes.own(name), self._tracks.get(name, Track()), self._clock.now()

    async def run(self) -> None:
        """Until it is cancelled."""
        top = self._store.watch(layout.TOPOLOGIES, self.wake)
        try:
            while True:
                self._news.clear()
                await self.step()
                # not wait_for: before Python 3.12 it can swallow a cancellation
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._news.wait()
                except TimeoutError:
                    pass
        finally:
            top.cancel()
            self._forget_all()
            looks = [*self._looks.values()]
            for look in looks:
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)

    async def step(self) -> None:
        """Look at all topologies once, and do what is due."""
        self._processes.reap()
        if not self._leads():
            # what was remembered is not true any more when this master is elected again
            self._forget_all()
            self._processes.close()
            return
        self._processes.have_ready()
        try:
            names = await self._store.children(layout.TOPOLOGIES)
        except StoreUnavailableError as error:
            self._lost(error)
            return
        self._away = False
        for name in self._watches.keys() - set(names):
            self._forget(name)
        for name in names:
            self._follow(name)
            if name not in self._looks:
                self._looks[name] = asyncio.create_task(self._look(name))
        if self._looks:
            # one that takes long holds up nobody else
            await asyncio.wait(self._looks.values(), timeout=LOOK_SECONDS)

    async def _look(self, name: str) -> None:
        """For one topology; raises nothing."""
        try:
            async with self._locks.of(name):
                await self._reconcile(name)
        except StoreUnavailableError as error:
            self._lost(error)
        except BrokenError as error:
            _log.warning("topology %s: %s", name, error)
        except Exception:  # noqa: BLE001 - the control cycle's door: one topology must not keep the others from being seen to
            _log.exception("topology %s: nothing is done about it in this round", name)
        finally:
            del self._looks[name]

    async def _reconcile(self, name: str) -> None:
        found = await find(self._store, name, self._signing)
        if found is None or not self._leads():
            return
        seen = await self._seen(found)
        track, actions = decide(seen, self._tracks.get(name, Track()), self._clock.now())
        self._tracks[name] = track
        for action in actions:
            if not self._leads():
                return
            await self._do(action, seen)

    async def _seen(self, found: Found) -> Seen:
        record = found.newest_record
        gone = record is not None and record.host == host() and record.pid > 0 and started(record.pid) is None
        seen = Seen(found, self._processes.own(found.name), process_gone=gone)
        if must_ask(seen) and record is not None and (door := door_of(found.name, record, self._signing)) is not None:
            seen = replace(seen, contact=await ask(door))
        return seen

    async def _do(self, action: Action, seen: Seen) -> None:
        found = seen.found
        name = found.name
        match action:
            case Action.START:
                await self._start(found)
            case Action.RECORD_FAILURE:
                await self._record_failure(found)
            case Action.FINISH:
                if not await self._endings.finish(found):
                    return
                # the next topology of this name has no past
                self._tracks.pop(name, None)
                self._processes.forget(name)
                await self._processes.clear(name)
                await self._processes.keep_only(await self._endings.known())
            case Action.EXPEL:
                await self._expel(name)
            case Action.CLEAN:
                await self._store.remove(layout.topology(name))
                self._tracks.pop(name, None)
                self._processes.forget(name)
                await self._processes.clear(name)

    async def _expel(self, name: str) -> None:
        path = layout.topology(name)
        left = await self._store.read(path)
        with suppress(ConflictError):  # who was quicker knows better
            if left is not None and is_left(left.value):
                await self._store.write(path, with_desired(left.value, Desired("killed", 0.0)), left.version)

    async def _start(self, found: Found) -> None:
        """The epoch is taken in the store before there is a process, so no two drivers ever have the same."""
        if found.submission is None:
            return
        package = await self._packages.local(found.submission.package)
        # above those of an earlier topology of the name, too: if a driver of that still lives, it has to find that it is the older
        epoch = max(found.last_epoch, found.newest) + 1
        launch = DriverStart(epoch, found.submission.package, found.desired.restart)
        if not await self._take_epoch(found.name, launch):
            return
        # an epoch that is taken and not used does no harm, two drivers of one would
        if self._leads():
            self._processes.start(found.name, epoch, package)

    async def _take_epoch(self, name: str, launch: DriverStart) -> bool:
        path = layout.launch(name)
        there = await self._store.read(path)
        try:
            if there is None:
                await self._store.create(path, records.encoded(launch))
            else:
                last = decoded(there.value, DriverStart, path)
                if last.epoch >= launch.epoch:
                    return False
                await self._store.write(path, records.encoded(launch), there.version)
        except (BusyError, ConflictError):
            _log.info("topology %s: another master starts its driver %d", name, launch.epoch)
            return False
        return True

    async def _record_failure(self, found: Found) -> None:
        """First what is shown, then what keeps the next leader from trying again."""
        record = found.newest_record
        if record is None or record.state != "failed":
            detail = f"its driver could not start it: {self._processes.last_words(found.name, found.newest)}"
            record = DriverRecord(found.newest, host(), 0, None, "failed", detail, self._clock.wall(), found.desired.restart)
            await self._store.write(layout.driver(found.name), encoded(record))
        if found.launch is not None:
            await self._store.write(layout.launch(found.name), records.encoded(replace(found.launch, refused=True)))

    def _follow(self, name: str) -> None:
        if name not in self._watches:
            paths = [layout.topology(name), layout.driver(name), layout.alive(name)]
            self._watches[name] = [self._store.watch(path, self.wake) for path in paths]

    def _forget(self, name: str) -> None:
        for watch in self._watches.pop(name, []):
            watch.cancel()
        self._tracks.pop(name, None)

    def _forget_all(self) -> None:
        for name in [*self._watches]:
            self._forget(name)

    def _lost(self, error: StoreUnavailableError) -> None:
        if not self._away:
            _log.warning("nothing can be started or ended until the store is back; what runs goes on: %s", error)
        self._away = True
