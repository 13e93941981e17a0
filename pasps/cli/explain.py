"""`pasps explain`: prints why a bolt has its replicas. Reads the decisions that a run has written down, so it needs no running one.

A topology of a cluster is asked; for `--json` and `--replay` its files are brought here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from pasps.cli import exit_codes
from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.find_past import find_past
from pasps.cli.find_run import run_of_directory
from pasps.cli.options import add_master, describe
from pasps.cli.run_files import fetch_run_files
from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.explain import concerned, explained, replay
from pasps.control.policies import policy_named
from pasps.errors import InvalidError
from pasps.report.run_files import Log
from pasps.topology.run_list import KnownRun, base_directory, known_runs

_ABOUT = """\
Prints why bolts have their replicas: the decision that gave them, with the numbers of each equation, what kept a bolt from
more or fewer, and what was done. The run may go on, be over, or have been killed. TOPOLOGY is the newest run of that name,
a running one first; without it the newest run of all. One that runs in a cluster will do too (see --master)."""

_EXAMPLES = (
    "pasps explain",
    "pasps explain sentiment",
    "pasps explain tweets sentiment --at 14:03:05",
    "pasps explain runs/first --replay",
)

_CODES = """\
exit codes:
  0    explained; with --replay: every plan is the same
  1    with --replay: a plan is another one now
  2    no such run, bolt or time, or a policy that is not here"""


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    argument = parser.add_argument
    argument("topology", metavar="TOPOLOGY|RUN_DIR", nargs="?", help="which run; what is none is taken as BOLT")
    argument("bolt", metavar="BOLT", nargs="?", help="which bolt, with all numbers; without it all bolts, in short")
    argument("--at", metavar="T", help="the decision in force then: seconds since the start, a clock time (14:03:05) or an ISO time")
    add_master(parser)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--json", action="store_true", help="the records of the decisions concerned instead, one JSON object a line")
    either.add_argument("--replay", action="store_true", help="make all decisions again, with --at this one, and compare the plans")


def explain(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: no such run, bolt, time or policy.
    """
    remote = find_past(options.topology, options.master, or_newest=options.bolt is None)
    match remote:
        case (ClusterTopology() as topology, is_named):
            return _explain_remote(options, topology, options.bolt if is_named else options.topology)
        case (KnownRun() as run, is_named):
            bolt = options.bolt if is_named else options.topology
        case _:
            run, bolt = find(options.topology, options.bolt, base_directory())
    try:
        detail = "" if run.state.over else run.record.detail
        return _explain(options, run.directory, _head(run.record.name, run.state, detail, str(run.directory)), bolt)
    except InvalidError as error:
        taken = f"{bolt!r} is no run, so taken as a bolt: " if bolt is not None and options.bolt is None else ""
        raise InvalidError(f"run of {run.record.name!r} in {run.directory}: {taken}{error}") from error


def _explain_remote(options: argparse.Namespace, topology: ClusterTopology, bolt: str | None) -> int:
    head = _head(topology.name, topology.known.state, topology.known.detail or "", topology.place)
    if options.json or options.replay:
        with tempfile.TemporaryDirectory(prefix="pasps-explain-") as scratch:
            fetch_run_files(topology, Path(scratch))
            return _explain(options, Path(scratch), head, bolt)
    given = {"bolt": bolt, "at": options.at}
    print(f"{head}\n{topology.call('explain', {name: value for name, value in given.items() if value is not None})}", flush=True)
    return exit_codes.OK


def _head(name: str, state: str, detail: str, place: str) -> str:
    """Which run it is, and what else is to be known of its state."""
    return f"{name}, {state}{f' ({detail})' if detail else ''}, {place}"


def _explain(options: argparse.Namespace, directory: Path, head: str, bolt: str | None) -> int:
    records: Log[Record] = Log(directory, "decisions", decision_log.read)
    code = exit_codes.OK
    if options.replay:
        only = None if options.at is None else concerned(records, bolt, options.at)[-1].number
        lines, same = replay(records, policy_named, only)
        code = exit_codes.OK if same else exit_codes.BROKEN
    elif options.json:
        lines = [decision_log.written(record).decode() for record in concerned(records, bolt, options.at)]
    else:
        lines = [head, explained(records, bolt, options.at)]
    if lines:
        print("\n".join(lines), flush=True)
    if records.unreadable:
        print(f"pasps explain: lines in {directory} that are no decisions and were left out: {records.unreadable}", file=sys.stderr)
    return code


def find(first: str | None, second: str | None, base: Path) -> tuple[KnownRun, str | None]:
    """The run that two arguments mean, and the bolt if any.

    Raises:
        InvalidError: there is no such run, or none at all.
    """
    directory = run_of_directory(first)
    if directory is not None:
        return directory, second
    # a running one before those that are over, the newest before others
    runs = sorted(known_runs(base), key=lambda run: (not run.state.over, run.record.started), reverse=True)
    named = [run for run in runs if first in (None, run.record.name, run.entry.name)]
    if named:
        return named[0], second
    if second is not None:
        names = ", ".join(dict.fromkeys(run.record.name for run in runs)) or "none"
        raise InvalidError(f"{first!r} is neither a run directory nor a topology that ran here; there are runs of {names}")
    if not runs:
        raise InvalidError(f"there is no run in {base}; start one with `pasps run FILE`, or give a run directory")
    return runs[0], first
