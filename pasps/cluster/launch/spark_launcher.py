"""Workers as long-lived tasks of Spark, a job of one task for each place: Spark finds room, isolates them, and starts them again.

A worker that Spark has started comes to the driver's gate by itself; whoever launches a place waits for who comes for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pyspark import SparkConf, SparkContext, SparkStageInfo
from pyspark.java_gateway import launch_gateway
from pyspark.util import InheritableThread

from pasps.cluster.launch.launcher import UNTOLD, WorkerHandle
from pasps.cluster.launch.spark_java import SparkJava, fits, take_no_arrays
from pasps.cluster.launch.spark_job import SparkJob, command, environment, properties_text, settings, told
from pasps.errors import BrokenError

_log = logging.getLogger(__name__)

_STUCK_SECONDS = 4.0
"""How long a task may run without its worker coming to the gate, at least, before its job is cancelled; at most twice as long."""
_LOOK_SECONDS = 0.25
_SUBMIT_VARIABLE = "PYSPARK_SUBMIT_ARGS"
_LOOKS_AT_APPLICATION = 8
"""Of so many looks at Spark's process one is at the application too."""
_PAUSE_SECONDS = 0.5


class Arrived(Protocol):
    """A worker process that came to the gate."""

    @property
    def where(self) -> tuple[str, ...]:
        """Its machine, and its executor there."""

    @property
    def cores(self) -> int:
        """How many of its machine's cores it may use."""

    @property
    def pid(self) -> int:
        """Its process there."""

    @property
    def control(self) -> socket.socket:
        """Its connection, on which both have proved who they are."""


class Gate(Protocol):
    """Where workers come."""

    async def take(self, place: str, seconds: float | None = None) -> Arrived | None:
        """Who came for a place; None: nobody in that time."""


class SparkLauncher:
    """States: made -> `start` -> running -> `retire` (no place is filled again) -> `stop`. `launch` belongs to one event loop."""

    def __init__(self, job: SparkJob, workers: int, gate: Gate, died: Callable[[str], None], bind: str = "") -> None:
        """`died` is called on the loop, once, with the reason, when Spark's own process is gone; then nothing works any more.

        `came` may be set: called on the loop whenever a place was filled.
        """
        self.came: Callable[[], None] = lambda: None
        self.sys_path: list[str] = []
        self.bind = bind
        self.job = job
        self._workers = workers
        self._gate = gate
        self._died = died
        self._context: SparkContext
        self._gateway: Any = None
        self._places: dict[str, threading.Thread] = {}
        self._came: dict[str, int] = {}
        self._retired = threading.Event()
        self._watching: asyncio.Task[None] | None = None
        self._checks: set[asyncio.Task[None]] = set()

    async def start(self, java: SparkJava | None = None) -> None:
        """Connect to the Spark master; its application is there then, perhaps without any room.

        `java` has begun before: it is used where the job's settings let it, and ended where they do not.

        Raises:
            BrokenError: Java is missing, or the Spark master does not take it.
        """
        settings(self.job, self._workers)  # what is wrong with it is not Spark's fault
        try:
            self._context = await asyncio.to_thread(self._connect, java)
        except Exception as error:
            await self.stop()
            said = str(error).strip().split("\n")[0]
            raise BrokenError(f"no application of Spark can be started at {self.job.master}: {said or type(error).__name__}") from error
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    def _connect(self, java: SparkJava | None) -> SparkContext:
        wanted = settings(self.job, self._workers)
        conf = SparkConf(loadDefaults=True).setAll(list(wanted.items()))
        if java is not None and not fits(self.job.conf):
            java.end()
            java = None
        self._gateway = _launched(wanted) if java is None else java.gateway()
        take_no_arrays(self._gateway)
        return SparkContext(gateway=self._gateway, conf=conf)

    async def launch(self, worker: str) -> WorkerHandle:
        """See `Launcher`: waits until Spark has room for it, however long that takes."""
        if worker not in self._places and not self._retired.is_set():
            thread = InheritableThread(target=self._keep_filled, args=(worker,), daemon=True, name=f"place {worker}")
            self._places[worker] = thread
            thread.start()
        arrived = await self._gate.take(worker)
        assert arrived is not None
        self._came[worker] = self._came.get(worker, 0) + 1
        self.came()
        return _SparkWorker(arrived, partial(self._ended, worker, self._came[worker]))

    def places_filled(self) -> int:
        """How many places somebody came for so far."""
        return len(self._came)

    async def places_found(self) -> int:
        """How many places Spark has found room for: a worker came from them, or is on its way."""
        return await asyncio.to_thread(lambda: sum(self._task_runs(place) for place in self._places))

    async def executors(self) -> int:
        """How many executors Spark has started for it."""
        # the driver's own side counts as one
        return await asyncio.to_thread(lambda: int(self._context._jsc.sc().getExecutorMemoryStatus().size()) - 1)  # noqa: SLF001

    async def failed_tasks(self) -> int:
        """How many tasks of places that nobody came from have failed: then it is not room that is missing."""
        return await asyncio.to_thread(lambda: sum(stage.numFailedTasks for place in self._places for stage in self._stages(place)))

    def retire(self) -> None:
        """Whoever ends from now on has no successor."""
        self._retired.set()

    async def stop(self) -> None:
        """End the application, and all that still runs in it. More calls do nothing."""
        self.retire()
        for task in (self._watching, *self._checks):
            if task is not None:
                task.cancel()
        self._watching = None
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            await asyncio.to_thread(self._end, gateway)

    def _end(self, gateway: Any) -> None:
        ender = threading.Thread(target=self._stop_context, daemon=True)
        ender.start()
        ender.join(10.0)
        gateway.proc.stdin.close()  # Spark's process ends with it
        try:
            gateway.proc.wait(5.0)
        except Exception:  # noqa: BLE001 - it is stuck, or something else waited for it: it must not be left
            gateway.proc.kill()

    def _stop_context(self) -> None:
        try:
            self._context.stop()
        except Exception as error:  # noqa: BLE001 - Spark's process may be gone already; it is ended in any case
            _log.debug("Spark's context did not stop: %s", error)

    # ---- places

    def _keep_filled(self, place: str) -> None:
        """On the place's own thread: one job after the other, each as long as Spark can keep its only task alive."""
        java = self._context._jsc  # noqa: SLF001 - Python's own `pipe` needs a process of PySpark's beside each of these
        rows = self._gateway.jvm.java.util.ArrayList()
        rows.add(told(self.job, place))
        while not self._retired.is_set():
            try:
                self._context.setJobGroup(place, f"worker {place}", interruptOnCancel=True)
                java.parallelize(rows, 1).pipe(command(self.job), environment(self.job)).count()
            except Exception as error:  # noqa: BLE001 - cancelled, or Spark gave it up: the place is filled again
                if not self._retired.is_set():
                    _log.warning("the job of place %s ended: %s", place, str(error).strip().split("\n")[0])
            self._retired.wait(_PAUSE_SECONDS)

    def _ended(self, place: str, number: int) -> None:
        """That worker was told to end: see to it that the place gets free, also when it cannot hear."""
        if not self._retired.is_set():
            task = asyncio.get_running_loop().create_task(self._cancel_if_stuck(place, number))
            self._checks.add(task)
            task.add_done_callback(self._checks.discard)

    async def _cancel_if_stuck(self, place: str, number: int) -> None:
        """A task that runs, and whose worker does not come for so long, is one that does not hear. One that waits for room is none."""
        ran = False
        while self._came.get(place) == number and not self._retired.is_set():
            await asyncio.sleep(_STUCK_SECONDS)
            runs = await asyncio.to_thread(self._task_runs, place)
            if ran and runs and self._came.get(place) == number and not self._retired.is_set():
                _log.warning("place %s has a task, but no worker came from it for %g s: it is started again", place, _STUCK_SECONDS)
                await asyncio.to_thread(self._context.cancelJobGroup, place)
                return
            ran = runs

    def _task_runs(self, place: str) -> bool:
        """Whether Spark has found a place for the place's task."""
        return any(stage.numActiveTasks > 0 for stage in self._stages(place))

    def _stages(self, place: str) -> list[SparkStageInfo]:
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(place)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return [stage for stage in stages if stage is not None]

    async def _watch(self) -> None:
        """Spark's own process: with it the application is gone, and Spark ends every worker."""
        process, looks = self._gateway.proc, 0
        while process.poll() is None:
            await asyncio.sleep(_LOOK_SECONDS)
            looks += 1
            if looks % _LOOKS_AT_APPLICATION == 0 and await asyncio.to_thread(self._is_stopped):
                self._died("Spark has ended the application")
                return
        self._died(f"Spark's process {process.pid} ended with status {process.returncode}")

    def _is_stopped(self) -> bool:
        """Whether Spark has stopped the application behind our back: its process lives on then."""
        try:
            return bool(self._context._jsc.sc().isStopped())  # noqa: SLF001 - Python's side does not tell
        except Exception as error:  # noqa: BLE001 - its process has just gone, and is looked at anyway
            _log.debug("Spark cannot be asked: %s", error)
            return False


class _SparkWorker:
    """A worker that came from somewhere; see `WorkerHandle`. It ends by itself when its control connection does."""

    def __init__(self, arrived: Arrived, ended: Callable[[], None]) -> None:
        self._arrived = arrived
        self._ended: Callable[[], None] | None = ended

    @property
    def pid(self) -> int:
        return self._arrived.pid

    @property
    def where(self) -> tuple[str, ...]:
        return self._arrived.where

    @property
    def cores(self) -> int:
        return self._arrived.cores

    @property
    def control(self) -> socket.socket:
        return self._arrived.control

    def kill(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def reap(self) -> int | None:
        return UNTOLD

    def cpu_seconds(self) -> float | None:
        return None

    def oom_kills(self) -> int | None:
        return None


def _launched(wanted: Mapping[str, str]) -> Any:
    """A Java process by Spark's scripts, for an application with these settings."""
    # not on Spark's command line, which everybody on this machine can read: keys that a topology was submitted with may be secret
    with tempfile.TemporaryDirectory(prefix="pasps-spark-") as directory:
        file = Path(directory) / "spark.properties"
        file.write_text(properties_text(wanted), "ascii")
        given = os.environ.get(_SUBMIT_VARIABLE)
        os.environ[_SUBMIT_VARIABLE] = f"--properties-file {shlex.quote(str(file))} --load-spark-defaults {given or 'pyspark-shell'}"
        try:
            return launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            os.environ.pop(_SUBMIT_VARIABLE)
            if given is not None:
                os.environ[_SUBMIT_VARIABLE] = given
