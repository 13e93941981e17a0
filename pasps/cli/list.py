"""`pasps list`: which topologies run here. Reads run directories alone, so it never waits for one that is busy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.find_run import moment
from pasps.cli.options import add_json, describe
from pasps.cli.words import table
from pasps.daemons.run_list import KnownRun, base_directory, known_runs
from pasps.daemons.run_record import host

_WHAT = """\
Lists what `pasps run` runs: name, state (starting, running, inactive, draining), process, when it was started, workers,
policy, run directory. With --all also what ended, and what is lost: its process is gone without having said how it ended."""

_HEAD = ("topology", "state", "process", "started", "workers", "policy", "run directory")


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps list`."""
    describe(parser, _WHAT, ["pasps list", "pasps list --all", "pasps list --json"])
    parser.add_argument("-a", "--all", action="store_true", help="also those that ended")
    add_json(parser, "a JSON array of objects on standard output, instead of a table")


def list(options: argparse.Namespace) -> int:
    """See the module."""
    runs = [run for run in known_runs(base_directory()) if options.all or _is_shown(run)]
    if options.json:
        print(json.dumps([run_object(run) for run in runs]))
    else:
        print("\n".join(list_lines(runs)))
    return exit_codes.OK


def list_lines(runs: Sequence[KnownRun]) -> Sequence[str]:
    """A table for people."""
    if not runs:
        return ["no topology runs"]
    return [line.rstrip() for line in table(_HEAD, [_row(run) for run in runs], left=(0, 1, 5, 6))]


def run_object(run: KnownRun) -> dict[str, Any]:
    """A run as JSON has it."""
    record = run.record
    return {
        "name": record.name,
        "state": str(run.state),
        "pid": record.pid,
        "host": record.host,
        "started": record.started,
        "ended": record.ended,
        "workers": record.workers,
        "policy": record.policy,
        "file": record.file,
        "run_dir": str(run.directory),
    }


def _is_shown(run: KnownRun) -> bool:
    return not run.state.over


def _row(run: KnownRun) -> Sequence[str]:
    record = run.record
    process = str(record.pid) if record.host == host() else f"{record.pid} on {record.host}"
    return record.name, str(run.state), process, moment(record.started), str(record.workers), record.policy or "-", str(run.directory)
