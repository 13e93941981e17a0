"""A worker under its controller: `runtime.Worker` doing what control messages say, and what it says to them.

On an event loop that somebody else owns, with a network that is given: `process` has both as a process, tests have both in memory.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from pasps.api.blueprint import Blueprint
from pasps.api.component import LOGGER
from pasps.clock import Clock, process_seconds
from pasps.config import RuntimeSettings
from pasps.errors import EmitError, PaspsError
from pasps.ids import IdSource
from pasps.metrics import WorkerCounts
from pasps.runtime.reports import plain, told_of
from pasps.runtime.snapshot import activity, positions_of, take_counts
from pasps.runtime.worker import Worker
from pasps.transport.codec import Refusal
from pasps.transport.connection import Connection
from pasps.transport.handshake import Identity
from pasps.transport.messages import Message
from pasps.transport.tcp import Endpoint
from pasps.transport.values import RowWrapper
from pasps.worker.messages import (
    Address,
    Awake,
    Close,
    Closed,
    Counts,
    Cut,
    Dial,
    Fence,
    Finish,
    FromWorker,
    Hello,
    Launch,
    Linked,
    Table,
    ToWorker,
    Unmovable,
)
from pasps.worker.reports import ControlReports
from pasps.worker.step_loop import StepLoop

PULSE_SECONDS = 1.0
"""How often counters and positions go to the controller unasked, while they change."""

Accept = Callable[[Connection], None]
"""Takes a connection that has proved itself, before its first message."""


class Listening(Protocol):
    """Where peers are taken in, until `close`."""

    @property
    def host(self) -> str:
        """How others reach it."""

    @property
    def port(self) -> int:
        """How others reach it."""

    def close(self) -> None:
        """Take in nobody more; who is there stays."""


class Network(Protocol):
    """How workers reach each other."""

    async def listen(self, wanted: str, endpoint: Endpoint, accept: Accept) -> Listening:
        """Take in peers where the topology wants it (nothing: where the controller reaches this worker).

        Raises:
            PaspsError: it cannot be had.
        """

    async def dial(self, address: Address, endpoint: Endpoint, worker: str, accept: Accept) -> None:
        """Connect with that worker. Raises whatever is in the way."""


class ControlledWorker:
    """States: NEW -> (`Launch`) RUNNING, or refused, which it says -> (`Close`) over. Everything on the event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        say: Callable[[FromWorker], None],
        network: Network,
        fail: Callable[[BaseException], None],
    ) -> None:
        """`say` reaches the controller, from any thread; `fail` is called with what was raised out of a step, which nobody survives."""
        self.over = False
        """Whether the controller has said so, and everything is said."""
        self._loop = loop
        self._clock = clock
        self._say = say
        self._network = network
        self._steps = StepLoop(loop, fail)
        self._worker: Worker
        self._endpoint: Endpoint
        self._listening: Listening | None = None
        self._incarnation = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: tuple[int, ...] = ()
        self._is_told = False

    @property
    def broken(self) -> bool:
        """Whether a step ended in the middle, by an interrupt."""
        return self._steps.broken

    # ---- control

    def obey(self, message: ToWorker) -> None:
        """Do what the controller says, or begin to. What raises here is ours."""
        if isinstance(message, Launch):
            self._keep(self._launch(message))
            return
        if isinstance(message, Dial):
            self._keep(self._dial(message.peers))
        elif isinstance(message, Table):
            self._worker.apply(message.table, message.positions)
        elif isinstance(message, Awake):
            if message.awake:
                self._worker.activate()
            else:
                self._worker.deactivate()
        elif isinstance(message, Cut):
            self._say(Counts(message.k, self._counts()))
            self._is_told = True
        elif isinstance(message, Finish):
            self._worker.finish(message.component)
        elif isinstance(message, Fence):
            self._worker.fence()
        elif isinstance(message, Close):
            self._close()
            return
        self._steps.wake()

    def _keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _launch(self, launch: Launch) -> None:
        try:
            blueprint = pickle.loads(launch.blueprint)
            self._build(blueprint, launch)
            self._listening = await self._network.listen(launch.host, self._endpoint, self._accept)
            unmovable_tasks = self._unmovable(blueprint) if launch.workers > 1 else []
        except BaseException as error:  # noqa: BLE001 - the daemon's door: told to the controller, who tells the user; sys.exit too
            self._say(Hello("", 0, error=in_words(error)))
            return
        self._say(Hello(self._listening.host, self._listening.port, unmovable_tasks))
        self._loop.call_later(PULSE_SECONDS, self._pulse)
        self._steps.wake()

    def _build(self, blueprint: Blueprint, launch: Launch) -> None:
        self._incarnation = launch.incarnation
        settings = RuntimeSettings.from_config(blueprint.config)
        rows = RowWrapper(settings.wire_pickle, settings.max_frame_bytes)
        self._worker = Worker(
            blueprint,
            launch.worker,
            launch.workers,
            clock=self._clock,
            ids=IdSource(),
            reports=ControlReports(self._say),
            rows=rows,
            spawn=self._steps.spawn,
            notify=self._steps.notify,
            restarted=launch.restarted,
        )
        if settings.debug:
            for name in ("pasps", LOGGER):
                logging.getLogger(name).setLevel(logging.DEBUG)
        self._endpoint = Endpoint(
            Identity(blueprint.name, launch.worker, launch.incarnation),
            launch.secret,
            self._on_message,
            self._on_lost,
            rows,
            settings.wire_pickle,
            settings.max_frame_bytes,
            on_refused=self._on_refused,
        )
        self._steps.drive(self._worker)
        self._worker.apply(launch.table, launch.positions)

    def _unmovable(self, blueprint: Blueprint) -> list[Unmovable]:
        found = []
        for (component, task), slot in self._worker.residents.slots.items():
            if blueprint.components[component].keyed:
                error = self._worker.hosting.unmovable(slot)
                if error is not None:
                    found.append(Unmovable(component, task, error.attribute, error.reason))
        return found

    # ---- peers

    async def _dial(self, peers: dict[str, Address]) -> None:
        for worker, address in peers.items():
            linked = self._worker.peers.get(worker)
            if linked is not None and linked.incarnation == address.incarnation and linked.connection is not None:
                continue  # asked again because another peer could not be reached
            try:
                await self._network.dial(address, self._endpoint, worker, self._accept)
            except Exception as error:  # noqa: BLE001 - told to the controller, which decides
                self._say(Linked(f"worker {worker}: {error}"))
                return
        self._say(Linked())

    def _accept(self, connection: Connection) -> None:
        peer = connection.peer
        self._worker.meet(peer.worker, peer.incarnation, connection)
        self._steps.wake()

    def _on_message(self, connection: Connection, message: Message) -> None:
        self._worker.on_message(connection.peer.worker, connection, message)
        self._steps.wake()

    def _on_refused(self, connection: Connection, refused: Sequence[Refusal]) -> None:
        self._worker.refused(connection.peer.worker, connection, refused)
        self._steps.wake()

    def _on_lost(self, connection: Connection, error: Exception | None) -> None:
        self._worker.lose(connection.peer.worker, connection)
        self._steps.wake()

    # ---- the rest

    def _pulse(self) -> None:
        self._loop.call_later(PULSE_SECONDS, self._pulse)  # first: spouts are asked below, and the next pulse must not depend on them
        if self._is_told:  # the controller has asked meanwhile, and knows all
            self._is_told = False
            self._last = ()
            return
        signature = activity(self._worker)
        if signature != self._last:
            self._last = signature
            self._say(Counts(0, self._counts()))

    def _counts(self) -> WorkerCounts:
        counts = take_counts(self._worker, self._incarnation)
        counts.cpu_seconds = process_seconds()
        return counts

    def _tell_last(self) -> None:
        """Close the worker, and say what was counted, and where spouts were when they closed: another one goes on there."""
        counts = self._counts()
        self._say(Counts(0, counts))  # first: what closes may never come back
        self._worker.close()
        closed = positions_of(self._worker)
        if closed != counts.positions:
            counts.positions = closed
            self._say(Counts(0, counts))

    def _close(self) -> None:
        if self._listening is not None:  # else it has not begun
            self._listening.close()
            self._tell_last()
        self._say(Closed())
        self.over = True


def in_words(error: BaseException) -> str:
    """An exception, with our own frames: what is told here may be our fault. Of an emit that is refused the user's line."""
    if isinstance(error, EmitError):
        return told_of(error)
    return plain(str(error) if isinstance(error, PaspsError) else "".join(traceback.format_exception(error)).rstrip())
