"""One run from its start to its end: starts, follows, drains, closes. The main thread's; `run` calls it."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass

from pasps.api.blueprint import Blueprint
from pasps.cli.frame import Frames
from pasps.cli.outcome import Ended, Outcome
from pasps.cli.stop import EndNow, StopRequest, signals_blocked
from pasps.cli.view import View
from pasps.clock import Clock, Deadline
from pasps.control.statistics import left_over
from pasps.daemons.local_cluster import LocalCluster, RunningTopology
from pasps.errors import DrainTimeoutError
from pasps.metrics import Stats

_LONGEST_WAIT = 0.1
"""Seconds after which a signal that asks for a drain is seen at the latest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to run, checked."""

    blueprint: Blueprint
    scales: dict[str, int]
    duration: float | None
    drain_seconds: float


def supervise(plan: Plan, view: View, stop: StopRequest, clock: Clock) -> Outcome:
    """Run the plan to its end.

    Raises:
        WorkerStartError: a component failed in `initialize`, or a process did not start.
        UnmovableError: a task that would have to move for --scale cannot.
        EndNow: a signal came before it ran.
    """
    view.say("starting")
    with signals_blocked():
        cluster = LocalCluster()
    with cluster:
        running = cluster.submit(plan.blueprint, active=False)
        for component, count in plan.scales.items():
            running.set_active(component, count)
        stop.be_gentle()
        running.activate()
        view.say("running; Ctrl-C drains")
        return _Supervisor(plan, view, stop, clock, running).run()


class _Supervisor:
    """Follows a topology that runs."""

    def __init__(self, plan: Plan, view: View, stop: StopRequest, clock: Clock, running: RunningTopology) -> None:
        self._plan, self._view, self._stop, self._clock, self._running = plan, view, stop, clock, running
        self._workers = len(running.workers)
        self._frames = Frames(plan.blueprint, self._workers)
        self._lost = 0
        self._look_at = clock.now()
        self._stats: Stats
        self._look()

    def run(self) -> Outcome:
        """1. follow, 2. drain unless it finished, 3. take the last numbers, 4. close every instance."""
        try:
            ended = self._follow()
            left = {} if ended is Ended.FINISHED else self._drain()
            self._look()
            outcome = self._outcome(ended, left)
            self._view.say("closing")
            self._running.kill(wait=0.0)
        except EndNow as now:
            outcome = self._outcome(Ended.KILLED, left_over(self._stats), now.number)
            self._kill_workers()
        return outcome

    def _follow(self) -> Ended:
        deadline = Deadline(self._clock, self._plan.duration)
        while True:
            self._look_if_due()
            if self._stop.asked is not None:
                return Ended.INTERRUPTED if self._stop.asked == signal.SIGINT else Ended.TERMINATED
            if deadline.expired():
                return Ended.DURATION
            left = deadline.remaining()
            if self._running.wait_finished(min(_LONGEST_WAIT, self._until_look(), _LONGEST_WAIT if left is None else left)):
                return Ended.FINISHED

    def _drain(self) -> dict[str, int]:
        """Drain while the view goes on; returns what is left."""
        self._view.say("draining; Ctrl-C ends at once")
        left: dict[str, int] = {}
        failures: list[Exception] = []

        def work() -> None:
            try:
                self._running.drain(self._plan.drain_seconds)
            except DrainTimeoutError as error:
                # a worker that does not answer has no count to show
                left.update(error.left or {"workers that do not answer": self._workers})
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

    def _until_look(self) -> float:
        return max(0.0, self._look_at - self._clock.now())

    def _look_if_due(self) -> None:
        if not self._until_look():
            self._look()

    def _look(self) -> None:
        workers = self._running.workers
        self._stats = self._running.stats()
        self._lost = max(self._lost, sum(worker.incarnation for worker in workers) - len(workers) + self._workers - len(workers))
        self._frame = self._frames.next(self._stats, len(workers), self._running.errors)
        self._view.show(self._frame)
        self._look_at = self._clock.now() + self._view.interval

    def _outcome(self, ended: Ended, left: dict[str, int], number: int | None = None) -> Outcome:
        return Outcome(self._plan.blueprint.name, ended, self._frame, self._running.errors, left, self._lost, number)

    def _kill_workers(self) -> None:
        """A `process` that does not return would hold up the orderly end."""
        for worker in self._running.workers:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
