"""One run from its start to its end: starts, follows, drains, closes. The main thread's; `run` calls it.

Its verbs answer on the socket in its directory from the moment it was submitted until its summary is known.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from pasps.api.blueprint import Blueprint
from pasps.cli.stop import EndNow, StopRequest, signals_blocked
from pasps.cli.views.frame import Frames
from pasps.cli.views.outcome import Outcome
from pasps.cli.views.view import View, summary_object
from pasps.clock import Clock, Deadline
from pasps.control.decision_log import Restarts
from pasps.control.news import News
from pasps.control.statistics import left_over
from pasps.errors import BrokenError, DrainTimeoutError
from pasps.metrics import Stats
from pasps.topology.control_socket import ControlSocket
from pasps.topology.controller import TopologyController
from pasps.topology.draining import drained
from pasps.topology.elastic import ElasticConfig
from pasps.topology.local_cluster import LocalCluster, RunningTopology
from pasps.topology.run_directory import RunDirectory
from pasps.topology.run_record import RunState
from pasps.topology.status import elastic_view, shapes
from pasps.topology.summary import Reason
from pasps.topology.topology_verbs import TopologyVerbs, add_explain

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 0.1
"""Seconds after which a signal that asks for a drain is seen at the latest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to run, checked."""

    blueprint: Blueprint
    scales: dict[str, int]
    duration: float | None
    drain_seconds: float
    control: ElasticConfig | None = None
    """Who decides on replicas; None: as `LocalCluster.submit` has it."""


def supervise(plan: Plan, view: View, stop: StopRequest, clock: Clock, directory: RunDirectory) -> Outcome:
    """Run the plan to its end, which is written into the directory.

    Raises:
        WorkerStartError: a component failed in `initialize`, or a process did not start.
        UnmovableError: a task that would have to move for --scale cannot.
        EndNow: a signal came before it ran.
    """
    view.say(f"run directory {directory.path}")
    view.say("starting")
    with signals_blocked():
        cluster = LocalCluster()
    with cluster:
        running = cluster.submit(plan.blueprint, active=False, control=plan.control)
        with Served(running, directory, stop, clock) as served:
            for component, count in plan.scales.items():
                running.set_active(component, count)
            stop.be_gentle()
            directory.enter(RunState.RUNNING)  # first: a run that may have emitted leaves its directory
            running.activate()
            view.say("running; Ctrl-C drains")
            outcome = _Supervisor(plan, view, stop, clock, running, directory, served.news).run()
            stop.ignore()
            summary = summary_object(outcome)
            directory.finish(summary)
            served.tell(summary)
    return outcome


class _Supervisor:
    """Follows a topology that runs."""

    def __init__(
        self, plan: Plan, view: View, stop: StopRequest, clock: Clock, running: RunningTopology, directory: RunDirectory, news: News
    ) -> None:
        """`news` tells, on the controller's loop, that another terminal has asked for the end."""
        self._plan, self._view, self._stop, self._clock = plan, view, stop, clock
        self._running, self._directory, self._news = running, directory, news
        self._workers = len(self._running.workers)
        self._frames = Frames(shapes(plan.blueprint), self._workers)
        self._lost, self._restarts = 0, Restarts()
        self._finishing = ""
        self._look_at = clock.now()
        self._stats: Stats
        self._look()

    def run(self) -> Outcome:
        """1. follow, 2. drain unless it finished, 3. take the last numbers, 4. close every instance."""
        try:
            ended = self._follow()
            left = {} if ended is Reason.FINISHED else self._drain()
            self._look()
            outcome = self._outcome(ended, left)
            self._view.say("closing")
            self._running.kill(wait=0.0)
        except EndNow as now:
            outcome = self._outcome(Reason.KILLED, left_over(self._stats), now.number)
            self._kill_workers()
        return outcome

    def _follow(self) -> Reason:
        deadline = Deadline(self._clock, self._plan.duration)
        while True:
            self._look_if_due()
            if self._stop.asked is not None:
                return Reason.INTERRUPTED if self._stop.asked == signal.SIGINT else Reason.TERMINATED
            if self._stop.commanded:
                return Reason.STOPPED
            if deadline.expired():
                return Reason.DURATION
            left = deadline.remaining()
            wait = min(_LONGEST_WAIT, self._until_look(), _LONGEST_WAIT if left is None else left)
            # a worker that cannot live is shown, and what is well goes on: whoever watches decides when to end it
            if self._running.on_controller(lambda controller, wait=wait: controller.wait_finished(wait, heed=False)):  # type: ignore[misc]
                return Reason.FINISHED

    def _drain(self) -> dict[str, int]:
        """Drain while the view goes on; returns what is left."""
        self._directory.enter(RunState.DRAINING)  # first: who reads that it drains may ask at once
        self._view.say("draining; Ctrl-C ends at once")
        left: dict[str, int] = {}
        failures: list[Exception] = []

        async def drain(controller: TopologyController) -> None:
            await drained(controller, lambda: self._stop.drain_by(self._plan.drain_seconds), self._news)

        def work() -> None:
            try:
                self._running.on_controller(drain)
            except DrainTimeoutError as error:
                left.update(error.left or self._left_over())
            except Exception as error:  # noqa: BLE001 - raised again on the main thread
                failures.append(error)

        # a daemon: when a signal ends the run, nobody waits for it
        thread = threading.Thread(target=work, name="drain", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(min(_LONGEST_WAIT, self._until_look()))
            self._look_if_due()
        if failures:
            raise failures[0]
        return left

    def _left_over(self) -> dict[str, int]:
        stats = self._running.stats()
        # a worker that does not answer has no count to show
        return left_over(stats) if stats.complete else {"workers that do not answer": self._workers}

    def _until_look(self) -> float:
        return max(0.0, self._look_at - self._clock.now())

    def _look_if_due(self) -> None:
        if not self._until_look():
            self._look()

    def _look(self) -> None:
        workers = self._running.workers
        self._stats = self._running.stats()
        errors, troubles = self._running.errors, self._running.troubles
        self._lost, self._restarts, restarting, elastic = self._running.on_controller(_said)
        self._frame = self._frames.next(self._stats, len(workers), errors, elastic, troubles, restarting)
        self._view.show(self._frame)
        finishing = ", ".join(name for name, component in self._stats.components.items() if component.finishing)
        if finishing and finishing != self._finishing:
            self._view.say(f"waiting for finish() of {finishing}")
        self._finishing = finishing or self._finishing
        self._look_at = self._clock.now() + self._view.interval

    def _outcome(self, ended: Reason, left: dict[str, int], number: int | None = None) -> Outcome:
        name, run_dir = self._plan.blueprint.name, str(self._directory.path)
        return Outcome(name, ended, self._frame, self._running.errors, left, self._lost, number, run_dir, self._restarts)

    def _kill_workers(self) -> None:
        """A `process` that does not return would hold up the orderly end."""
        for worker in self._running.workers:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


async def _said(controller: TopologyController) -> tuple[int, Restarts, str, Mapping[str, Any] | None]:
    """How many workers died, how often all were started anew, what is done for that now, and what whoever decides says."""
    return controller.lost, controller.restarts.so_far, controller.restarts.under_way, elastic_view(controller)


class Served:
    """The verbs of a run on its socket. A context manager of the main thread.

    Leaving it gives the answers that are due and removes the socket. `news` tells that somebody has asked for the end.
    """

    def __init__(self, running: RunningTopology, directory: RunDirectory, stop: StopRequest, clock: Clock) -> None:
        self.news = News()
        self._running, self._directory, self._stop, self._clock = running, directory, stop, clock
        self._summary: Future[Mapping[str, Any]] = Future()
        self._socket: ControlSocket

    def tell(self, summary: Mapping[str, Any]) -> None:
        """It is over: whoever asked for the end gets this."""
        self._summary.set_result(summary)

    def __enter__(self) -> Self:
        self._running.on_controller(self._open)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._running.on_controller(lambda _: self._socket.close())

    async def _open(self, controller: TopologyController) -> None:
        verbs = TopologyVerbs(controller, self._directory, self._kill)
        add_explain(verbs, self._directory.path)
        controller.restarts.tell = self._directory.note
        try:
            self._socket = await ControlSocket.open(self._directory.socket_path, verbs)
        except OSError as inside:
            _log.debug("%s: %s", self._directory.socket_path, inside)
            try:
                self._socket = await ControlSocket.open(self._directory.move_socket(), verbs)
            except OSError as error:
                raise BrokenError(f"no control socket can be opened, in {self._directory.path} or elsewhere: {error}") from error

    async def _kill(self, wait: float | None) -> Mapping[str, Any]:
        self._stop.command(None if wait is None else Deadline(self._clock, wait))
        self.news.tell()
        # several may wait, and one that leaves must not take the answer from the others
        return await asyncio.shield(asyncio.wrap_future(self._summary))
