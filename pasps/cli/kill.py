"""`pasps kill`: ends a run in another terminal, as Ctrl-C there would."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.find_topology import find_topology
from pasps.cli.options import about_topology, add_json, add_topology, describe, seconds
from pasps.cli.topology_view import TopologyView

_WHAT = """\
Stops the spouts, waits until what is under way is done, and ends the run; back when it has ended, with what was left. When it
drains already, the shorter of the two times counts."""

_CODES = """\
exit codes:
  0    it ended, and nothing was left
  1    something in pasps broke, the run broke off, or no master of the cluster answers
  2    a wrong option or token, or a name that several runs have
  4    not drained in time: tuples were left
  6    no such topology runs
  7    a topology of a cluster has not ended in time; it ends all the same
  130  Ctrl-C; the topology ends all the same
"""


def add_kill(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps kill`."""
    describe(parser, about_topology(_WHAT), ["pasps kill", "pasps kill word-count --wait 5", "pasps kill word-count --wait 0"], _CODES)
    add_topology(parser)
    wait_help = "most seconds to wait for what is under way (default: the run's own --drain-timeout)"
    parser.add_argument("-w", "--wait", metavar="S", type=seconds, help=wait_help)
    add_json(parser, "the run's summary as a JSON object on standard output, instead of text")


def kill(options: argparse.Namespace) -> int:
    """See the module."""
    with find_topology(options.topology, options.master) as topology:
        # no limit of our own: the run itself keeps the time
        summary = topology.call("kill", {} if options.wait is None else {"wait": options.wait}, None)
    topology.wait_until_over()
    if options.json:
        print(json.dumps(summary))
    else:
        host = topology.known.host if isinstance(topology.known, TopologyView) else ""
        print(kill_text(summary, host) if summary else f"{topology.name} ended; nobody is left who knows how")
    return exit_codes.LEFT_OVER if summary and summary["left"] else exit_codes.OK


def kill_text(summary: Mapping[str, Any], host: str = "") -> str:
    """How it ended, for people; `host` is where its files are, when that is another machine."""
    left = ", ".join(f"{name}: {count:,}" for name, count in summary["left"].items())
    head = f"{summary['topology']} ended after {summary['seconds']:.1f} s, {f'not drained; left: {left}' if left else 'drained'}"
    return f"{head}\nevents in {summary['emitted']:,}, acked {summary['acked']:,}; summary in {summary['run_dir']}{host and f' on {host}'}"
