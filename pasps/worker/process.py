"""The process of one worker: an event loop around `ControlledWorker`. Run as `python -m pasps.worker.process FD`."""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pasps.clock import SystemClock
from pasps.garbage import collect_seldom
from pasps.runtime.reports import Throttle, told_of
from pasps.transport.tcp import Endpoint, Listener, dial, listen
from pasps.worker.controlled import Accept, ControlledWorker, in_words
from pasps.worker.event_loop import new_event_loop
from pasps.worker.link import ControllerLink
from pasps.worker.loop_watch import LoopWatch
from pasps.worker.messages import Address, FromWorker, Hello, Launch, Problem, ReadLog, ToWorker
from pasps.worker.place import address_to_bind, begin_logging, log_text
from pasps.worker.step_loop import fail

_log = logging.getLogger("pasps.worker")


class _TcpNetwork:
    """See `Network`: `reached_by` is the address by which the controller reaches this worker."""

    def __init__(self, reached_by: str) -> None:
        self._reached_by = reached_by

    async def listen(self, wanted: str, endpoint: Endpoint, accept: Accept) -> Listener:
        return await listen(address_to_bind(wanted, self._reached_by), 0, endpoint, accept)

    async def dial(self, address: Address, endpoint: Endpoint, worker: str, accept: Accept) -> None:
        await dial(address.host, address.port, endpoint, worker, accept)


class WorkerProcess:
    """Made and run on the event loop that `run_worker` makes."""

    def __init__(self, control: socket.socket, log_file: Path | None = None) -> None:
        """`log_file` is where the process writes; None: to its parent's terminal."""
        self._loop = asyncio.get_running_loop()
        self._clock = SystemClock()
        self._control = ControllerLink(control, self._on_control, self._clock)
        self._watch = LoopWatch(self._control, self._clock)
        reached_by = control.getsockname()[0] if control.family in (socket.AF_INET, socket.AF_INET6) else "127.0.0.1"
        self._worker = ControlledWorker(self._loop, self._clock, self._say, _TcpNetwork(reached_by), self._fail)
        self._throttle = Throttle(10.0, 5)
        self._log_file = log_file

    @property
    def done(self) -> bool:
        """Whether the controller has said that it is over."""
        return self._worker.over

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
        if self._worker.broken:
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
        self._control.send(Problem("", -1, "something of its own failed, so it ends:\n" + in_words(error)))
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
        if isinstance(message, ReadLog):
            self._control.send(log_text(self._log_file, message))
            return
        if isinstance(message, Launch) and message.sys_path:
            sys.path[:] = message.sys_path
        self._worker.obey(message)
        if self._worker.over:
            self._loop.stop()

    def _say(self, message: FromWorker) -> None:
        """What the worker says to its controller."""
        is_ready = isinstance(message, Hello) and not message.error
        if is_ready:
            collect_seldom()
        self._control.send(message)
        self._watch.telling = self._watch.telling or is_ready


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
