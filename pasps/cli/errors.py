"""`pasps errors`: the last exceptions of user code in a topology that runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import msgspec

from pasps.cli import exit_codes
from pasps.cli.find_run import moment
from pasps.cli.find_topology import find_topology
from pasps.cli.options import about_topology, add_json, add_topology, at_least_one, describe
from pasps.topology.controller import ErrorReport
from pasps.worker.tracebacks import without_our_frames

_WHAT = """\
Shows the last exceptions of your code with their tracebacks, and workers that died, the oldest first. A run keeps a thousand;
how many each component reports is throttled by topology.max.error.report.per.interval, the counts in `pasps status` are complete."""


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps errors`."""
    describe(parser, about_topology(_WHAT), ["pasps errors", "pasps errors word-count --component count --limit 3"])
    add_topology(parser)
    parser.add_argument("--component", metavar="ID", help="those of one component")
    parser.add_argument("--limit", metavar="N", type=at_least_one, default=10, help="at most so many (default: 10)")
    add_json(parser)


def errors(options: argparse.Namespace) -> int:
    """See the module."""
    with find_topology(options.topology, options.master) as topology:
        told = topology.call("errors", {"limit": options.limit, "component": options.component})
    print(json.dumps(told) if options.json else errors_text(msgspec.convert(told["errors"], tuple[ErrorReport, ...])))
    return exit_codes.OK


def errors_text(reports: Sequence[ErrorReport]) -> str:
    """All of them for people."""
    blocks = [f"{moment(report.time)}  {report.where}:\n{_indented(report.text)}" for report in reports]
    return "\n\n".join(blocks) or "no errors"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in without_our_frames(text).splitlines())
