"""A topology that can be asked: one of a `pasps run` of this machine over its control socket, one of a cluster over its masters.

Blocks its caller, never longer than it said. `which_run` finds it, the commands ask it.
"""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from pasps.cli.exit_codes import NotRunningError
from pasps.cli.words import moment
from pasps.cluster.master.client import ANSWER_SECONDS, MasterClient
from pasps.cluster.master.failures import UnknownTopologyError
from pasps.cluster.master.http_exchange import LostError
from pasps.cluster.master.records import TopologyView
from pasps.errors import BrokenError, BusyError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError
from pasps.topology.control_socket import ControlClient
from pasps.topology.run_directory import SUMMARY_NAME
from pasps.topology.run_list import KnownRun, run_in
from pasps.topology.run_record import RunState
from pasps.topology.verbs import KNOWN, GetFile, GetFiles, RunFile, Verb, answer_of, arguments_of

_R = TypeVar("_R")


class EndedMeanwhileError(BrokenError):
    """The run is gone, or closed the connection before it had answered."""


class AskedTopology(Protocol):
    """A context manager."""

    name: str
    place: str
    """Its run directory, or its address at a master."""
    passing: tuple[type[PaspsError], ...]
    """Errors of `call` after which another call may do: whoever only watches goes on."""

    @property
    def known(self) -> KnownRun | TopologyView:
        """What was known of it when it was found."""

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """The result of a verb; None as `seconds` waits without end.

        Raises:
            TimeoutExpiredError: no answer in time. What was asked for may still happen.
            EndedMeanwhileError: it ended.
            PaspsError: what it answered, or why it cannot be asked.
        """

    def wait_until_over(self) -> None:
        """After its last answer: a few seconds at most, until others see too that it ended."""

    def how_it_ended(self) -> str:
        """What is known of the end of one that is over."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def ask(topology: AskedTopology, verb: Verb[_R]) -> _R:
    """The answer, which is waited for as long as that verb is given. Raises as its `call` does, and ProtocolError when it is none."""
    return answer_of(verb, topology.call(verb.name, arguments_of(verb), verb.patience), f"topology {topology.name!r}")


# ---- of this machine

_WAIT_SECONDS, _MOST_WAITS = 0.05, 100
_LOOK_SECONDS = 0.25


class LocalTopology:
    """See `AskedTopology`. One connection, made when it is needed."""

    passing: tuple[type[PaspsError], ...] = ()

    def __init__(self, run: KnownRun) -> None:
        self.known = run
        self.name = run.record.name
        self.place = str(run.directory)
        self._runner: asyncio.Runner | None = None
        self._client: ControlClient | None = None

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """See `AskedTopology`."""
        self._runner = self._runner or asyncio.Runner()
        try:
            return self._runner.run(self._called(verb, arguments or {}, seconds))
        except TimeoutError as late:
            self.close()  # the answer may come still, and must not be taken for the next one
            raise TimeoutExpiredError(f"{self._whose()} did not answer {verb!r} within {seconds:g} s: it is busy or stopped") from late
        except OSError as error:
            self.close()
            raise EndedMeanwhileError(f"{self._whose()} cannot be reached, it has probably just ended: {error}") from error
        except ProtocolError:
            self.close()  # nor may the rest of what was no answer
            raise

    def wait_until_over(self) -> None:
        """See `AskedTopology`: the socket closes, and its process ends, a moment after it has answered."""
        pause = threading.Event()
        for _ in range(_MOST_WAITS):
            try:
                if run_in(self.known.directory).state.over:
                    return
            except InvalidError:
                return
            pause.wait(_WAIT_SECONDS)

    def how_it_ended(self) -> str:
        """See `AskedTopology`."""
        return how_it_ended(run_in(self.known.directory))

    def close(self) -> None:
        """End the connection; the next call makes another. More calls do nothing."""
        client, self._client = self._client, None
        runner, self._runner = self._runner, None
        if client is not None:
            client.close()
        if runner is not None:
            runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def _called(self, verb: str, arguments: Mapping[str, Any], seconds: float | None) -> Any:
        looking = asyncio.create_task(_look())
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(0)  # without any time nothing is begun
                if self._client is None:
                    self._client = await ControlClient.to_run(self.known.record.socket, self._whose())
                return await self._client.call(verb, arguments)
        finally:
            looking.cancel()

    def _whose(self) -> str:
        return f"topology {self.name!r} (process {self.known.record.pid})"


async def _look() -> None:
    """Wakes the loop up now and then: a Ctrl-C that comes just before it begins to wait does not, and is seen when it looks next."""
    while True:  # noqa: ASYNC110 - there is nothing to wait for but time
        await asyncio.sleep(_LOOK_SECONDS)


def how_it_ended(run: KnownRun) -> str:
    """What is known of the end of a run that is over."""
    if run.state is RunState.LOST:
        return f"its process {run.record.pid} is gone without a word; what it left is in {run.directory}"
    ended = "" if run.record.ended is None else f" at {moment(run.record.ended)}"
    summary = run.directory / SUMMARY_NAME
    return f"it ended{ended}; see {summary}" if summary.is_file() else f"it broke off{ended}; what it left is in {run.directory}"


# ---- of a cluster


class ClusterTopology:
    """See `AskedTopology`. A driver that died is started again, so most errors pass."""

    passing: tuple[type[PaspsError], ...] = (BrokenError, BusyError)

    def __init__(self, client: MasterClient, view: TopologyView) -> None:
        self.client = client
        self.known = view
        self.name = view.name
        self.place = f"{client.url}/v1/topologies/{view.name}"
        self._was_asked = False

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """See `AskedTopology`."""
        if not self._was_asked and not KNOWN.get(verb, Verb).is_kept:
            self._check_it_can_answer()
        self._was_asked = True
        try:
            return self.client.call(self.name, verb, arguments, seconds)
        except UnknownTopologyError as gone:
            raise EndedMeanwhileError(f"topology {self.name!r} has just ended: {gone}") from gone
        except LostError as lost:
            if verb != "kill":
                raise
            # the intent is kept before anything else is done
            raise LostError(f"{lost}; it was most likely told to end, and `pasps list` shows when it is gone") from lost

    def wait_until_over(self) -> None:
        """See `AskedTopology`: a master answers when it is."""

    def how_it_ended(self) -> str:
        """See `AskedTopology`."""
        try:
            ended = [view for view in self.client.ended() if view.name == self.name]
        except PaspsError as error:
            return f"it ended; more is not known: {error}"
        return f"it ended at {moment(ended[-1].ended)}" if ended else "it ended"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def _check_it_can_answer(self) -> None:
        """What does not run yet, or not any more, is said with its reason."""
        state, detail = self.known.state, self.known.detail or "no reason is known"
        if state == "waiting":
            raise BusyError(f"topology {self.name!r} waits in the cluster: {detail}; `pasps list` shows what runs there")
        if state == "failed":
            raise BrokenError(f"topology {self.name!r} could not start: {detail}; remove it with `pasps kill {self.name}`")
        if state == "lost":
            raise BusyError(f"topology {self.name!r} has no driver now: {detail}; try again in a moment")
        if state == "starting":
            raise BusyError(f"topology {self.name!r} is still starting in the cluster; try again in a moment")
        if state == "ended":
            raise NotRunningError(f"topology {self.name!r} does not run any more; {self.how_it_ended()}")


# ---- the files that it keeps of itself where its driver runs

_MOST_PART_BYTES = 16 << 20
_TRIES = 3


def fetch_run_files(topology: ClusterTopology, directory: Path) -> None:
    """Write them into `directory`, which exists, as they are now, part by part. Blocks for as long as so much takes.

    Raises:
        ProtocolError: they are not what files of a run are.
        PaspsError: what the topology answered.
    """
    for left in reversed(range(_TRIES)):
        try:
            for name, about in _listed(topology).items():
                _fetch(topology, about, directory / name)
            return
        except BusyError:  # one was replaced meanwhile
            if not left:
                raise


def _listed(topology: ClusterTopology) -> Mapping[str, RunFile]:
    files = ask(topology, GetFiles()).files
    for name in files:
        # it comes from another machine, and is to stay in this directory
        if not name or name.startswith(".") or Path(name).name != name or "\0" in name:
            raise ProtocolError(f"topology {topology.name!r} has a file {name!r}; expected a plain name")
    return files


def _fetch(topology: ClusterTopology, about: RunFile, target: Path) -> None:
    try:
        with target.open("wb") as file:
            while file.tell() < about.bytes:
                part = _part(topology, about.id, file.tell())
                if not part:  # it has become shorter
                    return
                file.write(part)
    except OSError as error:
        raise BrokenError(f"{target} cannot be written: {error.strerror}") from error


def _part(topology: ClusterTopology, id: int, offset: int) -> bytes:
    told = ask(topology, GetFile(id, offset))
    try:
        unpacking = zlib.decompressobj()
        part = unpacking.decompress(told.content, _MOST_PART_BYTES)
        if not unpacking.eof:
            raise ValueError(f"expected a part of at most {_MOST_PART_BYTES} bytes")
        return part
    except (ValueError, zlib.error) as error:
        raise ProtocolError(f"topology {topology.name!r} answered `file` with something else: {error}") from error
