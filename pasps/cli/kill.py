"""`pasps kill`: ends a run in another terminal, as Ctrl-C there would."""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.control_client import ControlClient
from pasps.cli.find_run import find_run
from pasps.cli.options import about_topology, add_json, add_topology, describe, seconds
from pasps.daemons.run_list import run_in
from pasps.errors import InvalidError

_WHAT = """\
Stops the spouts, waits until what is under way is done, and ends the run; back when it has ended, with what was left. When it
drains already, the shorter of the two times counts."""

_CODES = """\
exit codes:
  0    it ended, and nothing was left
  1    something in pasps broke, or the run broke off
  2    a wrong option, or a name that several runs have
  4    not drained in time: tuples were left
  6    no such topology runs
  130  Ctrl-C; the topology ends all the same
"""

_WAIT_SECONDS, _MOST_WAITS = 0.05, 100


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps kill`."""
    describe(parser, about_topology(_WHAT), ["pasps kill", "pasps kill word-count --wait 5", "pasps kill word-count --wait 0"], _CODES)
    add_topology(parser)
    wait_help = "most seconds to wait for what is under way (default: the run's own --drain-timeout)"
    parser.add_argument("-w", "--wait", metavar="S", type=seconds, help=wait_help)
    add_json(parser, "the run's summary as a JSON object on standard output, instead of text")


def kill(options: argparse.Namespace) -> int:
    """See the module."""
    run = find_run(options.topology)
    with ControlClient(run) as client:
        # no limit of our own: the run itself keeps the time
        summary = client.call("kill", {} if options.wait is None else {"wait": options.wait}, None)
    _wait_until_gone(run.directory)
    print(json.dumps(summary) if options.json else kill_text(summary))
    return exit_codes.LEFT_OVER if summary["left"] else exit_codes.OK


def kill_text(summary: Mapping[str, Any]) -> str:
    """How it ended, for people."""
    left = ", ".join(f"{name}: {count:,}" for name, count in summary["left"].items())
    head = f"{summary['topology']} ended after {summary['seconds']:.1f} s, {f'not drained; left: {left}' if left else 'drained'}"
    return f"{head}\nevents in {summary['emitted']:,}, acked {summary['acked']:,}; summary in {summary['run_dir']}"


def _wait_until_gone(directory: Path) -> None:
    """Its process ends a moment after it has answered."""
    pause = threading.Event()
    for _ in range(_MOST_WAITS):
        try:
            if run_in(directory).state.over:
                return
        except InvalidError:
            return
        pause.wait(_WAIT_SECONDS)
