"""The process of one worker: an event loop around `runtime.Worker`. Run as `python -m pasps.daemons.worker_process FD`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.api.component import LOGGER
from pasps.clock import SystemClock
from pasps.daemons.control_reports import ControlReports
from pasps.daemons.control_thread import ControlThread
from pasps.daemons.event_loop import new_event_loop
from pasps.daemons.messages import (
    Address,
    Awake,
    Close,
    Closed,
    Counts,
    Cut,
    Dial,
    Fence,
    Finish,
    Hello,
    Launch,
    Linked,
    ReadLog,
    RegisterAt,
    Start,
    Table,
    ToWorker,
    Unmovable,
)
from pasps.daemons.step_loop import StepLoop, fail
from pasps.daemons.worker_place import address_to_bind, begin_logging, log_text
from pasps.errors import PaspsError
from pasps.ids import IdSource
from pasps.runtime.hosting import SpoutStart
from pasps.runtime.movability import unmovable
from pasps.runtime.snapshot import activity, take_counts
from pasps.runtime.worker import GARBAGE_THRESHOLDS, Surroundings, Worker
from pasps.transport.connection import Connection
from pasps.transport.handshake import Identity
from pasps.transport.messages import Message
from pasps.transport.tcp import Endpoint, Listener, dial, listen
from pasps.transport.values import RowWrapper

_log = logging.getLogger("pasps.worker")

PULSE_SECONDS = 1.0
"""How often counters and positions go to the master unasked, while they change."""


KeepRegistered = Callable[[RegisterAt, str, Address], Coroutine[Any, Any, None]]
"""Says in ZooKeeper that a worker is there, for as long as it is."""


class WorkerProcess:
    """Everything here runs on the event loop, except `_deliver`, which only asks the loop to call."""

    def __init__(self, control: socket.socket, log_file: Path | None = None, keep_registered: KeepRegistered | None = None) -> None:
        """`log_file` is where the process writes; None: to its parent's terminal. `keep_registered` is for workers of a cluster."""
        self._loop = asyncio.get_running_loop()
        self._control = ControlThread(control, self._deliver)
        self._clock = SystemClock()
        self._worker: Worker
        self._endpoint: Endpoint
        self._listener: Listener | None = None
        self._incarnation = 0
        self._steps = StepLoop(self._loop)
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: tuple[int, ...] = ()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._reached_by = control.getsockname()[0] if control.family in (socket.AF_INET, socket.AF_INET6) else "127.0.0.1"
        self._log_file = log_file
        self._keep_registered = keep_registered

    async def run(self) -> None:
        """Until the master says that it is over."""
        self._control.start()
        await self._done
        self._control.flush(1.0)

    # ---- control

    def _deliver(self, message: ToWorker) -> None:
        self._loop.call_soon_threadsafe(self._on_control, message)

    def _on_control(self, message: ToWorker) -> None:
        try:
            self._obey(message)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("%s could not be carried out", type(message).__name__)
            fail()

    def _obey(self, message: ToWorker) -> None:
        if isinstance(message, Launch):
            self._keep(self._launch(message))
            return
        if isinstance(message, Dial):
            self._keep(self._dial(message.peers))
        elif isinstance(message, Table):
            self._worker.apply(message.table, _starts(message.starts))
        elif isinstance(message, Awake):
            if message.awake:
                self._worker.activate()
            else:
                self._worker.deactivate()
        elif isinstance(message, Cut):
            self._control.send(Counts(message.k, take_counts(self._worker, self._incarnation)))
        elif isinstance(message, Finish):
            self._worker.finish(message.component)
        elif isinstance(message, Fence):
            self._worker.fence()
        elif isinstance(message, ReadLog):
            self._control.send(log_text(self._log_file, message))
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
            if launch.sys_path:
                sys.path[:] = launch.sys_path
            blueprint = pickle.loads(launch.blueprint)
            self._build(blueprint, launch)
            self._listener = await listen(address_to_bind(launch.host, self._reached_by), 0, self._endpoint, self._accept)
            unmovable_tasks = self._unmovable(blueprint) if launch.workers > 1 else []
        except Exception as error:  # noqa: BLE001 - the daemon's door: told to the master, who tells the user
            self._control.send(Hello("", 0, error=_told(error)))
            return
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        host, port = self._listener.host, self._listener.port
        if launch.register_at is not None and self._keep_registered is not None:
            self._keep(self._keep_registered(launch.register_at, launch.worker, Address(host, port, launch.incarnation)))
        self._control.send(Hello(host, port, unmovable_tasks))
        self._loop.call_later(PULSE_SECONDS, self._pulse)
        self._steps.wake()

    def _build(self, blueprint: Blueprint, launch: Launch) -> None:
        self._incarnation = launch.incarnation
        rows = RowWrapper(bool(blueprint.config.get("pasps.wire.pickle", False)))
        around = Surroundings(
            self._clock,
            IdSource(),
            ControlReports(self._control.send),
            rows,
            self._steps.spawn,
            self._steps.notify,
            restarted=launch.restarted,
        )
        self._worker = Worker(blueprint, launch.worker, launch.workers, around)
        settings = self._worker.settings
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
            on_refused=self._worker.switchboard.refused,
        )
        self._steps.drive(self._worker)
        self._worker.apply(launch.table, _starts(launch.starts))

    def _unmovable(self, blueprint: Blueprint) -> list[Unmovable]:
        found = []
        for (component, task), slot in self._worker.residents.slots.items():
            if blueprint.components[component].keyed and slot.collector is not None:
                context = self._worker.hosting.context(component, task, None)
                error = unmovable(slot.instance, component, task, context)
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
                await dial(address.host, address.port, self._endpoint, worker, self._accept)
            except Exception as error:  # noqa: BLE001 - told to the master, which decides
                self._control.send(Linked(f"worker {worker}: {error}"))
                return
        self._control.send(Linked())

    def _accept(self, connection: Connection) -> None:
        peer = connection.peer
        self._worker.switchboard.meet(peer.worker, peer.incarnation, connection)
        self._steps.wake()

    def _on_message(self, connection: Connection, message: Message) -> None:
        self._worker.switchboard.on_message(connection.peer.worker, message)
        self._steps.wake()

    def _on_lost(self, connection: Connection, error: Exception | None) -> None:
        self._worker.switchboard.lose(connection.peer.worker, connection)
        self._steps.wake()

    # ---- the rest

    def _pulse(self) -> None:
        signature = activity(self._worker)
        if signature != self._last:
            self._last = signature
            self._control.send(Counts(0, take_counts(self._worker, self._incarnation)))
        self._loop.call_later(PULSE_SECONDS, self._pulse)

    def _close(self) -> None:
        if self._listener is not None:  # else it has not begun
            self._listener.close()
            self._worker.close()
        self._control.send(Closed())
        if not self._done.done():
            self._done.set_result(None)


def _starts(starts: dict[int, Start]) -> dict[int, SpoutStart]:
    return {task: SpoutStart.unpickled(start.position, start.debt, start.until) for task, start in starts.items()}


def _told(error: Exception) -> str:
    if isinstance(error, PaspsError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()


def main() -> None:
    """Entry point of the process."""
    begin_logging()
    # Ctrl-C goes to the whole terminal, and `timeout` sends SIGTERM to the whole group; the parent drains, and ends its workers
    # when that is done. A handler, since what is ignored or blocked would be so in processes that user code starts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    control = socket.socket(fileno=int(sys.argv[1]))

    async def run() -> None:
        await WorkerProcess(control).run()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())
    logging.shutdown()
    # threads of blocking bolts may still wait for something; they must not keep the process
    os._exit(0)


if __name__ == "__main__":
    main()
