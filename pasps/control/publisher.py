"""Makes activation tables true: sends version n+1 to every live worker, and knows who routes by it and which tasks still move.

Pure of I/O but for the `send` it is given; lives on one event loop. The controller's end of decision "control is level-triggered".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from pasps.activation import ActivationTable, Unconfirmed, left_where_it_was, moves, without_worker
from pasps.control.news import News
from pasps.errors import BusyError, TimeoutExpiredError, UnmovableError

_log = logging.getLogger(__name__)

Send = Callable[[str, ActivationTable], None]
"""Give a worker a table; never blocks."""

Intend = Callable[[ActivationTable], Awaitable[None]]
"""Write down what is about to be published; waits for that no longer than a moment."""


async def _at_once(table: ActivationTable) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _Moving:
    """A keyed task whose arrival is not confirmed: under way since `version`, from one worker (None: it is dead) to another."""

    version: int
    source: str | None
    target: str


class TablePublisher:
    """Planned is what `change` makes, requested is `table`, observed is `observed`.

    One change at a time: the next waits until all tasks of the one before have arrived. A loss does not wait, nor for `intend`.
    """

    def __init__(self, table: ActivationTable, send: Send, intend: Intend = _at_once) -> None:
        self.begin(table)
        self.lock = asyncio.Lock()
        self._send = send
        self._intend = intend
        self._moving: dict[tuple[str, int], _Moving] = {}
        self._failures: dict[int, UnmovableError] = {}
        self._news = News()

    def begin(self, table: ActivationTable) -> None:
        """All workers were made with this table; nothing was published before."""
        self.table = table
        self.observed: dict[str, int] = dict.fromkeys(table.workers, table.version)

    # ---- changes

    async def change(self, make: Callable[[ActivationTable], ActivationTable | None], seconds: float) -> int:
        """Publish what `make` makes of the newest table; back when every live worker routes by it: its version.

        `make` returns None when nothing is to change. It may raise; then nothing has changed.

        Raises:
            UnmovableError: a task could not be pickled when it was to move; it was left where it was.
            BusyError: see `refuse_to_send_on`; nothing has changed.
            TimeoutExpiredError: a live worker did not confirm in time; the table stands, and will be applied.
        """
        async with self.lock:
            wanted = await self._intended(make)
            if wanted is None:
                return self.table.version
            version = self._publish(wanted)
            if not await self.wait_confirmed(version, seconds):
                late = [worker for worker in self.table.workers if self.observed.get(worker, 0) < version]
                raise TimeoutExpiredError(f"table {version} was not confirmed within {seconds:g} s by {', '.join(late)}")
            if not await self._news.wait_until(lambda: not self._moving, seconds):
                _log.warning("%d tasks still move %g s after table %d", len(self._moving), seconds, version)
            failure = self._failures.pop(version, None)
            if failure is not None:
                await self._news.wait_until(lambda: self.confirmed(self.table.version) and not self._moving, seconds)
                raise failure
            return version

    async def _intended(self, make: Callable[[ActivationTable], ActivationTable | None]) -> ActivationTable | None:
        """What `make` makes of the newest table, written down; made again when a loss came between."""
        while True:
            newest = self.table
            wanted = make(newest)
            if wanted is None:
                return None
            self.refuse_to_send_on(wanted)
            await self._intend(wanted)
            if self.table is newest:
                return wanted

    def refuse_to_send_on(self, wanted: ActivationTable) -> None:
        """Raise BusyError when `wanted` would move a task that has not arrived where it is to be: nobody could hand on its state.

        A change waits for the tasks of the one before, but not without end: a task leaves when the call of its instance is over.
        """
        for move in moves(self.table, wanted):
            moving = self._moving.get((move.component, move.task))
            if moving is not None and move.source is not None:
                raise BusyError(
                    f"component {move.component!r}: task {move.task} is still on its way to worker {moving.target} by table "
                    f"{moving.version}, most often because a long call has to end first; try again when it has arrived"
                )

    def _publish(self, table: ActivationTable) -> int:
        old, self.table = self.table, table
        for move in moves(old, table):
            self._moving[move.component, move.task] = _Moving(table.version, move.source, move.target)
        for worker in table.workers:
            self._send(worker, table)
        return table.version

    def lose(self, worker: str) -> int | None:
        """Publish at once a table without the worker, in which everything it had runs elsewhere; None when it was not alive.

        Returns the version that all live workers have to confirm before anything pending may be failed.
        """
        if worker not in self.table.workers:
            return None
        unconfirmed: Unconfirmed = {
            key: moving.source for key, moving in self._moving.items() if moving.target == worker and moving.source is not None
        }
        for key, moving in list(self._moving.items()):
            if moving.target == worker:
                del self._moving[key]
            elif moving.source == worker:
                self._moving[key] = replace(moving, source=None)
        self.observed.pop(worker, None)
        version = self._publish(without_worker(self.table, worker, unconfirmed))
        self._news.tell()
        return version

    def refresh(self) -> int:
        """Publish the same table again under a new version, so that everyone confirms and marks it."""
        return self._publish(self.table.following())

    def confirmed(self, version: int) -> bool:
        """Whether every live worker routes by `version` or a newer one."""
        return all(self.observed.get(worker, 0) >= version for worker in self.table.workers)

    async def wait_confirmed(self, version: int, seconds: float) -> bool:
        """Wait for that; False when the time is over."""
        return await self._news.wait_until(lambda: self.confirmed(version), seconds)

    async def wait_lived(self, seconds: float) -> bool:
        """Wait until a worker is in the table; False when the time is over."""
        return await self._news.wait_until(lambda: bool(self.table.workers), seconds)

    # ---- what workers report

    def applied(self, worker: str, version: int) -> None:
        """That worker routes by `version`."""
        self.observed[worker] = max(version, self.observed.get(worker, 0))
        self._news.tell()

    def moved(self, component: str, task: int, version: int) -> None:
        """That task has arrived."""
        moving = self._moving.get((component, task))
        if moving is not None and version >= moving.version:
            del self._moving[component, task]
            self._news.tell()

    def move_failed(self, version: int, error: UnmovableError) -> None:
        """That task cannot leave: the next table leaves it where it was, unless a loss has sent it elsewhere, or was of that worker."""
        moving = self._moving.get((error.component, error.task))
        if moving is None or version < moving.version or moving.source is None:
            return
        self._failures[version] = error
        self._publish(left_where_it_was(self.table, error.component, error.task, moving.source))
        self._news.tell()
