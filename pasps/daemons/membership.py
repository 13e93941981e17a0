"""A worker's own entry in ZooKeeper: it says that it is there, and looks whether a later one of its name has come.

Nothing waits for it: without ZooKeeper the worker goes on, and registers again when it is back.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress

import msgspec

from pasps.cluster.store import Store, StoreUnavailableError
from pasps.cluster.zookeeper_store import open_store
from pasps.daemons.master_link import EXIT_ORPHANED
from pasps.daemons.messages import Address, RegisterAt
from pasps.errors import PaspsError

_log = logging.getLogger(__name__)

_PAUSE_SECONDS = 2.0


async def keep_registered(at: RegisterAt, worker: str, address: Address) -> None:
    """Register, and watch, for as long as the process lives; one that was replaced ends."""
    store = await _opened(at, worker)
    above = at.path.rpartition("/")[0]
    while True:
        try:
            await store.register(at.path, msgspec.json.encode(address))
            break
        except StoreUnavailableError:
            await asyncio.sleep(_PAUSE_SECONDS)
    changed = asyncio.Event()
    store.watch(above, changed.set)
    while True:
        with suppress(PaspsError):
            later = is_replaced(await store.children(above), worker, address.incarnation)
            if later is not None:
                _log.error("worker %s: incarnation %d is there, so this one, %d, ends", worker, later, address.incarnation)
                os._exit(EXIT_ORPHANED)
        await changed.wait()
        changed.clear()


def is_replaced(names: list[str], worker: str, incarnation: int) -> int | None:
    """The incarnation of that worker which is registered, and later than this one; None: there is none. Pure."""
    for name in names:
        who, _, number = name.rpartition("-")
        if who == worker and number.isdecimal() and int(number) > incarnation:
            return int(number)
    return None


async def _opened(at: RegisterAt, worker: str) -> Store:
    while True:
        try:
            return await open_store(at.connect, at.credentials)
        except PaspsError as error:
            _log.warning("worker %s is not registered yet: %s", worker, error)
            await asyncio.sleep(_PAUSE_SECONDS)
