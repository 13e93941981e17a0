"""The process of one worker: an event loop around `runtime.Worker`. Run as `python -m pasps.worker.process FD`."""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.api.component import LOGGER
from pasps.clock import SystemClock, process_seconds
from pasps.config import Settings
from pasps.errors import EmitError, PaspsError
from pasps.garbage import collect_seldom
from pasps.ids import IdSource
from pasps.metrics import WorkerCounts
from pasps.runtime.reports import Throttle, plain, told_of
from pasps.runtime.snapshot import activity, positions_of, take_counts
from pasps.runtime.worker import Worker
from pasps.transport.codec import Refusal
from pasps.transport.connection import Connection
from pasps.transport.handshake import Identity
from pasps.transport.messages import Message
from pasps.transport.tcp import Endpoint, Listener, dial, listen
from pasps.transport.values import RowWrapper
from pasps.worker.event_loop import new_event_loop
from pasps.worker.link import ControllerLink
from pasps.worker.loop_watch import LoopWatch
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
    Hello,
    Launch,
    Linked,
    Problem,
    ReadLog,
    Table,
    ToWorker,
    Unmovable,
)
from pasps.worker.place import address_to_bind, begin_logging, log_text
from pasps.worker.reports import ControlReports
from pasps.worker.step_loop import StepLoop, fail

_log = logging.getLogger("pasps.worker")

PULSE_SECONDS = 1.0
"""How often counters and positions go to the controller unasked, while they change."""


class WorkerProcess:
    """Made and run on the event loop that `run_worker` makes."""

    def __init__(self, control: socket.socket, log_file: Path | None = None) -> None:
        """`log_file` is where the process writes; None: to its parent's terminal."""
        self._loop = asyncio.get_running_loop()
        self._clock = SystemClock()
        self._control = ControllerLink(control, self._on_control, self._clock)
        self._watch = LoopWatch(self._control, self._clock)
        self._worker: Worker
        self._endpoint: Endpoint
        self._listener: Listener | None = None
        self._incarnation = 0
        self._steps = StepLoop(self._loop, self._fail)
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: tuple[int, ...] = ()
        self._is_told = False
        self._throttle = Throttle(10.0, 5)
        self.done = False
        """Whether the controller has said that it is over."""
        self._reached_by = control.getsockname()[0] if control.family in (socket.AF_INET, socket.AF_INET6) else "127.0.0.1"
        self._log_file = log_file

    def start(self) -> None:
        """Hear the controller, and speak to it from now on."""
        self._control.start()
        self._watch.start()

    def finish(self) -> None:
        """Say the last things."""
        self._control.flush(1.0)

    # ---- what ends it, and what does not

    def escaped(self, error: BaseException | None) -> None:
        """User code has left the event loop by `sys.exit` or an interrupt, or (None) stopped it: told, and the worker goes on.

        Only what was called by the loop itself gets here, a task or a callback that user code started, and nothing of that is ours.
        """
        if self._steps.broken:
            self._fail(error or RuntimeError("the loop was stopped in the middle of a step"))
        if error is None:
            text = "user code stopped the worker's event loop (`loop.stop()`), which is not its own; the worker goes on"
        else:
            what = "sys.exit" if isinstance(error, SystemExit) else type(error).__name__
            text = f"{what} in user code, in a task or callback that it started on the worker's loop: only that has ended\n{told_of(error)}"
        for line in self._throttle.pass_on("", lambda: text, self._clock.now()):
            _log.error("%s", line)
            self._control.send(Problem("", -1, line))

    def _fail(self, error: BaseException) -> None:
        """Something of ours raised: say so, and end."""
        self._control.send(Problem("", -1, "something of its own failed, so it ends:\n" + _told(error)))
        self._control.flush(1.0)
        fail(error)

    # ---- control

    def _on_control(self, message: ToWorker) -> None:
        try:
            self._obey(message)
        except BaseException as error:  # noqa: BLE001 - the daemon's door: half carried out is worse than ended
            _log.error("%s could not be carried out", type(message).__name__)
            self._fail(error)

    def _obey(self, message: ToWorker) -> None:
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
            self._control.send(Counts(message.k, self._counts()))
            self._is_told = True
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
        except BaseException as error:  # noqa: BLE001 - the daemon's door: told to the controller, who tells the user; sys.exit too
            self._control.send(Hello("", 0, error=_told(error)))
            return
        collect_seldom()
        host, port = self._listener.host, self._listener.port
        self._control.send(Hello(host, port, unmovable_tasks))
        self._watch.telling = True
        self._loop.call_later(PULSE_SECONDS, self._pulse)
        self._steps.wake()

    def _build(self, blueprint: Blueprint, launch: Launch) -> None:
        self._incarnation = launch.incarnation
        settings = Settings.from_config(blueprint.config)
        rows = RowWrapper(settings.wire_pickle, settings.max_frame_bytes)
        self._worker = Worker(
            blueprint,
            launch.worker,
            launch.workers,
            clock=self._clock,
            ids=IdSource(),
            reports=ControlReports(self._control.send),
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
                await dial(address.host, address.port, self._endpoint, worker, self._accept)
            except Exception as error:  # noqa: BLE001 - told to the controller, which decides
                self._control.send(Linked(f"worker {worker}: {error}"))
                return
        self._control.send(Linked())

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
            self._control.send(Counts(0, self._counts()))

    def _counts(self) -> WorkerCounts:
        counts = take_counts(self._worker, self._incarnation)
        counts.cpu_seconds = process_seconds()
        return counts

    def _tell_last(self) -> None:
        """Close the worker, and say what was counted, and where spouts were when they closed: another one goes on there."""
        counts = self._counts()
        self._control.send(Counts(0, counts))  # first: what closes may never come back
        self._worker.close()
        closed = positions_of(self._worker)
        if closed != counts.positions:
            counts.positions = closed
            self._control.send(Counts(0, counts))

    def _close(self) -> None:
        if self._listener is not None:  # else it has not begun
            self._listener.close()
            self._tell_last()
        self._control.send(Closed())
        self.done = True
        self._loop.stop()


def _told(error: BaseException) -> str:
    """With our own frames: what is told here may be our fault. Of an emit that is refused the user's line."""
    if isinstance(error, EmitError):
        return told_of(error)
    return plain(str(error) if isinstance(error, PaspsError) else "".join(traceback.format_exception(error)).rstrip())


def run_worker(make: Callable[[], WorkerProcess]) -> None:
    """Run a worker until its controller says that it is over. What user code lets out of the event loop does not end it.

    A real interrupt is not raised here, so one that comes out of the loop is user code's: `main` lets the parent deal with
    Ctrl-C, and where it is as Python has it, in a task of Spark, it ends the process.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_by_signal)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        loop = runner.get_loop()

        async def begin() -> WorkerProcess:
            process = make()
            process.start()
            return process

        process = loop.run_until_complete(begin())
        # no task runs all this: user code that cancels whatever it finds on the loop must not end the worker
        while not process.done:
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                process.escaped(error)
            else:
                if not process.done:
                    process.escaped(None)
        process.finish()


def _end_by_signal(number: int, _: object) -> None:
    logging.shutdown()
    os._exit(128 + number)


def main() -> None:
    """Entry point of the process."""
    begin_logging()
    faulthandler.enable()  # a crash in C says where, in the log
    # Ctrl-C goes to the whole terminal, and `timeout` sends SIGTERM to the whole group; the parent drains, and ends its workers
    # when that is done. A handler, since what is ignored or blocked would be so in processes that user code starts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    # a number as low as can be: a parent with many open files gives one above 1023, which `select` does not take
    with socket.socket(fileno=int(sys.argv[1])) as given:
        control = given.dup()

    run_worker(partial(WorkerProcess, control))
    logging.shutdown()
    # threads of blocking bolts may still wait for something; they must not keep the process
    os._exit(0)


if __name__ == "__main__":
    main()
