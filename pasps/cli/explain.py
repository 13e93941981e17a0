"""`pasps explain`: prints why a bolt has its replicas. Reads the decisions that a run has written down, so it needs no running one.

A topology of a cluster is asked; for `--json` and `--replay` its files are brought here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pasps.cli import exit_codes
from pasps.cli.asking.asked_topology import ClusterTopology, ask
from pasps.cli.asking.which_run import Past, find_past, no_run, no_such_run
from pasps.cli.options import add_master, describe
from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.explain import concerned, explained, replay
from pasps.control.policies import policy_named
from pasps.errors import InvalidError
from pasps.report.run_files import Log
from pasps.topology.run_list import base_directory, known_runs
from pasps.topology.verbs import Explain

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


def add_explain(parser: argparse.ArgumentParser) -> None:
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
    past, bolt = meant(options.topology, options.bolt, options.master)
    if isinstance(past.run, ClusterTopology):
        return _explain_remote(options, past, past.run, bolt)
    run = past.run
    try:
        detail = "" if run.state.over else run.record.detail
        return _explain(options, run.directory, _head(run.record.name, run.state, detail, past.place), bolt)
    except InvalidError as error:
        taken = f"{bolt!r} is no run, so taken as a bolt: " if bolt is not None and options.bolt is None else ""
        raise InvalidError(f"run of {run.record.name!r} in {run.directory}: {taken}{error}") from error


def meant(first: str | None, second: str | None, master: str | None) -> tuple[Past, str | None]:
    """The run that two arguments mean, and the bolt if any: a first one that names no run is the bolt, where it is the only one.

    Raises:
        InvalidError: there is no such run, or none at all.
        PaspsError: as `find_past`.
    """
    past = find_past(first, master, or_newest=second is None)
    if second is not None and (past is None or not past.is_named):
        newest_first = sorted(known_runs(base_directory()), key=lambda run: (not run.state.over, run.record.started), reverse=True)
        names = ", ".join(dict.fromkeys(run.record.name for run in newest_first)) or "none"
        raise no_such_run(first, f"there are runs of {names}")
    if past is None:
        raise no_run()
    return past, second if past.is_named else first


def _explain_remote(options: argparse.Namespace, past: Past, topology: ClusterTopology, bolt: str | None) -> int:
    head = _head(topology.name, topology.known.state, topology.known.detail or "", topology.place)
    if options.json or options.replay:
        with past.files() as directory:
            return _explain(options, directory, head, bolt)
    print(f"{head}\n{ask(topology, Explain(bolt, options.at))}", flush=True)
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
