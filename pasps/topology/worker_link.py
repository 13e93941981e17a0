"""One worker as its controller knows it: process, control connection, and what it said of itself."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from pasps.clock import Clock, Deadline
from pasps.cluster.launch.launcher import UNTOLD, Launcher, WorkerHandle
from pasps.errors import BrokenError, ComponentStartError, ProtocolError, TimeoutExpiredError, UnmovableError, WorkerStartError
from pasps.metrics import WorkerCounts
from pasps.transport.frames import FrameReader
from pasps.worker.link import EXIT_FAILED, EXIT_ORPHANED, MOST_CONTROL_BYTES, encode_frame
from pasps.worker.messages import (
    Address,
    Beat,
    Closed,
    Dial,
    FromWorker,
    Hello,
    Launch,
    Linked,
    LogText,
    Problem,
    ReadLog,
    Stuck,
    ToWorker,
)

_log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_MISSED_BEATS = 3
MOST_MISSED_AT_START = 30
"""Until it is ready a worker loads libraries, some of which let no other thread run meanwhile; on a busy machine that takes seconds."""
BUSY_SECONDS = 60
"""For so long a silent worker of this machine that computes is taken for busy: code in C may keep the interpreter to itself."""
_LOG_SECONDS = 10.0
_ENDING_SECONDS = 2.0
_MOMENT_SECONDS = 0.2
_OWN = {1: "Python itself could not go on", EXIT_ORPHANED: "its control connection had ended", EXIT_FAILED: "something of its own failed"}


class WorkerLink:
    """Made by `launch`; then `introduce`, `dial`, and `end`. What is not an answer to these goes to `on_message`."""

    def __init__(self, worker: str, incarnation: int, handle: WorkerHandle, clock: Clock, on_message: Callable[[FromWorker], None]) -> None:
        self.worker = worker
        self.incarnation = incarnation
        self.pid = handle.pid
        self.where, self.cores = handle.where, handle.cores
        self.address: Address | None = None
        self.counts: WorkerCounts | None = None
        self.unmovable: dict[tuple[str, int], UnmovableError] = {}
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
        self._computed: float | None = None
        self._stuck: Stuck | None = None
        self.fell_silent = False
        """Whether it was given up because it did not answer."""
        self._given_up = ""
        self._was_there = False
        self._last_problem = ""
        # the newest is of the last second, when it may have been chosen already: a process that held much takes time to end
        self._oom_kills = (handle.oom_kills(),) * 2
        self._out_of_memory = False
        self._clock = clock
        self._ready_since: float | None = None

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
            link._control = await ControlLink.over(handle.control, link.received, link.refused, lost)
        except BaseException:
            handle.kill()
            handle.control.close()
            raise
        return link

    def received(self, message: FromWorker) -> None:
        """A message came. Whatever it is, it is a sign of life."""
        self._missed = 0
        self._stuck = message.stuck if isinstance(message, Beat) else None
        if isinstance(message, Beat):
            return
        if isinstance(message, Hello):
            _settle(self._hello, message)
        elif isinstance(message, Linked):
            _settle(self._linked, message)
        elif isinstance(message, LogText):
            asked = self._logs.pop(message.number, None)
            if asked is not None:
                _settle(asked, message)
        elif not isinstance(message, Closed):
            if isinstance(message, Problem) and not message.component:
                self._last_problem = message.text
            self._on_message(message)

    def refused(self, reason: str) -> None:
        """A message came that cannot be taken: told once, as a problem of this worker."""
        self._missed = 0
        if reason != self._last_problem:
            _log.error("worker %s (process %d): %s", self.worker, self.pid, reason)
            self.received(Problem("", -1, reason))

    def lost(self) -> None:
        """The connection ended."""
        before, now = self._oom_kills[0], self._handle.oom_kills()
        self._out_of_memory = before is not None and now is not None and now > before
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
            why = await self.cause()
            raise WorkerStartError(f"worker {self.worker}: its process ended before it was ready ({why}); see its output above") from error
        if hello.error:
            raise ComponentStartError(f"worker {self.worker} could not start:\n{hello.error}")
        self.address = Address(hello.host, hello.port, self.incarnation)
        self._ready_since = self._clock.now()
        self.unmovable = {
            (stuck.component, stuck.task): UnmovableError(stuck.component, stuck.task, stuck.attribute, stuck.reason)
            for stuck in hello.unmovable
        }

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
        """Ask whether it is there, once a second; False when nothing came for three questions, thirty if it still starts.

        One that computes is busy and not stopped, as far as can be seen from here: it is given `BUSY_SECONDS`.
        """
        self._missed += 1
        self.send(Beat())
        self._oom_kills = self._oom_kills[1], self._handle.oom_kills()
        # read one beat before it counts: only two readings tell whether it computes
        before, self._computed = self._computed, self._handle.cpu_seconds() if self._missed >= MOST_MISSED_BEATS else None
        most = MOST_MISSED_AT_START if self.address is None else MOST_MISSED_BEATS
        if self._missed <= most:
            return True
        computes = before is not None and self._computed is not None and self._computed > before
        if not computes or self._missed > BUSY_SECONDS:
            self.fell_silent = True
            self._given_up = f"it did not answer for {self._missed - 1} s" + (", though it computed" if computes else "")
            return False
        if self._missed == most + 1:
            _log.warning("worker %s (process %d) does not answer, but computes; it has %d s", self.worker, self.pid, BUSY_SECONDS)
        return True

    @property
    def stuck(self) -> Stuck | None:
        """What its loop has not come back from, as it says itself, or, when it cannot even say so, that it is silent."""
        if self.address is not None and self._missed > MOST_MISSED_BEATS + 1:
            return Stuck("", -1, float(self._missed), "")
        return self._stuck

    async def cause(self) -> str:
        """Why it is gone, as far as is known; once the connection has ended. Waits a moment for its process to have ended."""
        status = await self._status(_ENDING_SECONDS)
        if self._given_up:
            said = self._given_up
        elif status is None or status == UNTOLD:
            said = "nobody can tell how its process ended"
        elif self._was_there:
            said = "it closed its control connection, which only its end may do; does user code close files that are not its own?"
        else:
            said = ended_text(status, out_of_memory=self._out_of_memory)
        if self._stuck is not None and self._stuck.component:
            said += f"; it had not come back from component {self._stuck.component!r} for {self._stuck.seconds:.0f} s"
        return said + (f"; the last that it told: {brief(self._last_problem)}" if self._last_problem else "")

    async def by_itself(self) -> bool:
        """Whether its process is known to have ended of its own accord: not by SIGKILL, unless the system ran out of memory."""
        status = await self._status(_ENDING_SECONDS)
        killed = status == -signal.SIGKILL and not self._out_of_memory
        return self._was_there or not (killed or self._given_up or status in (None, UNTOLD))

    async def _status(self, seconds: float) -> int | None:
        """The exit status, waited for; None when it does not end."""
        deadline = Deadline(self._clock, seconds)
        while (status := self._handle.reap()) is None and not deadline.expired():  # noqa: ASYNC110 - the system does not tell
            await asyncio.sleep(0.002)
        return status

    def age(self) -> float:
        """Seconds since it was ready; nothing before that."""
        return 0.0 if self._ready_since is None else self._clock.now() - self._ready_since

    def kill(self, why: str = "") -> None:
        """End the process at once; `why` is the cause of its end then."""
        self._given_up = self._given_up or why
        self._handle.kill()
        self._control.close()
        self._handle.reap()

    async def end(self, seconds: float) -> None:
        """Wait until the process has ended by itself, then end it; it is ended also when nobody waits any more."""
        try:
            if seconds:
                await asyncio.wait([self._gone], timeout=seconds)
            if self._gone.done():  # the end of its connection is seen a moment before that of the process
                self._was_there = await self._status(_MOMENT_SECONDS) is None and not self._given_up
        finally:
            self.kill()
        await self._status(_ENDING_SECONDS)


def ended_text(status: int, *, out_of_memory: bool = False) -> str:
    """How a process ended, in words; `out_of_memory`: the kernel has just ended some process of its machine for that."""
    if status == -signal.SIGKILL and out_of_memory:
        return "its process was ended by SIGKILL, and the kernel's out-of-memory killer was at work"
    if status == -signal.SIGKILL:
        return "its process was ended by SIGKILL: by somebody, or by the system for want of memory"
    if status < 0:
        try:
            return f"its process was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"its process was ended by signal {-status}"
    if status in _OWN:
        return f"its process ended with status {status}: {_OWN[status]}"
    return f"its process ended with status {status}, as by os._exit in user code"


def brief(text: str) -> str:
    """What a text says in one line: of a traceback in it the last one, which is the exception."""
    first, *more = text.strip().splitlines() or [""]
    return f"{first} {more[-1].strip()}" if more else first


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


class ControlLink(asyncio.Protocol):
    """`on_message` for each message, `on_refused` with the reason for one that cannot be taken, `on_lost` once, when the worker is gone.

    One wrong message is left out: most often it has a value of user code in it. What is no frame at all ends the connection.
    """

    def __init__(self, on_message: Callable[[FromWorker], None], on_refused: Callable[[str], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_refused = on_refused
        self._on_lost = on_lost
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(FromWorker).decode
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def over(
        cls,
        control: socket.socket,
        on_message: Callable[[FromWorker], None],
        on_refused: Callable[[str], None],
        on_lost: Callable[[], None],
    ) -> ControlLink:
        """A link over a connected socket."""
        control.setblocking(False)
        link = cls(on_message, on_refused, on_lost)
        loop = asyncio.get_running_loop()
        if control.family == socket.AF_UNIX:
            await loop.create_unix_connection(lambda: link, sock=control)
        else:
            control.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.create_connection(lambda: link, sock=control)
        return link

    def send(self, message: ToWorker) -> None:
        """Send soon; nothing happens when the worker is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encode_frame(message))

    def close(self) -> None:
        """End the connection, which ends the worker."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """asyncio's."""
        try:
            for payload in self._reader.feed(data):
                self._take(payload)
        except ProtocolError as error:
            self._on_refused(f"it sent what no worker sends, and was ended: {error}")
            self.close()

    def _take(self, payload: memoryview) -> None:
        try:
            self._on_message(self._decode(payload))
        except msgspec.MsgspecError as error:
            self._on_refused(f"a message of it cannot be read and was left out: {error}")
        except Exception as error:  # noqa: BLE001 - the control cycle's door: the message is left out, the topology goes on
            _log.exception("a message of a worker could not be taken")
            self._on_refused(f"a message of it could not be taken and was left out: {type(error).__name__}: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        """asyncio's."""
        self._transport = None
        self._on_lost()
