"""What is wanted of a topology, as the store has it: read by its driver, followed for as long as that runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

import msgspec

from pasps.cluster.store import layout
from pasps.cluster.store.contract import Store
from pasps.cluster.store.submission import NOT_UNDERSTOOD, Desired, desired_of
from pasps.errors import PaspsError

_log = logging.getLogger(__name__)


class _Epoch(msgspec.Struct):
    epoch: int


class WantedState:
    """`desired` is the newest that could be read; `later` the epoch of a driver that came after this one, None: there is none.

    A topology whose entry is gone, or emptied, is over: that it ends is wanted.
    """

    def __init__(self, store: Store, name: str, epoch: int) -> None:
        self.desired = Desired()
        self.later: int | None = None
        self._store, self._name, self._epoch = store, name, epoch
        self._was_there = False

    async def begin(self) -> None:
        """Read it for the first time.

        Raises:
            StoreUnavailableError: the store is away.
            InvalidError: it holds something else.
        """
        entry = await self._store.read(layout.topology(self._name))
        if entry is not None and entry.value:
            self.desired = desired_of(entry.value, layout.topology(self._name))
            self._was_there = True
        elif self._was_there and self.desired.state != "killed":
            # a leader took this driver for gone, and has told its user that the topology is over
            self.desired = replace(self.desired, state="killed", wait=0.0)
        # a driver that comes slowly may write over the record of its successor, but not over what was decided before both
        for path in (layout.launch(self._name), layout.driver(self._name)):
            epoch = await self._epoch_at(path)
            if epoch > self._epoch:
                self.later = epoch

    async def _epoch_at(self, path: str) -> int:
        entry = await self._store.read(path)
        if entry is None or not entry.value:
            return 0
        try:
            return msgspec.json.decode(entry.value, type=_Epoch).epoch
        except NOT_UNDERSTOOD as error:  # what is wanted is known all the same
            _log.warning("%s holds something else: %s", path, error)
            return 0

    async def follow(self, changed: Callable[[], None]) -> None:
        """Read it again whenever it may have changed, and say so, without end. What cannot be read now is read later."""
        news = asyncio.Event()
        watches = [
            self._store.watch(path, news.set)
            for path in (layout.topology(self._name), layout.driver(self._name), layout.launch(self._name))
        ]
        try:
            while True:
                await news.wait()
                news.clear()
                try:
                    await self.begin()
                except PaspsError as error:
                    _log.warning("what is wanted of %s cannot be read now: %s", self._name, error)
                    continue
                changed()
        finally:
            for watch in watches:
                watch.cancel()
