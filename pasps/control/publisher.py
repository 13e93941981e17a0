"""Makes activation tables true: sends version n+1 to every live worker, and knows who routes by it and which tasks still move.

`Tables` is pure but for the `send` it is given, so that step runs publish through it too; `TablePublisher` waits on an event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from pasps.activation import ActivationTable, Unconfirmed, left_where_it_was, moves, without_worker
from pasps.control.news import News
from pasps.errors import BusyError, TimeoutExpiredError, UnmovableError

_log = logging.getLogger(__name__)

CONFIRM_SECONDS = 10.0
"""So long a topology waits until all its live workers route by a new table."""

Change = Callable[[ActivationTable], ActivationTable | None]
"""Makes table n+1 of table n; None when nothing is to change. It may raise; then nothing has changed."""

Send = Callable[[str, ActivationTable], None]
"""Give a worker a table; never blocks."""

Unmovable = Mapping[tuple[str, int], UnmovableError]
"""The keyed tasks of which it is known that they cannot leave their worker, and why."""

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


class Tables:
    """Requested is `table`, observed is `observed`. Tells after whatever may be news to somebody who waits.

    A change is asked for when the one before is `over`. A loss does not wait for that.
    """

    def __init__(self, table: ActivationTable, send: Send, unmovable: Unmovable, tell: Callable[[], None] = lambda: None) -> None:
        """`unmovable` may grow meanwhile."""
        self._send = send
        self._unmovable = unmovable
        self._tell = tell
        self._moving: dict[tuple[str, int], _Moving] = {}
        self._failures: dict[int, UnmovableError] = {}
        self.begin(table)

    def begin(self, table: ActivationTable) -> None:
        """All workers were made with this table; nothing is under way of what was published before."""
        self._moving.clear()
        self.table = table
        self.observed: dict[str, int] = dict.fromkeys(table.workers, table.version)
        self._tell()

    def vacate(self) -> None:
        """All workers are ended on purpose: by the next table nobody lives, and it is sent to nobody."""
        self.begin(replace(self.table, version=self.table.version + 1, workers={}))

    # ---- what is published

    def wanted(self, make: Change) -> ActivationTable | None:
        """What `make` makes of the newest table; raises what it raises, and as `refuse` does."""
        wanted = make(self.table)
        if wanted is not None:
            self.refuse(wanted)
        return wanted

    def refuse(self, wanted: ActivationTable) -> None:
        """Raise where `wanted` would move a task that cannot move now; nothing is changed by asking.

        Raises:
            BusyError: a task has not arrived where it is to be: nobody could hand on its state. A change waits for the tasks of the
                one before, but not without end: a task leaves when the call of its instance is over.
            UnmovableError: a task is known not to be able to.
        """
        for move in moves(self.table, wanted):
            key = (move.component, move.task)
            moving = self._moving.get(key)
            if moving is not None and moving.source is not None:
                raise BusyError(
                    f"component {move.component!r}: task {move.task} is still on its way to worker {moving.target} by table "
                    f"{moving.version}, most often because a long call has to end first; try again when it has arrived"
                )
            stuck = self._unmovable.get(key)
            if stuck is not None and move.source is not None:
                raise UnmovableError(stuck.component, stuck.task, stuck.attribute, stuck.reason)

    def publish(self, table: ActivationTable) -> int:
        """Send it to every live worker; its version."""
        old, self.table = self.table, table
        for move in moves(old, table):
            # one that still moves, too: only its newest move is waited for
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
        # before they are forgotten below: by these the next table sends a task back to the worker that still has its state
        unconfirmed: Unconfirmed = {
            key: moving.source for key, moving in self._moving.items() if moving.target == worker and moving.source is not None
        }
        for key, moving in list(self._moving.items()):
            if moving.target == worker:
                del self._moving[key]
            elif moving.source == worker:
                # its state went with it: the target starts afresh, and nobody can refuse or take back that move any more
                self._moving[key] = replace(moving, source=None)
        self.observed.pop(worker, None)
        version = self.publish(without_worker(self.table, worker, unconfirmed))
        self._tell()
        return version

    def refresh(self) -> int:
        """Publish the same table again under a new version, so that everyone confirms and marks it."""
        return self.publish(self.table.following())

    # ---- what has become of it

    def confirmed(self, version: int) -> bool:
        """Whether every live worker routes by `version` or a newer one."""
        return all(self.observed.get(worker, 0) >= version for worker in self.table.workers)

    def over(self, version: int) -> bool:
        """Whether nothing of that change is under way: it is confirmed, all tasks have arrived, what could not leave is taken back."""
        return not self._moving and self.confirmed(self.table.version if version in self._failures else version)

    def failure(self, version: int) -> UnmovableError | None:
        """What could not move in that change, told once."""
        return self._failures.pop(version, None)

    def applied(self, worker: str, version: int) -> None:
        """That worker routes by `version`."""
        self.observed[worker] = max(version, self.observed.get(worker, 0))
        self._tell()

    def moved(self, component: str, task: int, version: int) -> None:
        """That task has arrived."""
        moving = self._moving.get((component, task))
        # an older version tells of a move that a later table has put another in place of
        if moving is not None and version >= moving.version:
            del self._moving[component, task]
            self._tell()

    def move_failed(self, version: int, error: UnmovableError) -> None:
        """That task cannot leave: the next table leaves it where it was, unless a loss has sent it elsewhere, or was of that worker."""
        moving = self._moving.get((error.component, error.task))
        if moving is None or version < moving.version or moving.source is None:
            return
        self._failures[version] = error
        self.publish(left_where_it_was(self.table, error.component, error.task, moving.source))
        self._tell()


class TablePublisher(Tables):
    """Planned is what `change` makes. One change at a time: the next waits for the one before. A loss waits for no `intend` either."""

    def __init__(self, table: ActivationTable, send: Send, intend: Intend = _at_once, unmovable: Unmovable | None = None) -> None:
        self._news = News()
        super().__init__(table, send, {} if unmovable is None else unmovable, self._news.tell)
        self.lock = asyncio.Lock()
        self._intend = intend

    async def change(self, make: Change, seconds: float) -> int:
        """Publish what `make` makes of the newest table; back when every live worker routes by it: its version.

        Raises:
            UnmovableError: a task is known to be unmovable, and nothing has changed; or it could not be pickled when it was to move,
                and was left where it was.
            BusyError: see `refuse`; nothing has changed.
            TimeoutExpiredError: a live worker did not confirm in time; the table stands, and will be applied.
        """
        async with self.lock:
            wanted = await self._intended(make)
            if wanted is None:
                return self.table.version
            version = self.publish(wanted)
            if not await self.wait_confirmed(version, seconds):
                late = [worker for worker in self.table.workers if self.observed.get(worker, 0) < version]
                raise TimeoutExpiredError(f"table {version} was not confirmed within {seconds:g} s by {', '.join(late)}")
            # the lock is kept meanwhile: nobody could send on a task that is on its way, so a change that moves it again would be refused
            if not await self._news.wait_until(lambda: self.over(version), seconds) and self._moving:
                _log.warning("%d tasks still move %g s after table %d", len(self._moving), seconds, version)
            failure = self.failure(version)
            if failure is not None:
                raise failure
            return version

    async def _intended(self, make: Change) -> ActivationTable | None:
        """What is wanted, written down; made again when a loss came between."""
        while True:
            newest = self.table
            wanted = self.wanted(make)
            if wanted is None:
                return None
            await self._intend(wanted)
            # nothing is awaited from here to `publish`: a loss that came between would be undone by this table
            if self.table is newest:
                return wanted

    async def wait_confirmed(self, version: int, seconds: float) -> bool:
        """Wait until every live worker routes by `version`; False when the time is over."""
        return await self._news.wait_until(lambda: self.confirmed(version), seconds)

    async def wait_lived(self, seconds: float) -> bool:
        """Wait until a worker is in the table; False when the time is over."""
        return await self._news.wait_until(lambda: bool(self.table.workers), seconds)
