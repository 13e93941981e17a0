"""Keeps an entry of the store at the newest value it is given, as far as the store can be reached. Never holds up who gives it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pasps.cluster.store.contract import Store
from pasps.control.news import News
from pasps.errors import BrokenError, InvalidError, PaspsError

_log = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0


Failed = Callable[[BaseException], None]
"""Told, on the loop, of what somebody who works in the background has ended with, and could not have foreseen."""


class Latest:
    """`pause_seconds`: at least so long between two writes. What was given in between is never written."""

    def __init__(self, store: Store, path: str, failed: Failed, pause_seconds: float = 0.0) -> None:
        """`failed` is called once, when nothing is written any more for another reason than that it was closed."""
        self._store, self._path, self._failed, self._pause = store, path, failed, pause_seconds
        self._wanted: bytes | None = None
        self._written: bytes | None = None
        self._news = News()
        self._task = asyncio.get_running_loop().create_task(self._write_for_ever())
        self._task.add_done_callback(self._ended)

    def put(self, value: bytes) -> None:
        """Let it have that value soon."""
        if value != self._wanted:
            self._wanted = value
            self._news.tell()

    async def flush(self, seconds: float) -> bool:
        """Wait until it has the newest value; False when the time is over first.

        Raises:
            BrokenError: nobody will ever write it.
        """
        self._pause = 0.0
        self._news.tell()
        await self._news.wait_until(lambda: self._wanted == self._written or self._task.done(), seconds)
        if self._wanted != self._written and self._task.done():
            raise BrokenError(f"{self._path} has not the newest value, and gets it no more: {ended_with(self._task) or 'it was closed'}")
        return self._wanted == self._written

    async def close(self) -> None:
        """Write no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._news.tell()
        tell_failure(task, self._failed)

    async def _write_for_ever(self) -> None:
        while True:
            await self._news.wait_until(lambda: self._wanted != self._written, None)
            value = self._wanted
            assert value is not None
            try:
                await self._store.write(self._path, value)
            except InvalidError as error:  # it is not the store's fault, and it would say the same again
                _log.error("%s cannot be kept: %s", self._path, error)
            except PaspsError as error:
                _log.debug("%s is not written yet: %s", self._path, error)
                self._written = None  # nobody knows what is there now
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            self._written = value
            self._news.tell()
            await self._news.wait_until(lambda: not self._pause, self._pause)


def tell_failure(task: asyncio.Task[None], failed: Failed) -> None:
    """Tell of what a task has ended with, unless it was cancelled: to be called when it is done."""
    error = ended_with(task)
    if error is not None:
        failed(error)


def ended_with(task: asyncio.Task[None]) -> BaseException | None:
    """What a task that is done has raised; None also when it was cancelled."""
    return None if task.cancelled() else task.exception()
