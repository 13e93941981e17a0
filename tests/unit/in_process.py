"""Workers without processes: `InProcess` launches real `ControlledWorker`s on the loop of their controller, in virtual time.

What is real: the controller, its links and their frames, the workers, their handshakes and connections, over socket pairs. What is not:
an end of a process is `die`, and places, initializing and ending take as long as a test says.
"""

from __future__ import annotations

import asyncio
import secrets
import selectors
import signal
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import msgspec

from pasps.api.blueprint import Blueprint
from pasps.errors import BrokenError, PaspsError
from pasps.metrics import WorkerCounts
from pasps.simulation.virtual_time import VirtualClock
from pasps.topology.controller import TopologyController
from pasps.topology.elastic import ElasticConfig
from pasps.topology.keeper import Keeper
from pasps.topology.lives import MOST_DEATHS
from pasps.transport import handshake
from pasps.transport.frames import FrameReader
from pasps.transport.handshake import NONCE_BYTES
from pasps.transport.tcp import Endpoint, TcpConnection
from pasps.worker.controlled import Accept, ControlledWorker
from pasps.worker.link import EXIT_FAILED, EXIT_ORPHANED, MOST_CONTROL_BYTES, encode_frame
from pasps.worker.messages import Address, Awake, Beat, Close, Counts, FromWorker, Hello, Launch, LogText, Problem, ReadLog, ToWorker

_T = TypeVar("_T")

# ---- time


class _JumpWhenIdle(selectors.DefaultSelector):
    """What is on a socket comes first, and a thread is waited for; where there is nothing, time jumps to what is due next."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock
        self.threads = 0
        """Calls on other threads that are under way."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(None if self.threads and timeout != 0 else 0)
        if not found and timeout is None:
            raise BrokenError("everything waits for something that never comes")
        if not found and timeout is not None and timeout > 0:
            self._clock.advance(timeout)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with sockets whose waits cost nothing."""

    def __init__(self, clock: VirtualClock) -> None:
        self._jumps = _JumpWhenIdle(clock)
        super().__init__(self._jumps)
        self._virtual = clock

    def time(self) -> float:
        return self._virtual.now()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        called = super().run_in_executor(executor, func, *args)
        self._jumps.threads += 1
        called.add_done_callback(self._is_back)
        return called

    def _is_back(self, _: object) -> None:
        self._jumps.threads -= 1


class _Life(asyncio.AbstractEventLoop):
    """The loop as one worker has it: when that is dead, nothing that it began goes on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[Any]] = set()
        self.over = False

    def _go(self, callback: Callable[..., object], *args: Any) -> None:
        if not self.over:
            callback(*args)

    def time(self) -> float:
        return self._loop.time()

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        return self._loop.call_soon(self._go, callback, *args)

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        return self._loop.call_soon_threadsafe(self._go, callback, *args)

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.TimerHandle:
        return self._loop.call_later(delay, self._go, callback, *args)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.TimerHandle:
        return self._loop.call_at(when, self._go, callback, *args)

    def create_task(self, coroutine: Coroutine[Any, Any, _T], **given: Any) -> asyncio.Task[_T]:  # type: ignore[override]
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def end(self) -> None:
        self.over = True
        for task in list(self._tasks):
            task.cancel()


# ---- workers and their connections


Fault = PaspsError | str | float
"""What is raised, or "never": it does not come back, or "dies": it is gone, or for how many seconds it takes."""


@dataclass(frozen=True)
class _Door:
    """See `Listening`."""

    host: str
    port: int
    worker: InProcessWorker
    endpoint: Endpoint
    accept: Accept

    def close(self) -> None:
        self.worker.launcher.doors.pop(self.port, None)


class InProcessWorker:
    """A worker, its end of the control connection, and the handle that its controller has. See `WorkerHandle`, `Network`."""

    cores = 2

    def __init__(self, launcher: InProcess, name: str, pid: int) -> None:
        self.launcher, self.name, self.pid = launcher, name, pid
        self.where: tuple[str, ...] = (launcher.hosts.get(name, "here"),)
        self.control, self._socket = socket.socketpair()
        self.heard: list[ToWorker] = []
        """What its controller said, but for beats."""
        self.launch: Launch | None = None
        self.silent = False
        """It answers no beat, and says nothing else."""
        self.peers: set[str] = set()
        """Whom it has dialled."""
        self._status: int | None = None
        self._life = _Life(asyncio.get_running_loop())
        self._worker = ControlledWorker(self._life, launcher.clock, self.say, self, self._fail)
        self.connections: list[TcpConnection] = []
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(ToWorker).decode
        self._transport: asyncio.Transport

    async def begin(self) -> None:
        """Hear the controller."""
        worker = self

        class End(asyncio.Protocol):
            def data_received(self, data: bytes) -> None:
                worker._hear(data)

            def connection_lost(self, error: Exception | None) -> None:
                worker.die(EXIT_ORPHANED)

        self._transport, _ = await asyncio.get_running_loop().create_unix_connection(End, sock=self._socket)

    def die(self, status: int = -signal.SIGKILL) -> None:
        """Its process ends: nothing of it goes on, and whoever is connected sees that."""
        if self._status is not None:
            return
        self._status = status
        self._life.end()
        for port in [port for port, door in self.launcher.doors.items() if door.worker is self]:
            del self.launcher.doors[port]
        for connection in self.connections:
            connection.abort("its process ended")
        self._transport.close()  # what it has said before comes

    def kill(self) -> None:
        """See `WorkerHandle`."""
        self.die()

    def reap(self) -> int | None:
        """See `WorkerHandle`."""
        return self._status

    def cpu_seconds(self) -> float | None:
        """See `WorkerHandle`."""
        return None

    def oom_kills(self) -> int | None:
        """See `WorkerHandle`."""
        return None

    def say(self, message: FromWorker) -> None:
        """To its controller."""
        if self._status is None and not self.silent:
            self._transport.write(encode_frame(message))

    def _fail(self, error: BaseException) -> None:
        self.launcher.failures.append(error)
        self.die(EXIT_FAILED)

    def _hear(self, data: bytes) -> None:
        for payload in self._reader.feed(data):
            message = self._decode(payload)
            if isinstance(message, Beat):
                self.say(Beat())
                continue
            self.heard.append(message)
            if isinstance(message, Launch | Close):
                self._life.create_task(self._later(message))
            elif isinstance(message, ReadLog):
                self._life.create_task(self._tell_log(message))
            else:
                self._obey(message)

    def _obey(self, message: ToWorker) -> None:
        if isinstance(message, Awake):
            self.launcher.note_awake(message.awake)
        self._worker.obey(message)

    async def _later(self, message: Launch | Close) -> None:
        launcher = self.launcher
        if isinstance(message, Launch):
            self.launch = message
            await asyncio.sleep(launcher.introduce_seconds)
            try:
                await launcher.fault("introduce", self.name)
            except PaspsError as error:
                self.say(Hello("", 0, error=str(error)))
                return
            self._obey(message)
            return
        launcher.closed.append(self.name)
        await asyncio.sleep(launcher.close_seconds)
        if self.name in launcher.last:
            self.say(Counts(0, launcher.last[self.name]))
        else:
            self._obey(message)
        self.die(0)

    async def _tell_log(self, asked: ReadLog) -> None:
        await self.launcher.read_log(self.name, asked)
        self.say(LogText(asked.number, f"said by {self.name}\n", 17))

    # what `Network` has

    async def listen(self, wanted: str, endpoint: Endpoint, accept: Accept) -> _Door:
        """See `Network`."""
        self.launcher.ports += 1
        door = _Door("memory", self.launcher.ports, self, endpoint, accept)
        self.launcher.doors[door.port] = door
        return door

    async def dial(self, address: Address, endpoint: Endpoint, worker: str, accept: Accept) -> None:
        """See `Network`."""
        await self.launcher.fault("connect", self.name)
        door = self.launcher.doors.get(address.port)
        if door is None or self.name in self.launcher.unreachable:
            raise BrokenError("not connected to its peers")
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()

        def shaken(connection: TcpConnection, error: Exception | None) -> None:
            if error is not None:
                opened.set_exception(error)
                return
            opened.set_result(None)
            accept(connection)

        def taken(connection: TcpConnection, error: Exception | None) -> None:
            if error is None:
                door.accept(connection)

        here, there = endpoint, door.endpoint
        ours = TcpConnection(
            here, handshake.dialer(here.identity, here.secret, secrets.token_bytes(NONCE_BYTES), here.seen, worker), shaken
        )
        theirs = TcpConnection(there, handshake.listener(there.identity, there.secret, secrets.token_bytes(NONCE_BYTES), there.seen), taken)
        self.connections.append(ours)
        door.worker.connections.append(theirs)
        one, other = socket.socketpair()
        await loop.create_unix_connection(lambda: theirs, sock=other)
        await loop.create_unix_connection(lambda: ours, sock=one)
        await opened
        self.peers.add(worker)


class InProcess:
    """A `Launcher`. `faults` by what is asked ("place", "introduce", "connect") and of whom: each once. Who is `unreachable` stays so."""

    sys_path: list[str] = []
    bind = ""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.place_seconds = self.introduce_seconds = self.close_seconds = 0.0
        """What workers take, all at once."""
        self.hosts: dict[str, str] = {}
        """Where workers are; "here" if it is not said."""
        self.faults: dict[tuple[str, str], Fault] = {}
        self.unreachable: set[str] = set()
        self.last: dict[str, WorkerCounts] = {}
        """What workers say at their end in place of the truth."""
        self.workers: dict[str, InProcessWorker] = {}
        """The newest of each name."""
        self.launched: list[str] = []
        self.closed: list[str] = []
        """Who was ended on purpose."""
        self.spouts: list[tuple[float, bool]] = []
        """When workers were told that spouts emit, or not."""
        self.doors: dict[int, _Door] = {}
        self.ports = 7000
        self.failures: list[BaseException] = []
        """What was raised out of workers, by something of ours."""
        self.asked_logs: list[tuple[str, int | None, int]] = []
        self.meet: asyncio.Barrier | None = None
        """So many are to be asked for their logs before one answers."""

    async def launch(self, worker: str) -> InProcessWorker:
        """See `Launcher`."""
        await asyncio.sleep(self.place_seconds)
        await self.fault("place", worker)
        self.launched.append(worker)
        made = self.workers[worker] = InProcessWorker(self, worker, 40 + len(self.launched))
        await made.begin()
        return made

    async def fault(self, what: str, worker: str) -> None:
        """What is to go wrong now."""
        fault = self.faults.pop((what, worker), None)
        if fault == "never":
            await asyncio.Event().wait()
        elif fault == "dies":
            self.workers[worker].die()
            await asyncio.sleep(0)  # it goes no further
        elif isinstance(fault, PaspsError):
            raise fault
        elif isinstance(fault, float):
            await asyncio.sleep(fault)

    async def read_log(self, worker: str, asked: ReadLog) -> None:
        """Somebody wants to read the log of a worker."""
        self.asked_logs.append((worker, asked.offset, asked.lines))
        if self.meet is not None:
            await self.meet.wait()

    def note_awake(self, awake: bool) -> None:
        """A worker was told so."""
        said = round(self.clock.now(), 3), awake
        if not self.spouts or self.spouts[-1] != said:
            self.spouts.append(said)


async def rounds() -> None:
    """Let everything happen that is due now."""
    for _ in range(50):
        await asyncio.sleep(0)


class InProcessTopology:
    """A topology whose controller is real, and its launcher. Everything is on `loop`; `close_all` is called after each test."""

    made: ClassVar[list[InProcessTopology]] = []

    def __init__(
        self, blueprint: Blueprint, workers: int = 1, *, keeper: Keeper | None = None, control: ElasticConfig | None = None
    ) -> None:
        self.clock = VirtualClock()
        self.loop = VirtualLoop(self.clock)
        self.launcher = InProcess(self.clock)
        self.controller = TopologyController(blueprint, workers, self.launcher, self.clock, keeper, control)
        self.made.append(self)

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """On the loop, from outside of it."""
        return self.loop.run_until_complete(coroutine)

    def started(self, *, awake: bool = False) -> InProcessTopology:
        """The same, when it runs; time begins then, as far as anybody says."""
        self.run(self.controller.start(awake=awake))
        self.launcher.spouts.clear()
        return self

    async def die(self, worker: str, status: int = -signal.SIGKILL) -> None:
        """The process of a worker ends; back when that is known."""
        self.launcher.workers[worker].die(status)
        await rounds()
        assert worker not in self.controller.publisher.table.workers

    async def wait_lives(self, worker: str) -> None:
        """Until it is there."""
        async with asyncio.timeout(600):
            while worker not in self.controller.publisher.table.workers:  # noqa: ASYNC110 - by the clock of the test
                await asyncio.sleep(0.1)

    async def crash(self, worker: str, times: int = MOST_DEATHS, last_words: str = "") -> None:
        """It dies so often of its own accord, and is there again."""
        for _ in range(times):
            if last_words:
                self.launcher.workers[worker].say(Problem("", -1, last_words))
            await self.die(worker, 7)
            await self.wait_lives(worker)

    @classmethod
    def close_all(cls) -> None:
        """End all of them."""
        while cls.made:
            cls.made.pop().close()

    def close(self) -> None:
        """End it."""
        try:
            self.run(self.controller.close())
            for failure in self.launcher.failures:
                raise failure
        finally:
            self.run(_cancel_all())
            self.loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await rounds()  # what was closed closes its socket
