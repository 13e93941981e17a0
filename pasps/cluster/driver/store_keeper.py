"""What of a topology outlives its driver, in the store: see `Keeper`. A store that is away holds nothing up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

import msgspec

from pasps.activation import ActivationTable
from pasps.cluster.driver.latest import Failed, Latest, tell_failure
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Store, Watch
from pasps.errors import BrokenError, PaspsError
from pasps.topology.keeper import Resume

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

INTEND_SECONDS = 0.25
"""So long a change waits for the store to take it; a loss is repaired without waiting."""
_POSITION_SECONDS = 1.0


class StoreKeeper:
    """Made by `load`. Belongs to one event loop."""

    def __init__(self, store: Store, name: str, failed: Failed) -> None:
        """`failed` is told when something is not kept any more."""
        self.resume = Resume()
        self._store, self._name, self._failed = store, name, failed
        self._table = Latest(store, layout.table(name), failed)
        self._positions = Latest(store, layout.positions(name), failed, _POSITION_SECONDS)
        self._incarnations: dict[str, int] = {}
        self._reading: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._watch: Watch

    @classmethod
    async def load(cls, store: Store, name: str, failed: Failed) -> StoreKeeper:
        """With what the driver before this one left.

        Raises:
            StoreUnavailableError: the store is away.
        """
        self = cls(store, name, failed)
        table = await self._read(layout.table(name), ActivationTable)
        positions = await self._read(layout.positions(name), dict[int, bytes])
        components = {} if table is None else table.components
        active = {component: len(routing.active) for component, routing in components.items()}
        self.resume = Resume(0 if table is None else table.version, active, positions or {})
        for worker in await store.children(layout.incarnations(name)):
            self._incarnations[worker] = await self._read(layout.incarnation(name, worker), int) or 0
        self._watch = store.watch(layout.incarnations(name), self._changed.set)
        self._reading = asyncio.get_running_loop().create_task(self._follow_counters())
        self._reading.add_done_callback(lambda task: tell_failure(task, failed))
        return self

    async def close(self, *, keep: bool = True) -> None:
        """Write what is still to be written, for a moment; without `keep` nothing more, because it is another driver's now."""
        self._watch.cancel()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        for latest in (self._table, self._positions):
            if keep:
                with suppress(BrokenError):  # `failed` was told
                    await latest.flush(INTEND_SECONDS)
            await latest.close()

    async def incarnation(self, worker: str) -> int:
        """See `Keeper`. While the store is away it counts on from what it knows, and tells the store later."""
        # no two processes of a worker may have the same number, by which their peers tell them apart: it never counts back, store or not
        least = self._incarnations.get(worker, 0) + 1
        number = 0
        with suppress(PaspsError):
            while self._store.connected and number < least:
                number = await self._store.increment(layout.incarnation(self._name, worker))
        self._incarnations[worker] = max(number, least)
        return self._incarnations[worker]

    async def intend(self, table: ActivationTable) -> None:
        """See `Keeper`."""
        # a change does not wait for a store that is away; what the next driver may miss then is how many replicas were active
        if not self._store.connected:
            return
        try:
            async with asyncio.timeout(INTEND_SECONDS):
                await self._store.write(layout.table(self._name), msgspec.json.encode(table))
        except (PaspsError, TimeoutError) as error:
            _log.warning("table %d is acted on before it is kept: %s", table.version, error)

    def acted(self, table: ActivationTable) -> None:
        """See `Keeper`."""
        self._table.put(msgspec.json.encode(table))

    def reached(self, positions: Mapping[int, bytes]) -> None:
        """See `Keeper`."""
        self._positions.put(msgspec.json.encode(positions))

    async def _follow_counters(self) -> None:
        while True:
            with suppress(PaspsError):
                await self._tell_counters()
            await self._changed.wait()
            self._changed.clear()

    async def _tell_counters(self) -> None:
        """What was counted while the store was away."""
        for worker, number in list(self._incarnations.items()):
            path = layout.incarnation(self._name, worker)
            if (await self._read(path, int) or 0) < number:
                await self._store.write(path, b"%d" % number)

    async def _read(self, path: str, kind: type[_T]) -> _T | None:
        entry = await self._store.read(path)
        if entry is None:
            return None
        try:
            return msgspec.json.decode(entry.value, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            _log.error("%s holds something else, and is not used: %s", path, error)
            return None
