"""A real cluster on this machine, on loopback: ZooKeeper, Spark's master and workers, the predictor, and a pasps master.

Its processes are detached: they go on when whoever brought them up ends, and are found again through HOME/cluster.json.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pasps.clock import Clock, Deadline, SystemClock
from pasps.cluster.dev.bring_up import BringUp
from pasps.cluster.dev.home import ClusterHome
from pasps.cluster.dev.parts import Part, Tools, check_ports, find_tools, part_environment, part_named, parts_of, token_variables
from pasps.cluster.dev.processes import Children, ProcessRef, end, marked, wait_gone
from pasps.cluster.dev.state import ClusterState, read_state, write_state
from pasps.cluster.dev.take_down import GRACE_SECONDS, end_marked, kill_topologies
from pasps.cluster.dev.wanted import WantedCluster, check_same, new_state, with_new_secrets
from pasps.cluster.launch.java import java_path
from pasps.cluster.launch.spark_daemons import defaults_text, find_spark
from pasps.cluster.launch.spark_java import archive_of
from pasps.cluster.store.tokens import TOKEN_VARIABLE
from pasps.errors import BrokenError, InvalidError

START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part at the moment of the look. `problem`: why it is not up; None when it is."""

    name: str
    address: str
    pid: int | None
    alive: bool
    problem: str | None


@dataclass(frozen=True, slots=True)
class TakenDown:
    """What a cluster's end has ended: topologies by name, and the number of processes."""

    topologies: list[str]
    processes: int


class DevCluster:
    """One cluster, by its home. Calls block. For one thread; other processes may use the same home at the same time.

    A context manager: leaving it brings the cluster down.
    """

    def __init__(self, home: Path, told: Callable[[str], None] | None = None, clock: Clock | None = None) -> None:
        """Nothing is done yet. `told` gets a line for each thing that has happened."""
        self._home = ClusterHome(home)
        self._told = told or (lambda line: None)
        self._clock = clock or SystemClock()
        self._children = Children()

    @property
    def home(self) -> Path:
        """Its directory, absolute and without links."""
        return self._home.path

    @property
    def state(self) -> ClusterState:
        """Where it answers, its secrets, its processes.

        Raises:
            InvalidError: it is not up.
        """
        state = read_state(self.home)
        if state is None:
            raise InvalidError(f"no cluster is up in {self.home}; `pasps cluster up` brings one up")
        return state

    @property
    def parts(self) -> Mapping[str, ProcessRef]:
        """The process of each part that was started, dead or alive."""
        return self.state.processes

    def log(self, part: str) -> Path:
        """The file with the output of that part."""
        return self._home.log(part)

    def environment(self) -> dict[str, str]:
        """An environment for more processes of this cluster, a second master say: `down` will end them too."""
        return part_environment(find_spark(), self.home, os.environ, token_variables(self.state))

    def up(self, wanted: WantedCluster | None = None, seconds: float = START_SECONDS) -> list[str]:
        """Start all parts, or those that are dead; the names of those, none when all were up. Back when all answer.

        A part that is started again keeps its address and its data. The token is a new one whenever no master lives that knows the
        old one, that of the predictor when nothing of the cluster lives. When it fails, or is interrupted, what it has started is ended.

        Raises:
            InvalidError: what is wanted is not what is up, a port is taken, or the home is not usable.
            ClusterStartError: a part did not come up.
            BrokenError: Java or packages are missing, or the home cannot be written to.
            BusyError: somebody else brings it up or down right now.
        """
        wanted, tools = wanted or WantedCluster(), find_tools()
        with self._home.locked():
            self._children.reap()
            before = read_state(self.home)
            if before is None:
                self._clear_old()
                state = new_state(wanted)
            else:
                check_same(before, wanted)
                lives = bool(marked(self.home)) or any(process.alive for process in before.processes.values())
                knows_token = _is_alive(before, "master") or bool(marked(self.home, f"{TOKEN_VARIABLE}={before.token}"))
                state = with_new_secrets(before, lives=lives, knows_token=knows_token)
            parts = parts_of(self.home, state)
            dead = [part for part in parts if not _is_alive(state, part.name)]
            # one that was killed just now may still hold its port
            wait_gone([state.processes[part.name] for part in dead if part.name in state.processes], Deadline(self._clock, GRACE_SECONDS))
            check_ports(dead)
            try:
                self._start(parts, tools, state, seconds)
            except BaseException:
                self._give_up(before, dead)
                raise
            return [part.name for part in dead]

    def quicken(self) -> bool:
        """Have Spark's classes kept for the next starts of topologies, meanwhile; False when they are already. See `java_archive`."""
        java, spark = java_path(), find_spark()
        if java is None or archive_of(java, spark).is_file():
            return False
        environment = part_environment(spark, self.home, os.environ, {})
        self._children.start(
            [sys.executable, "-P", "-m", "pasps.cluster.launch.java_archive"], environment, self.home, self.log("java-archive")
        )
        return True

    def status(self) -> list[PartStatus]:
        """Each part, asked just now; none when no cluster is up."""
        self._children.reap()
        state = read_state(self.home)
        return [] if state is None else [_status(state, part) for part in parts_of(self.home, state)]

    def down(self) -> TakenDown:
        """End its topologies and all its processes, and remove its state and data; logs stay. Also when half of it is dead.

        Raises:
            BrokenError: a process does not end.
            BusyError: somebody else brings it up or down right now.
        """
        if not self.home.exists():
            return TakenDown([], 0)
        with self._home.locked():
            state = read_state(self.home)
            topologies = [] if state is None else self._end_topologies(state)
            known = [] if state is None else state.processes.values()
            processes = end_marked(self.home, known, self._clock, self._children.reap)
            self._home.clear_data()
            return TakenDown(topologies, processes)

    def kill(self, name: str) -> None:
        """SIGKILL to one part; back when it is gone. What it had started may live on for a moment."""
        self._end(name, signal.SIGKILL)

    def stop(self, name: str) -> None:
        """SIGTERM to one part; back when it is gone."""
        self._end(name, signal.SIGTERM)

    def restart(self, name: str, seconds: float = START_SECONDS) -> None:
        """Stop one part, unless it is dead already, and start it; back when it answers. Others that are dead stay dead.

        Raises:
            ClusterStartError: it did not come up; it is ended.
        """
        self.stop(name)
        with self._home.locked():
            state = self.state
            # what it needs may be dead, on purpose
            part = replace(part_named(name, self.home, state), needs=())
            try:
                self._start([part], find_tools(), state, seconds)
            except BaseException:
                self._end(name, signal.SIGTERM)
                raise

    def detach(self) -> None:
        """The cluster goes on without this process: to be called at the end of a command that brought it up."""
        self._children.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def _clear_old(self) -> None:
        """An earlier cluster may have lost its state, and never its processes' mark."""
        if ended := end_marked(self.home, [], self._clock, self._children.reap):
            self._told(f"ended {ended} processes that an earlier cluster had left")
        self._home.clear()

    def _start(self, parts: Sequence[Part], tools: Tools, state: ClusterState, seconds: float) -> None:
        processes = dict(state.processes)

        def start(part: Part) -> ProcessRef:
            environment = part_environment(tools.spark, self.home, os.environ, part.secrets)
            process = self._children.start(part.command(tools), environment, self.home, self.log(part.name))
            processes[part.name] = process
            write_state(self.home, replace(state, processes=processes))
            return process

        try:
            if not any(_is_alive(state, name) for name in processes if name.startswith("spark-")):
                self._home.clear_recovery()
            self._home.prepare(defaults_text(state.spark_secret))
            write_state(self.home, state)
            living = {name: process for name, process in processes.items() if process.alive}
            BringUp(parts, living, start, self._children.exit_code, self.log).run(self._clock, seconds, self._told)
        except OSError as error:
            raise BrokenError(f"the cluster in {self.home} cannot be started: {error}") from error

    def _give_up(self, before: ClusterState | None, dead: Sequence[Part]) -> None:
        """Of a new cluster nothing stays, of one that was there what lived before."""
        if before is None:
            end_marked(self.home, [], self._clock, self._children.reap)
            self._home.clear_data()
        else:
            now = self.parts
            end([now[part.name] for part in dead if part.name in now], self._clock, GRACE_SECONDS)

    def _end_topologies(self, state: ClusterState) -> list[str]:
        if not _is_alive(state, "master"):
            return []
        topologies = kill_topologies(state.ports["master"], state.token)
        # before all others, or it would start again what it sees end
        end([state.processes["master"]], self._clock, GRACE_SECONDS)
        return topologies

    def _end(self, name: str, number: int) -> None:
        state = self.state
        process = state.processes.get(part_named(name, self.home, state).name)
        if process is not None:
            process.send(number)
            end([process], self._clock, GRACE_SECONDS)
        self._children.reap()


def _is_alive(state: ClusterState, name: str) -> bool:
    return name in state.processes and state.processes[name].alive


def _status(state: ClusterState, part: Part) -> PartStatus:
    process = state.processes.get(part.name)
    if process is None:
        return PartStatus(part.name, part.address, None, alive=False, problem="it was not started")
    if not process.alive:
        return PartStatus(part.name, part.address, process.pid, alive=False, problem="it is dead")
    return PartStatus(part.name, part.address, process.pid, alive=True, problem=part.probe())
