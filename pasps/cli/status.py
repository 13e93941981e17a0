"""`pasps status` and `pasps errors`: the counters of a topology that runs in another terminal, and what went wrong in it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import msgspec

from pasps.cli import exit_codes
from pasps.cli.asking.asked_topology import ask
from pasps.cli.asking.which_run import find_topology
from pasps.cli.options import about_topology, add_json, add_topology, at_least_one, describe
from pasps.cli.views.elastic_lines import elastic_status
from pasps.cli.views.frame import first_frame
from pasps.cli.views.summary import INCOMPLETE, component_lines, error_lines, frame_lines, restart_lines
from pasps.cli.words import clock_text, moment
from pasps.cluster.master.records import TopologyView
from pasps.topology.controller import ErrorReport
from pasps.topology.run_list import KnownRun
from pasps.topology.status import Status, status_from
from pasps.topology.verbs import GetErrors, GetStatus
from pasps.topology.worker_link import brief
from pasps.worker.tracebacks import without_our_frames

_WHAT = "Shows the counters of a topology since it was started. Gives up after 10 seconds when the run does not answer."


def add_status(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps status`."""
    examples = ["pasps status", "pasps status word-count", "pasps status word-count --json | jq .stats.components.count.queued"]
    describe(parser, about_topology(_WHAT), examples)
    add_topology(parser)
    add_json(parser)


def status(options: argparse.Namespace) -> int:
    """The counters since the start."""
    with find_topology(options.topology, options.master) as topology:
        told = ask(topology, GetStatus())
    if options.json:
        print(json.dumps({"run_dir": topology.place, **told}))
    else:
        print(status_text(status_from(told), topology.known))
    return exit_codes.OK


def status_text(status: Status, known: KnownRun | TopologyView) -> str:
    """All of it for people."""
    frame = first_frame(status)
    if isinstance(known, KnownRun):
        process, place = f"process {known.record.pid}", [f"run        {known.directory}"]
        workers = ", ".join(f"{worker.id} (process {worker.pid})" for worker in status.workers)
    else:
        process, place = f"in the cluster, driver {known.process}", []
        workers = ", ".join(f"{worker.id} ({worker.pid} on {worker.host})" for worker in status.workers)
    lines = [
        f"{status.name}: {status.state}, up {clock_text(status.uptime_seconds)}, {process}",
        "",
        *component_lines(frame),
        "",
        *frame_lines(frame),
        f"in flight  {status.stats.pending:,}",
        f"workers    {len(status.workers)} of {status.workers_wanted}: {workers}",
        *([f"restart    {status.restarting}"] if status.restarting else []),
        *restart_lines(status.restarts),
        *_loss_lines(status),
        *place,
    ]
    if status.elastic is not None:
        lines += elastic_status(status.elastic)
    lines += [f"trouble    {trouble}" for trouble in status.troubles]
    if not status.stats.complete:
        lines.append(INCOMPLETE)
    if status.errors:
        lines += ["", *error_lines(status.errors, frame.errors)]
    return "\n".join(lines)


def _loss_lines(status: Status) -> list[str]:
    """How many workers died, and how the last one did."""
    if not status.losses:
        return []
    last = status.losses[-1]
    many = f"{status.lost} workers" if status.lost > 1 else "1 worker"
    return [f"lost       {many}, and started again; {'the last ' if status.lost > 1 else ''}at {moment(last.time)} {brief(last.text)}"]


# ---- errors

_ERRORS = """\
Shows the last exceptions of your code with their tracebacks, and workers that died, the oldest first. A run keeps a thousand;
how many each component reports is throttled by topology.max.error.report.per.interval, the counts in `pasps status` are complete."""


def add_errors(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps errors`."""
    describe(parser, about_topology(_ERRORS), ["pasps errors", "pasps errors word-count --component count --limit 3"])
    add_topology(parser)
    parser.add_argument("--component", metavar="ID", help="those of one component")
    parser.add_argument("--limit", metavar="N", type=at_least_one, default=10, help="at most so many (default: 10)")
    add_json(parser)


def errors(options: argparse.Namespace) -> int:
    """The last exceptions of user code, and workers that died."""
    with find_topology(options.topology, options.master) as topology:
        told = ask(topology, GetErrors(options.limit, options.component))
    print(json.dumps(told) if options.json else errors_text(msgspec.convert(told["errors"], tuple[ErrorReport, ...])))
    return exit_codes.OK


def errors_text(reports: Sequence[ErrorReport]) -> str:
    """All of them for people."""
    blocks = [f"{moment(report.time)}  {report.where}:\n{_indented(report.text)}" for report in reports]
    return "\n\n".join(blocks) or "no errors"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in without_our_frames(text).splitlines())
