"""One worker as its master knows it: process, control connection, and what it said of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from pasps.clock import Clock, Deadline
from pasps.cluster.launcher import Launcher, WorkerHandle
from pasps.daemons.control_link import ControlLink
from pasps.daemons.messages import (
    Address,
    Beat,
    Closed,
    Dial,
    FromWorker,
    Hello,
    Launch,
    Linked,
    LogText,
    ReadLog,
    ToWorker,
    Unmovable,
)
from pasps.errors import BrokenError, ComponentStartError, TimeoutExpiredError, WorkerStartError
from pasps.metrics import WorkerCounts

T = TypeVar("T")

MOST_MISSED_BEATS = 3
MOST_MISSED_AT_START = 30
"""Until it is ready a worker loads libraries, some of which let no other thread run meanwhile; on a busy machine that takes seconds."""
_LOG_SECONDS = 10.0


class WorkerLink:
    """Made by `launch`; then `introduce`, `dial`, and `end`. What is not an answer to these goes to `on_message`."""

    def __init__(self, worker: str, incarnation: int, handle: WorkerHandle, clock: Clock, on_message: Callable[[FromWorker], None]) -> None:
        self.worker = worker
        self.incarnation = incarnation
        self.pid = handle.pid
        self.where, self.cores = handle.where, handle.cores
        self.address: Address | None = None
        self.counts: WorkerCounts | None = None
        self.unmovable: dict[tuple[str, int], Unmovable] = {}
        self._handle = handle
        self._on_message = on_message
        self._control: ControlLink
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._linked: asyncio.Future[Linked] = asyncio.get_running_loop().create_future()
        self._dialling = asyncio.Lock()
        self._logs: dict[int, asyncio.Future[LogText]] = {}
        self._asked = 0
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._missed = 0
        self._clock = clock
        self._born = clock.now()

    @classmethod
    async def launch(
        cls,
        launcher: Launcher,
        worker: str,
        incarnation: int,
        clock: Clock,
        on_message: Callable[[FromWorker], None],
        on_lost: Callable[[], None],
    ) -> WorkerLink:
        """Start the process and take its control connection."""
        try:
            handle = await launcher.launch(worker)
        except OSError as error:
            raise WorkerStartError(f"worker {worker}: its process could not be started ({error})") from error
        link = cls(worker, incarnation, handle, clock, on_message)

        def lost() -> None:
            link.lost()
            on_lost()

        try:
            link._control = await ControlLink.over(handle.control, link.received, lost)
        except BaseException:
            handle.kill()
            handle.control.close()
            raise
        return link

    def received(self, message: FromWorker) -> None:
        """A message came."""
        if isinstance(message, Beat):
            self._missed = 0
        elif isinstance(message, Hello):
            self._missed = 0  # what it left unanswered while it started does not count from now on
            _settle(self._hello, message)
        elif isinstance(message, Linked):
            _settle(self._linked, message)
        elif isinstance(message, LogText):
            asked = self._logs.pop(message.number, None)
            if asked is not None:
                _settle(asked, message)
        elif not isinstance(message, Closed):
            self._on_message(message)

    def lost(self) -> None:
        """The connection ended."""
        futures: list[asyncio.Future[Any]] = [self._hello, self._linked, *self._logs.values()]
        for future in futures:
            if not future.done():
                future.set_exception(BrokenError(f"worker {self.worker}: its process {self.pid} ended"))
                future.exception()  # read, so that nobody is warned about it when nobody waits
        _settle(self._gone, None)

    async def introduce(
        self,
        launch: Launch,
        seconds: float,
    ) -> None:
        """Tell it what it is; back when its instances are initialized and it listens.

        Raises:
            WorkerStartError: with the worker's own words.
        """
        self.send(launch)
        try:
            async with asyncio.timeout(seconds):
                hello = await asyncio.shield(self._hello)
        except TimeoutError as error:
            raise WorkerStartError(f"worker {self.worker}: not ready after {seconds:g} s; is an `initialize` blocking?") from error
        except BrokenError as error:
            raise WorkerStartError(f"worker {self.worker}: its process ended before it was ready; see its output above") from error
        if hello.error:
            raise ComponentStartError(f"worker {self.worker} could not start:\n{hello.error}")
        self.address = Address(hello.host, hello.port, self.incarnation)
        self.unmovable = {(stuck.component, stuck.task): stuck for stuck in hello.unmovable}

    async def dial(self, message: Dial, seconds: float) -> None:
        """Let it connect to peers.

        Raises:
            BrokenError: it could not, or is gone.
        """
        if not message.peers:
            return
        async with self._dialling:  # an answer does not say what it answers
            linked = await self._answer(message, seconds)
        if linked.error:
            raise BrokenError(f"worker {self.worker}: {linked.error}")

    async def _answer(self, message: Dial, seconds: float) -> Linked:
        if self._gone.done():  # nobody would ever answer
            raise BrokenError(f"worker {self.worker}: its process {self.pid} ended")
        self._linked = asyncio.get_running_loop().create_future()
        self.send(message)
        try:
            async with asyncio.timeout(seconds):
                return await self._linked
        except TimeoutError as error:
            raise BrokenError(f"worker {self.worker}: not connected to its peers after {seconds:g} s") from error

    async def read_log(self, offset: int | None, lines: int) -> LogText:
        """See `Workforce.read_log`."""
        self._asked += 1
        number = self._asked
        self._logs[number] = asyncio.get_running_loop().create_future()
        self.send(ReadLog(number, offset, lines))
        try:
            async with asyncio.timeout(_LOG_SECONDS):
                return await self._logs[number]
        except TimeoutError as error:
            raise TimeoutExpiredError(f"worker {self.worker}: its log did not come within {_LOG_SECONDS:g} s") from error
        finally:
            self._logs.pop(number, None)

    def send(self, message: ToWorker) -> None:
        """Send soon; nothing happens when it is gone."""
        self._control.send(message)

    def beat(self) -> bool:
        """Ask whether it is there; False when it has left three questions unanswered, thirty if it still starts."""
        self._missed += 1
        self.send(Beat())
        return self._missed <= (MOST_MISSED_AT_START if self.address is None else MOST_MISSED_BEATS)

    def age(self) -> float:
        """Seconds since it was started."""
        return self._clock.now() - self._born

    def kill(self) -> None:
        """End the process at once."""
        self._handle.kill()
        self._control.close()
        self._handle.reap()

    async def end(self, seconds: float) -> None:
        """Wait until the process has ended by itself, then end it."""
        if seconds:
            await asyncio.wait([self._gone], timeout=seconds)
        self.kill()
        deadline = Deadline(self._clock, 2.0)
        while self._handle.reap() is None and not deadline.expired():  # noqa: ASYNC110 - the system does not tell
            await asyncio.sleep(0.002)


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)
