"""`pasps list`: which topologies run. Of this machine it reads run directories alone, so it never waits for one that is busy."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.asking.which_run import find_cluster
from pasps.cli.options import add_json, add_master, describe
from pasps.cli.words import moment, table
from pasps.cluster.master.client import MasterClient
from pasps.cluster.master.records import EndedTopology, TopologyView
from pasps.errors import PaspsError
from pasps.topology.run_list import KnownRun, base_directory, known_runs
from pasps.topology.run_record import host

_WHAT = """\
Lists what `pasps run` runs: name, state (starting, running, inactive, draining), process, when it was started, workers,
policy, run directory. With --all also what ended, and what is lost: its process is gone without having said how it ended.
When a cluster is known (see --master), what was submitted to it too, with the process that holds it."""

_HEAD = ("topology", "state", "process", "started", "workers", "policy", "run directory")
_WHERE_HEAD = ("topology", "where", "state", "process", "started", "workers", "policy", "run directory")
_HERE = "here"


def add_list(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps list`."""
    describe(parser, _WHAT, ["pasps list", "pasps list --all", "pasps list --json"])
    parser.add_argument("-a", "--all", action="store_true", help="also those that ended")
    add_master(parser, "only the cluster whose master answers there (PASPS_MASTER: also that one)")
    add_json(parser, "a JSON array of objects on standard output, instead of a table")


def list(options: argparse.Namespace) -> int:
    """See the module."""
    runs = [run for run in known_runs(base_directory()) if options.all or _is_shown(run)] if options.master is None else []
    cluster, code = find_cluster(options.master), exit_codes.OK
    views: Sequence[TopologyView | EndedTopology] = []
    if cluster is not None:
        try:
            views = [*(cluster.ended() if options.all else []), *cluster.topologies()]
        except PaspsError as error:
            if options.master is not None:
                raise
            # what runs here is worth more than nothing
            print(f"pasps list: {error}", file=sys.stderr, flush=True)
            cluster, code = None, exit_codes.BROKEN
    if options.json:
        told = [] if cluster is None else [view_object(view, cluster.url) for view in views]
        print(json.dumps([*(run_object(run) for run in runs), *told]))
    else:
        print("\n".join(list_lines(runs) if cluster is None else both_lines(runs, views, cluster)))
    return code


def list_lines(runs: Sequence[KnownRun]) -> Sequence[str]:
    """A table for people."""
    if not runs:
        return ["no topology runs"]
    return [*(line.rstrip() for line in table(_HEAD, [_row(run) for run in runs], left=(0, 1, 5, 6))), *_details(runs)]


def both_lines(runs: Sequence[KnownRun], views: Sequence[TopologyView | EndedTopology], cluster: MasterClient) -> Sequence[str]:
    """The same with what a cluster has, and why some of that does not run."""
    if not runs and not views:
        return [f"no topology runs, in the cluster at {cluster.url} neither"]
    rows = [(name, _HERE, *others) for name, *others in map(_row, runs)] + [_view_row(view, cluster.url) for view in views]
    details = [f"{view.name}: {view.state}: {view.detail}" for view in views if isinstance(view, TopologyView) and view.detail]
    return [*(line.rstrip() for line in table(_WHERE_HEAD, rows, left=(0, 1, 2, 6, 7))), *_details(runs), *details]


def _details(runs: Sequence[KnownRun]) -> Sequence[str]:
    """What is to be known of those that go on, beside their state."""
    return [f"{run.record.name}: {run.state}: {run.record.detail}" for run in runs if run.record.detail and not run.state.over]


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
        "detail": run.record.detail or None,
    }


def view_object(view: TopologyView | EndedTopology, master: str) -> dict[str, Any]:
    """A topology of a cluster as JSON has it: what a run has, as far as it has that, and its master."""
    living = view if isinstance(view, TopologyView) else None
    driver = living and living.driver
    return {
        "name": view.name,
        "state": living.state if living else "ended",
        "pid": driver and driver.pid,
        "host": driver and driver.host,
        "started": view.submitted,
        "ended": None if isinstance(view, TopologyView) else view.ended,
        "workers": living and living.workers,
        "policy": living and living.policy,
        "file": None,
        "run_dir": None,
        "master": master,
        "detail": living and living.detail,
    }


def _is_shown(run: KnownRun) -> bool:
    return not run.state.over


def _row(run: KnownRun) -> Sequence[str]:
    record = run.record
    process = str(record.pid) if record.host == host() else f"{record.pid} on {record.host}"
    return record.name, str(run.state), process, moment(record.started), str(record.workers), record.policy or "-", str(run.directory)


def _view_row(view: TopologyView | EndedTopology, master: str) -> tuple[str, ...]:
    submitted = moment(view.submitted)
    if isinstance(view, EndedTopology):
        return view.name, master, "ended", "-", submitted, "-", "-", "-"
    workers = "-" if view.workers is None else str(view.workers)
    return view.name, master, view.state, view.process, submitted, workers, view.policy or "-", "-"
