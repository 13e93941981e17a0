"""`pasps logs`: what the workers of a topology of a cluster write, brought from where they run."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pasps.cli import exit_codes
from pasps.cli.asking.asked_topology import ClusterTopology, EndedMeanwhileError, ask
from pasps.cli.asking.which_run import find_topology
from pasps.cli.options import add_json, add_topology, at_least_one, describe
from pasps.clock import Clock, Deadline, SystemClock
from pasps.errors import BrokenError, BusyError, ClosedError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError
from pasps.topology.verbs import GetLogs, GetStatus

_WHAT = """\
Shows what the workers of a topology of a cluster wrote: their log, and what your code prints. With -f each line begins with the
worker's name, unless only one is asked for. A `pasps run` of this machine keeps no log: its workers write to its own terminal."""

_LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0
"""How long a topology that is followed may not answer: its master or its driver may be about to be replaced."""
_PASSING = (BrokenError, BusyError, TimeoutExpiredError)


def add_logs(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps logs`."""
    describe(parser, _WHAT, ["pasps logs word-count", "pasps logs word-count --worker w2 -f", "pasps logs word-count --lines 1000"])
    add_topology(parser)
    parser.add_argument("--worker", metavar="ID", help="one worker, as `pasps status` names it")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what they write, until the topology ends or Ctrl-C")
    parser.add_argument("--lines", metavar="N", type=at_least_one, default=100, help="the last N lines of each (default: 100)")
    add_json(parser, "JSON objects with worker, host and text, one a line, instead of text")


def logs(options: argparse.Namespace) -> int:
    """See the module."""
    with find_topology(options.topology, options.master) as topology:
        if not isinstance(topology, ClusterTopology):
            problem = f"topology {topology.name!r} is a `pasps run` of this machine, which keeps no log"
            raise InvalidError(f"{problem}: its workers write to where that runs; `pasps errors` shows what your code raised")
        if options.worker is None and not options.follow and not options.json:
            # it says by itself whose log is whose
            text = ask(topology, GetLogs(lines=options.lines)).text.rstrip("\n")
            print(text or f"the workers of {topology.name} wrote nothing", flush=True)
            return exit_codes.OK
        workers = [options.worker] if options.worker is not None else workers_of(topology)
        reader = LogReader(topology, workers, options.lines, as_json=options.json)
        try:
            reader.look()
            if options.follow:
                follow(reader, threading.Event().wait, SystemClock())
        except KeyboardInterrupt:
            if not options.follow:
                raise
            return exit_codes.OK
        finally:
            reader.finish()
        if options.follow and not options.json:
            print(f"{topology.name}: {topology.how_it_ended()}")
    return exit_codes.OK


def workers_of(topology: ClusterTopology) -> list[str]:
    """The names of its workers."""
    try:
        return [str(worker["id"]) for worker in ask(topology, GetStatus())["workers"]]
    except (KeyError, TypeError) as error:
        raise ProtocolError(f"topology {topology.name!r} answered `status` with something else: {error}") from error


class LogReader:
    """Reads the logs of workers and prints them in whole lines, each from where the last look at it ended."""

    def __init__(self, topology: ClusterTopology, workers: Sequence[str], lines: int, *, as_json: bool) -> None:
        self._topology = topology
        self._logs = [_Log(worker, lines) for worker in workers]
        self._as_json = as_json

    def look(self) -> None:
        """Print what is new; one whose log cannot be read does not keep the others from it. Raises as a topology's `call` does."""
        failed: list[PaspsError] = []
        for log in self._logs:
            try:
                self._read(log)
            except (EndedMeanwhileError, ClosedError):
                raise
            except _PASSING as error:
                failed.append(error)
                self._complain(log, str(error))
            else:
                log.problem = ""
        if failed and len(failed) == len(self._logs):
            raise failed[0]

    def finish(self) -> None:
        """Print the lines whose ends did not come; nothing more is to be read."""
        for log in self._logs:
            self._show(log, f"{log.begun}\n" if log.begun else "")

    def _read(self, log: _Log) -> None:
        told = ask(self._topology, log.question())
        if log.host and told.host and told.host != log.host:
            # it moved: the offset was one in the file of another host, and what was begun there gets no end
            self._show(log, f"{log.begun}\n" if log.begun else "")
            log.host, log.offset = told.host, None
            told = ask(self._topology, log.question())
        log.host, log.offset = told.host or log.host, told.offset
        self._show(log, log.begun + told.text)

    def _complain(self, log: _Log, problem: str) -> None:
        if len(self._logs) > 1 and log.problem != problem:
            log.problem = problem
            print(f"pasps logs: {log.worker}: {problem}", file=sys.stderr, flush=True)

    def _show(self, log: _Log, text: str) -> None:
        """Print the whole lines of a text, and keep the rest."""
        lines, end, log.begun = text.rpartition("\n")
        if not end:
            return
        if self._as_json:
            print(json.dumps({"worker": log.worker, "host": log.host, "text": lines}), flush=True)
            return
        prefix = f"{log.worker} | " if len(self._logs) > 1 else ""
        print("\n".join(f"{prefix}{line}" for line in lines.split("\n")), flush=True)


@dataclass(slots=True)
class _Log:
    """How far one worker's log was read. `host` is where it was then; `begun` is a last line without its end; `problem` the last one."""

    worker: str
    lines: int
    host: str = ""
    offset: int | None = None
    begun: str = ""
    problem: str = ""

    def question(self) -> GetLogs:
        return GetLogs(self.worker, lines=self.lines) if self.offset is None else GetLogs(self.worker, offset=self.offset)


def follow(reader: LogReader, pause: Callable[[float], object], clock: Clock) -> None:
    """Go on until the topology ends.

    Raises:
        PaspsError: it did not answer for a minute, or refuses.
    """
    patience = Deadline(clock, _PATIENCE_SECONDS)
    while True:
        pause(_LOOK_SECONDS)
        try:
            reader.look()
        except (EndedMeanwhileError, ClosedError):
            return
        except _PASSING:
            if patience.expired():
                raise
        else:
            patience = Deadline(clock, _PATIENCE_SECONDS)
