"""`pasps logs`: what the workers of a topology of a cluster write, brought from where they run."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.control_client import EndedMeanwhileError
from pasps.cli.find_topology import find_topology
from pasps.cli.options import add_json, add_topology, at_least_one, describe
from pasps.clock import Clock, Deadline, SystemClock
from pasps.errors import BrokenError, BusyError, ClosedError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError

_WHAT = """\
Shows what the workers of a topology of a cluster wrote: their log, and what your code prints. With -f each line begins with the
worker's name, unless only one is asked for. A `pasps run` of this machine keeps no log: its workers write to its own terminal."""

_LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0
"""How long a topology that is followed may not answer: its master or its driver may be about to be replaced."""
_PASSING = (BrokenError, BusyError, TimeoutExpiredError)


def add(parser: argparse.ArgumentParser) -> None:
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
            print(text_of(topology.call("logs", {"lines": options.lines})) or f"the workers of {topology.name} wrote nothing", flush=True)
            return exit_codes.OK
        workers = [options.worker] if options.worker is not None else workers_of(topology)
        reader = LogReader(topology, workers, options.lines, as_json=options.json)
        reader.look()
        if options.follow:
            try:
                follow(reader, threading.Event().wait, SystemClock())
            except KeyboardInterrupt:
                return exit_codes.OK
            if not options.json:
                print(f"{topology.name}: {topology.how_it_ended()}")
    return exit_codes.OK


def workers_of(topology: ClusterTopology) -> list[str]:
    """The names of its workers."""
    try:
        return [str(worker["id"]) for worker in topology.call("status")["workers"]]
    except (KeyError, TypeError) as error:
        raise ProtocolError(f"topology {topology.name!r} answered `status` with something else: {error}") from error


def text_of(told: Any) -> str:
    """The text of one answer, without its last line's end.

    Raises:
        ProtocolError: it is no such answer.
    """
    if not isinstance(told, Mapping) or not isinstance(told.get("text"), str) or not isinstance(told.get("offset"), int):
        raise ProtocolError(f"expected a log with text and offset, got {told!r:.100}")
    return str(told["text"]).rstrip("\n")


class LogReader:
    """Reads the logs of workers and prints them, each from where the last look at it ended."""

    def __init__(self, topology: ClusterTopology, workers: Sequence[str], lines: int, *, as_json: bool) -> None:
        self._topology = topology
        self._arguments: dict[str, dict[str, Any]] = {worker: {"worker": worker, "lines": lines} for worker in workers}
        self._as_json = as_json
        self._problems: dict[str, str] = {}

    def look(self) -> None:
        """Print what is new; one whose log cannot be read does not keep the others from it. Raises as a topology's `call` does."""
        failed: list[PaspsError] = []
        for worker, arguments in self._arguments.items():
            try:
                told = self._topology.call("logs", arguments)
            except (EndedMeanwhileError, ClosedError):
                raise
            except _PASSING as error:
                failed.append(error)
                self._complain(worker, str(error))
                continue
            text = text_of(told)
            self._problems.pop(worker, None)
            self._arguments[worker] = {"worker": worker, "offset": told["offset"]}
            if text:
                self._show(worker, told.get("host"), text)
        if failed and len(failed) == len(self._arguments):
            raise failed[0]

    def _complain(self, worker: str, problem: str) -> None:
        if len(self._arguments) > 1 and self._problems.get(worker) != problem:
            self._problems[worker] = problem
            print(f"pasps logs: {worker}: {problem}", file=sys.stderr, flush=True)

    def _show(self, worker: str, host: object, text: str) -> None:
        if self._as_json:
            print(json.dumps({"worker": worker, "host": host, "text": text}), flush=True)
            return
        prefix = f"{worker} | " if len(self._arguments) > 1 else ""
        print("\n".join(f"{prefix}{line}" for line in text.split("\n")), flush=True)


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
