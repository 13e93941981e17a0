"""The `pasps` command: reads the arguments and calls the command's module."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from pasps.cli import exit_codes
from pasps.cli.run import run

_RUN_HELP = f"""\
Runs the topology in a Python file on worker processes of this machine, until every spout has raised EndOfInput and
everything it emitted is done, until --duration, or until Ctrl-C or SIGTERM. Then the spouts stop, what is under way is
finished, and a summary is printed. A second Ctrl-C ends at once.

examples:
  pasps run wordcount.py
  pasps run wordcount.py --workers 4 --duration 60 --scale count=6
  pasps run wordcount.py -o topology.max.spout.pending=5000 -o wordcount.sentences=1000
  pasps run wordcount.py --json >run.jsonl

{exit_codes.HELP}"""

_JSON_HELP = "one JSON object a second on standard output and a summary object at the end, instead of the view"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options = _parser().parse_args(arguments)
    return run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pasps", description="Storm-like topologies whose bolts grow and shrink while tuples flow.")
    parser.add_argument("--version", action="version", version=f"pasps {_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_run(
        commands.add_parser(
            "run", help="run a topology file on this machine", description=_RUN_HELP, formatter_class=argparse.RawDescriptionHelpFormatter
        )
    )
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="a Python file with a Topology class, or with what TopologyBuilder.create_topology returned")
    add("--topology", metavar="NAME", help="which one, when the file has several: the name of the class, the variable or the topology")
    add("--name", help="run it under this name")
    add("--workers", metavar="N", type=_at_least_one, help="worker processes (default: topology.workers, else the number of cores)")
    add("--duration", metavar="S", type=_seconds_above_zero, help="stop the spouts after S seconds")
    add("-o", "--option", metavar="KEY=VALUE", action="append", default=[], help="a configuration key; may be given several times")
    add("--scale", metavar="BOLT=N", action="append", default=[], help="start with N active replicas of a bolt; may be given several times")
    add("--drain-timeout", metavar="S", type=_seconds, default=30.0, help="most seconds to wait for what is under way (default: 30)")
    add(
        "--no-tty",
        action="store_true",
        help="a line every two seconds instead of the live view; so it is anyway when output is no terminal",
    )
    add("--json", action="store_true", help=_JSON_HELP)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds of at least 0, got {text!r}")
    return seconds


def _seconds_above_zero(text: str) -> float:
    seconds = _seconds(text)
    if not seconds:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return seconds


def _version() -> str:
    try:
        return version("pasps")
    except PackageNotFoundError:
        return "(not installed)"
