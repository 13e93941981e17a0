"""One topology of a cluster, from the package to the summary. It obeys what is wanted in the store, and says there how it is.

The order of things: package -> Spark's application and the gate -> workers -> running -> drained -> summary. What ends it is an
`Ending`; who waits for one is told by `_news`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import signal
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.clock import Clock, Deadline
from pasps.cluster.driver.driver_verbs import add_driver_verbs
from pasps.cluster.driver.ending import CRASHED, ENDED, NOT_STARTED, Ending, encoded_summary, summary_of
from pasps.cluster.driver.latest import Latest, tell_failure
from pasps.cluster.driver.load_package import load_package
from pasps.cluster.driver.options import DriverOptions, Secrets
from pasps.cluster.driver.places import DEFAULT_WORKERS, Parts, follow_places, spark_job
from pasps.cluster.driver.standing import StoreStanding
from pasps.cluster.driver.store_keeper import StoreKeeper
from pasps.cluster.driver.wanted import WantedState
from pasps.cluster.launch.spark_java import SparkJava
from pasps.cluster.launch.spark_launcher import SparkLauncher
from pasps.cluster.package.parts import split
from pasps.cluster.package.unpack import Unpacked, unpack
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Store, StoreUnavailableError
from pasps.cluster.store.submission import signed_submission
from pasps.config import RuntimeSettings
from pasps.control.news import News
from pasps.control.statistics import left_over
from pasps.errors import BrokenError, ClosedError, ComponentStartError, DrainTimeoutError, InvalidError, PaspsError
from pasps.metrics import Stats
from pasps.topology.control_socket import ControlSocket
from pasps.topology.controller import TopologyController
from pasps.topology.draining import drained
from pasps.topology.elastic import elastic_config, policy_of
from pasps.topology.run_directory import About, RunDirectory
from pasps.topology.run_record import DRAIN_SECONDS, RunState
from pasps.topology.summary import Reason
from pasps.topology.topology_verbs import TopologyVerbs
from pasps.topology.workforce import worker_count
from pasps.worker.enlisting import Gate

_log = logging.getLogger(__name__)

_LAST_WRITE_SECONDS = 30.0


class Driver:
    """States, as in the store: starting -> waiting -> running <-> inactive -> draining -> ended; failed. `run` is called once."""

    def __init__(self, options: DriverOptions, store: Store, secret: Secrets, clock: Clock, java: SparkJava | None = None) -> None:
        """`java` has begun already; None: it is started when it is known for what."""
        self._options, self._store, self._secrets, self._clock, self._java = options, store, secret, clock, java
        self._name = options.topology
        self._door = secret.door
        self._standing = StoreStanding(Latest(store, layout.driver(options.topology), self._failed), options, clock)
        self._ending: Ending | None = None
        self._drain_by = Deadline(clock, 0.0)  # of its ending
        self._news = News()
        self._summary: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._wanted = WantedState(store, options.topology, options.epoch)
        self._controller: TopologyController | None = None
        self._keeper: StoreKeeper | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Until it is over; the exit status of the process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._end, Ending(f"signal {number.name}"))
        try:
            return await self._run()
        except (InvalidError, ComponentStartError) as error:
            _log.error("%s", error)
            await self._standing.last("failed", str(error), _LAST_WRITE_SECONDS)
            # what cannot run would fail again wherever it is started; but what ran before may only miss its database for a while
            ran = self._keeper is not None and self._keeper.resume.version > 0
            return CRASHED if ran and isinstance(error, ComponentStartError) else NOT_STARTED
        except StoreUnavailableError as error:
            _log.error("%s", error)
            return CRASHED
        except PaspsError as error:
            _log.error("%s", error)
            await self._standing.last("failed", str(error), 1.0)
            return CRASHED
        except Exception as error:  # noqa: BLE001 - the daemon's door: what nobody has thought of may be over with the next driver
            _log.exception("%s: its driver failed", self._name)
            await self._standing.last("failed", _failure(error), 1.0)
            return CRASHED
        finally:
            await self._standing.close()
            await asyncio.to_thread(_forget_packages, self._options)

    def _end(self, ending: Ending) -> None:
        """The first that ends it counts, unless a later one is for good, or in more of a hurry."""
        before = self._ending
        if before is None or (ending.for_good and (not before.for_good or ending.drain_seconds < before.drain_seconds)):
            self._ending, self._drain_by = ending, Deadline(self._clock, ending.drain_seconds)
        self._news.tell()

    # ---- from the package to workers

    async def _run(self) -> int:
        await self._take_over()
        entry = await self._store.read(layout.topology(self._name))
        key = self._secrets.submission
        submission = None if entry is None else signed_submission(entry.value, layout.topology(self._name), key)
        if submission is None:
            raise InvalidError(f"there is no submission of {self._name!r} in the store any more")
        unpacked, parts = await asyncio.to_thread(_opened, self._options, submission.sha256)
        blueprint = await asyncio.to_thread(load_package, unpacked, submission)
        keeper = await StoreKeeper.load(self._store, self._name, self._failed)
        self._keeper, secret = keeper, secrets.token_bytes(32)
        gate = Gate(secret)
        address = self._options.advertise, (await gate.open(self._options.bind))[1]
        workers = worker_count(blueprint, DEFAULT_WORKERS)
        job = spark_job(self._options, parts, submission.sha256, blueprint, address, secret)
        bind = RuntimeSettings.from_config(blueprint.config).worker_host or ""
        launcher = SparkLauncher(job, workers, gate, lambda why: self._end(Ending(why)), bind)
        try:
            await launcher.start(self._java)
            return await self._with_workers(blueprint, workers, launcher, keeper, unpacked)
        finally:
            for task in list(self._tasks):
                task.cancel()
            await keeper.close(keep=not self._standing.replaced)
            await launcher.stop()
            await gate.close()

    async def _take_over(self) -> None:
        """Say that this driver is the one; others of this topology see the epoch, and end.

        Raises:
            BrokenError: there is a later one.
        """
        await self._wanted.begin()
        if self._wanted.later is not None:
            self._standing.replaced = True
            raise BrokenError(f"driver {self._wanted.later} of {self._name} is there, this is only {self._options.epoch}")
        self._standing.restart = self._wanted.desired.restart
        self._standing.say("starting", "its driver reads the package and starts an application on Spark")
        await self._store.register(layout.alive(self._name), b'{"epoch": %d}' % self._options.epoch)
        self._keep(self._wanted.follow(self._obey))

    async def _with_workers(
        self, blueprint: Blueprint, workers: int, launcher: SparkLauncher, keeper: StoreKeeper, unpacked: Unpacked
    ) -> int:
        policy = self._standing.policy = policy_of(blueprint)
        about = About(self._name, unpacked.submission.file, workers, dict(unpacked.submission.options), policy)
        with RunDirectory.create(about, self._clock, base=Path(self._options.home)) as run:
            config = elastic_config(blueprint, unpacked.file, (self._options.predictor, self._secrets.predictor))
            controller = TopologyController(blueprint, workers, launcher, self._clock, keeper, config.kept_in(run))
            self._controller, self._standing.directory = controller, run
            verbs = TopologyVerbs(controller, self._standing, self._kill, lambda: self._ending is None or not self._ending.for_good)
            add_driver_verbs(verbs, controller, run.path)
            controller.restarts.tell = self._standing.note
            door = await ControlSocket.listen(self._options.bind, verbs, self._name, self._options.epoch, self._door)
            assert door.address is not None
            self._standing.address = self._options.advertise, door.address[1]
            try:
                return await self._live(controller, launcher, run)
            finally:
                await controller.close()
                await door.close()

    async def _live(self, controller: TopologyController, launcher: SparkLauncher, run: RunDirectory) -> int:
        starting = asyncio.get_running_loop().create_task(controller.start(awake=False))
        starting.add_done_callback(lambda _: self._news.tell())
        launcher.came = self._news.tell
        follow = follow_places(launcher, len(controller.workforce.ids), self._standing.say, self._news, self._clock)
        telling = asyncio.get_running_loop().create_task(follow)
        await self._news.wait_until(lambda: starting.done() or self._ending is not None, None)
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return await self._over({}, None, run)
        starting.result()
        run.enter(RunState.INACTIVE)
        self._standing.say("inactive")
        self._obey()
        self._keep(self._wait_finished(controller))
        await self._news.wait_until(lambda: self._ending is not None, None)
        return await self._wind_up(controller, launcher, run)

    # ---- while it runs

    async def _wait_finished(self, controller: TopologyController) -> None:
        try:
            await controller.wait_finished(None, heed=False)
        except ClosedError:
            if self._ending is None:  # it is only closed for one, and without one nobody waits for the end any more
                raise
            return
        self._end(Ending(Reason.FINISHED, for_good=True, code=ENDED))

    def _obey(self) -> None:
        """Do what is wanted, as far as it is not so yet."""
        wanted, controller = self._wanted.desired, self._controller
        seconds = DRAIN_SECONDS if wanted.wait is None else wanted.wait
        if self._wanted.later is not None:
            self._standing.replaced = True
            if self._keeper is not None:
                self._keep(self._keeper.close(keep=False))
            self._end(Ending(f"driver {self._wanted.later} has taken over"))
        elif wanted.state == "killed":
            self._end(Ending(Reason.STOPPED, seconds, for_good=True, code=ENDED))
        elif wanted.restart > self._standing.restart:
            self._end(Ending(Reason.RESTARTED, seconds, code=ENDED))
        elif controller is not None and controller.state == "RUNNING" and self._ending is None:
            state = RunState.RUNNING if wanted.state == "active" else RunState.INACTIVE
            if self._standing.state is not state:
                controller.set_awake(state is RunState.RUNNING)
                self._standing.enter(state)

    async def _kill(self, wait: float | None) -> Mapping[str, Any]:
        self._end(Ending(Reason.STOPPED, DRAIN_SECONDS if wait is None else wait, for_good=True, code=ENDED))
        return await asyncio.shield(self._summary)

    # ---- the end

    async def _wind_up(self, controller: TopologyController, launcher: SparkLauncher, run: RunDirectory) -> int:
        assert self._ending is not None
        _log.info("%s ends: %s", self._name, self._ending.reason)
        left: dict[str, int] = {}
        stats: Stats | None = None
        if self._ending.code == ENDED:
            self._standing.enter(RunState.DRAINING)
            if not self._ending.for_good:
                self._standing.say("draining", "it is restarted then")
            if self._ending.reason != Reason.FINISHED:
                try:
                    await drained(controller, lambda: self._drain_by, self._news)
                except DrainTimeoutError as error:
                    left = dict(error.left)
            stats = await controller.stats()
            left = left or (left_over(stats) if self._ending.reason != Reason.FINISHED else {})
        launcher.retire()
        await controller.close()
        return await self._over(left, stats, run)

    async def _over(self, left: Mapping[str, int], stats: Stats | None, run: RunDirectory) -> int:
        assert self._ending is not None
        summary = summary_of(self._name, self._ending.reason, stats, left, self._controller, str(run.path))
        run.finish(summary)
        if self._ending.for_good:
            last = Latest(self._store, layout.summary(self._name), self._failed)
            last.put(encoded_summary(summary))
            # without it the topology would be started again; there is nothing else to do but to wait for the store
            while not await last.flush(_LAST_WRITE_SECONDS):
                _log.warning("%s has ended, and waits for the store to take its summary", self._name)
            await last.close()
        if not self._summary.done():
            self._summary.set_result(summary)
        await self._standing.last("ended", self._ending.reason, _LAST_WRITE_SECONDS if self._ending.for_good else 1.0)
        return self._ending.code

    def _keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Have it done meanwhile. What it raises ends this driver: one that hears nothing, or sees no end, must not live on."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        tell_failure(task, self._failed)

    def _failed(self, error: BaseException) -> None:
        """Of what is done meanwhile."""
        _log.error("%s: a task of its driver failed", self._name, exc_info=error)
        self._end(Ending(_failure(error)))


def _failure(error: BaseException) -> str:
    return f"its driver failed, see its log: {type(error).__name__}: {error}"


def _opened(options: DriverOptions, sha256: str) -> tuple[Unpacked, Parts]:
    """The package for this process, and in the parts for workers."""
    _forget_packages(options)
    directory, package = Path(options.home) / f"package-{options.epoch}", Path(options.package)
    unpacked = unpack(package, directory / "code", sha256=sha256)
    return unpacked, split(package, directory / "parts")


def _forget_packages(options: DriverOptions) -> None:
    """Remove what was unpacked for this driver, and for those before it that could not do so."""
    for old in Path(options.home).glob("package-*"):
        number = old.name.partition("-")[2]
        if number.isdecimal() and int(number) <= options.epoch:
            shutil.rmtree(old, ignore_errors=True)
