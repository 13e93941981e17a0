"""How a topology goes out of the store, in an order that a crash at any point leaves to be done again, never half done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pasps.clock import Clock
from pasps.cluster.master import records
from pasps.cluster.master.found import Found
from pasps.cluster.master.packages import Packages
from pasps.cluster.master.records import DriverStart, EndedTopology, ended_of
from pasps.cluster.store import layout
from pasps.cluster.store.contract import ConflictError, Store
from pasps.cluster.store.submission import NOT_UNDERSTOOD, decoded
from pasps.errors import InvalidError

_log = logging.getLogger(__name__)

KEPT = 50


class Endings:
    """Finishes topologies whose driver is gone, and lists those that are over."""

    def __init__(self, store: Store, packages: Packages, clock: Clock, leads: Callable[[], bool]) -> None:
        self._store, self._packages, self._clock, self.leads = store, packages, clock, leads

    async def finish(self, found: Found) -> bool:
        """1. Keep how it ended. 2. Remove its package. 3. Empty its entry, so that no leader ever takes what is left for a topology.
        4. Remove it. 5. Forget the oldest that ended. Doing it again does no harm. False: it is to be looked at again."""
        epoch = found.newest or await self._take_epoch(found)
        submitted = found.submission.submitted if found.submission else 0.0
        ended = EndedTopology(found.name, submitted, self._clock.wall(), await self._summary(found.name))
        await self._store.write(layout.ended(found.name, epoch), records.encoded(ended))
        if found.submission is not None and found.submission.package:
            await self._packages.remove(found.submission.package)
        if not self.leads():
            # the next leader does it again; by now the name may be in use again
            return False
        # entries below go first when a tree is removed: without what its driver said, a topology would start again
        if not await self._empty(found) or not self.leads():
            return False
        await self._store.remove(layout.topology(found.name))
        _log.info("topology %s is over", found.name)
        await self._forget_oldest()
        return True

    async def _empty(self, found: Found) -> bool:
        """Whether its entry was still as it was read: it may have been finished by another leader, and submitted again, meanwhile."""
        path = layout.topology(found.name)
        there = await self._store.read(path)
        try:
            if there is not None and there.value == found.kept:
                await self._store.write(path, b"", there.version)
                return True
        except ConflictError:
            pass
        _log.info("topology %s was changed while it was finished: it is looked at again", found.name)
        return False

    async def ended(self) -> list[EndedTopology]:
        """Those that are over, the newest first."""
        return [record for _, record in await self._all()]

    async def known(self) -> set[str]:
        """The names of all topologies that are there, or over and not forgotten."""
        there = await self._store.children(layout.TOPOLOGIES)
        return {entry.rpartition("-")[0] for entry in await self._store.children(layout.ENDED)}.union(there)

    async def summary_of(self, name: str, submitted: float) -> Mapping[str, Any] | None:
        """How a topology ended; None when nobody wrote it down."""
        for path in ended_of(name, await self._store.children(layout.ENDED)):
            record = await self._read(path)
            if record is not None and record.submitted == submitted:
                return record.summary
        return None

    async def _take_epoch(self, found: Found) -> int:
        """It never had a driver; its record needs a name that no other has."""
        epoch = found.last_epoch + 1
        await self._store.write(layout.launch(found.name), records.encoded(DriverStart(epoch)))
        return epoch

    async def _summary(self, name: str) -> Mapping[str, Any] | None:
        entry = await self._store.read(layout.summary(name))
        if entry is None:
            return None
        try:
            return decoded(entry.value, dict[str, Any], layout.summary(name))
        except InvalidError as error:
            _log.warning("the summary is lost: %s", error)
            return None

    async def _all(self) -> list[tuple[str, EndedTopology]]:
        paths = [f"{layout.ENDED}/{entry}" for entry in await self._store.children(layout.ENDED)]
        found = await asyncio.gather(*map(self._read, paths))
        known = [(path, record) for path, record in zip(paths, found, strict=True) if record is not None]
        return sorted(known, key=lambda pair: pair[1].ended, reverse=True)

    async def _read(self, path: str) -> EndedTopology | None:
        entry = await self._store.read(path)
        try:
            return None if entry is None else msgspec.json.decode(entry.value, type=EndedTopology)
        except NOT_UNDERSTOOD as error:
            _log.warning("%s cannot be read: %s", path, error)
            return None

    async def _forget_oldest(self) -> None:
        known = await self._all()
        if len(known) <= KEPT:
            return
        for path, _ in known[KEPT:]:
            await self._store.remove(path)
        names = {record.name for _, record in known[:KEPT]} | set(await self._store.children(layout.TOPOLOGIES))
        for name in {record.name for _, record in known[KEPT:]} - names:
            await self._store.remove(layout.launch(name))
