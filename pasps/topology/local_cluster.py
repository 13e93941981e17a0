"""`LocalCluster`: topologies on this machine's processes, for scripts, notebooks, the REPL and tests."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from pasps.api.blueprint import Blueprint
from pasps.api.topology import Topology, blueprint_of
from pasps.clock import SystemClock
from pasps.cluster.launch.launcher import LocalLauncher
from pasps.errors import BusyError, ClosedError, InvalidError
from pasps.metrics import Stats
from pasps.topology.controller import ErrorReport, TopologyController
from pasps.topology.elastic import ElasticConfig, named_config
from pasps.topology.workforce import WorkerInfo, worker_count

T = TypeVar("T")

WORKER_MODULE = "pasps.worker.process"
_SETTLE_SECONDS = 5.0


class RunningTopology:
    """A topology that runs. Every method may be called from any thread, blocks its caller until it is done, and raises
    ClosedError once the topology was killed."""

    def __init__(self, cluster: LocalCluster, controller: TopologyController) -> None:
        self._cluster = cluster
        self._controller = controller

    @property
    def name(self) -> str:
        """The name it was submitted under."""
        return self._controller.blueprint.name

    @property
    def blueprint(self) -> Blueprint:
        """What runs."""
        return self._controller.blueprint

    @property
    def workers(self) -> list[WorkerInfo]:
        """The live worker processes."""
        return self._cluster.call(_now(self._controller.workers))

    @property
    def errors(self) -> list[ErrorReport]:
        """The last exceptions of user code, oldest first; throttled by `topology.max.error.report.per.interval`.

        Among them what happened to workers as a whole: one that died of its own accord, and of what.
        """
        return self._cluster.call(_now(lambda: list(self._controller.errors)))

    @property
    def troubles(self) -> list[str]:
        """What keeps a part of it from working now, a sentence each: workers that die again and again, or do not come back
        from user code."""
        return self._cluster.call(_now(self._controller.troubles))

    def set_active(self, component: str, count: int) -> int:
        """Let `count` replicas of a bolt work; back when every live worker routes by the new table: its version.

        Under a policy the bolt is held there until `release`.

        Raises:
            InvalidError: no such bolt, or a count that is less than 1 or more than its pool; nothing has changed.
            UnmovableError: a keyed task that cannot be pickled would have to move to another worker. Known from its
                `initialize` on: nothing has changed. Only now: it stays where it was, and the rest of the change stands.
            BusyError: a keyed task would have to move that is still on its way since an earlier change; nothing has changed.
            TimeoutExpiredError: a live worker did not confirm within ten seconds; the change stands.
            BrokenError: no worker is alive, and none came back within ten seconds; nothing has changed.
        """
        return self._cluster.call(self._controller.set_active(component, count))

    def release(self, component: str) -> None:
        """Let the policy decide again about a bolt that `set_active` holds.

        Raises:
            InvalidError: no such bolt, or a topology without a policy.
        """
        self._cluster.call(_now(lambda: self._controller.release(component)))

    def stats(self) -> Stats:
        """Exact cumulative counters, from one consistent cut; `complete` is False when a live worker did not answer."""
        return self._cluster.call(self._controller.stats())

    def activate(self) -> None:
        """Let the spouts emit again."""
        self._cluster.call(_now(lambda: self._controller.set_awake(True)))

    def deactivate(self) -> None:
        """Stop the spouts; what is in flight goes on."""
        self._cluster.call(_now(lambda: self._controller.set_awake(False)))

    def drain(self, timeout: float = 30.0) -> Stats:
        """Stop the spouts and wait until nothing queues and nothing is in flight.

        Not the end: `activate` lets it go on, so no bolt's `finish` is called.

        Raises:
            DrainTimeoutError: says what is left, by component.
        """
        return self._cluster.call(self._controller.drain(timeout))

    def wait_finished(self, timeout: float | None = None) -> bool:
        """Wait until every spout has raised EndOfInput, everything is settled, and every bolt has finished; False when the time is over.

        A bolt's `finish` is called when nothing more can come to it, and what it emits is waited for too.

        Raises:
            CrashLoopError: a worker dies again and again (five times within a minute; killed from outside, for five minutes), so that
                this may never be; says of what. The topology goes on, and may be waited for again.
        """
        return self._cluster.call(self._controller.wait_finished(timeout))

    def kill(self, wait: float = 10.0) -> None:
        """Drain for at most `wait` seconds, every bolt's `finish` included, close every instance, end the workers.

        With `wait=0` nothing is drained and no `finish` is called. When it is interrupted, by Ctrl-C for example, it drains no
        further, and ends the workers before it raises. More calls do nothing.
        """
        try:
            self._cluster.call(self._controller.kill(wait))
        except BaseException:
            self._cluster.call(self._controller.close())
            raise
        finally:
            self._cluster.forget(self)

    def on_controller(self, make: Callable[[TopologyController], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the event loop of the topology's controller; back with its result.

        For what joins more to a topology: a control socket, whoever decides on replicas. Works after `kill` too, until the
        cluster is closed.
        """
        return self._cluster.call(make(self._controller))


class LocalCluster:
    """Starts topologies, each on worker processes of its own. A context manager: leaving it kills what still runs.

    The workers end with this process, however it ends. `workers` is how many each topology gets unless its configuration
    says otherwise (`topology.workers`); the default is the number of cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
            raise InvalidError(f"LocalCluster: expected workers of at least 1, got {workers!r}")
        self._workers = workers
        self._running: list[RunningTopology] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pasps-controllers", daemon=True)
        self._closed = False
        self._thread.start()
        atexit.register(self.close)

    def submit(
        self,
        topology: type[Topology] | Blueprint,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        active: bool = True,
        control: ElasticConfig | None = None,
    ) -> RunningTopology:
        """Start a topology; back when all its workers run. With `active=False` its spouts wait for `activate()`.

        Replicas change by hand alone, unless `pasps.policy` names a policy. `control` says more: see `ElasticConfig`.

        Raises:
            TopologyError, ConfigError: the topology or a configuration key is wrong; nothing was started.
            BusyError: a topology of that name runs here.
            WorkerStartError: a component failed in `initialize`, or a process did not start; nothing is left running.
        """
        blueprint = blueprint_of(topology, name, config)
        if any(running.name == blueprint.name for running in self._running):
            raise BusyError(f"a topology named {blueprint.name!r} runs in this cluster; kill it first, or give another name")
        workers = worker_count(blueprint, self._workers)
        controller = self.call(_start(blueprint, workers, active, control or named_config(blueprint)))
        running = RunningTopology(self, controller)
        self._running.append(running)
        return running

    def close(self) -> None:
        """Kill every topology without waiting for its tuples, and end the cluster. More calls do nothing."""
        if self._closed:
            return
        for running in list(self._running):
            running.kill(wait=0.0)
        self._closed = True
        asyncio.run_coroutine_threadsafe(_settled(), self._loop).result()
        atexit.unregister(self.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the controllers' loop from another thread."""
        if self._closed:
            coroutine.close()
            raise ClosedError("the cluster is closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted: do not go on without it
            raise

    def forget(self, running: RunningTopology) -> None:
        """That topology is over."""
        if running in self._running:
            self._running.remove(running)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


async def _start(blueprint: Blueprint, workers: int, active: bool, control: ElasticConfig | None) -> TopologyController:
    controller = TopologyController(blueprint, workers, LocalLauncher(WORKER_MODULE), SystemClock(), control=control)
    await controller.start(awake=active)
    return controller


async def _settled() -> None:
    """Let calls come to their end whose callers were interrupted: a start that was cancelled still has processes to end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=_SETTLE_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


async def _now(function: Any) -> Any:
    return function()
