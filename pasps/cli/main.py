"""The `pasps` command: a table of commands, each a module that is imported when it is called.

A command's module has `add(parser)`, which gives the parser its arguments and its description, and a function of the command's
name, which takes what was parsed and returns the exit code.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import cast

from pasps.cli import exit_codes
from pasps.cli.find_run import NotRunningError
from pasps.config import KEYS
from pasps.errors import BusyError, InvalidError, PaspsError, TimeoutExpiredError


@dataclass(frozen=True, slots=True)
class Command:
    """One line of the table."""

    name: str
    help: str
    module: str


COMMANDS = (
    Command("run", "run a topology file on this machine", "pasps.cli.run"),
    Command("submit", "run a topology file on a cluster", "pasps.cli.submit"),
    Command("list", "the topologies that run, and with --all those that ended", "pasps.cli.list"),
    Command("status", "counters of a topology that runs", "pasps.cli.status"),
    Command("top", "the live view of a topology that runs", "pasps.cli.top"),
    Command("scale", "set how many replicas of a bolt work", "pasps.cli.scale"),
    Command("activate", "let the spouts emit again", "pasps.cli.activate"),
    Command("deactivate", "stop the spouts", "pasps.cli.deactivate"),
    Command("rebalance", "restart a topology of a cluster with other workers or pools", "pasps.cli.rebalance"),
    Command("kill", "drain a topology and end its run", "pasps.cli.kill"),
    Command("errors", "the last exceptions of user code", "pasps.cli.errors"),
    Command("logs", "what the workers of a topology wrote", "pasps.cli.logs"),
    Command("explain", "why bolts have their replicas", "pasps.cli.explain"),
    Command("report", "a page of a run, with pictures and measures", "pasps.cli.report"),
    Command("simulate", "a topology in virtual time: what a policy would do on a trace", "pasps.cli.simulate"),
    Command("whatif", "what another policy would have done in a run", "pasps.cli.whatif"),
    Command("runs", "the runs that this machine keeps: list, keep, remove", "pasps.cli.runs"),
    Command("traces", "input rates: made of raw records or made up, composed, described", "pasps.cli.traces"),
    Command("et", "measure what one event takes in each bolt", "pasps.cli.et"),
    Command("predictor", "the service that forecasts the input", "pasps.cli.predictor"),
    Command("master", "a master of a cluster", "pasps.cli.master"),
    Command("cluster", "a development cluster on this machine", "pasps.cli.cluster"),
)
"""Every command: name, help, module."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. Never raises for what a user did wrong."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    named = next((word for word in words if not word.startswith("-")), None)
    command = next((command for command in COMMANDS if command.name == named), None)
    options = _parsed(command, words)
    assert command is not None
    try:
        return cast("int", getattr(importlib.import_module(command.module), command.name)(options))
    except PaspsError as error:
        print(f"pasps {command.name}: {error}", file=sys.stderr, flush=True)
        return _code(error)
    except KeyboardInterrupt:
        return exit_codes.BY_SIGNAL + signal.SIGINT
    except BrokenPipeError:
        # whoever read our output has left; Python must not try to flush the rest of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return exit_codes.BY_SIGNAL + signal.SIGPIPE


def _parsed(command: Command | None, words: list[str]) -> argparse.Namespace:
    """The words as options; ends the process with code 2 where they are none, and says so with the command's own name."""
    parser, own = _parser(command)
    options, more = parser.parse_known_args(words)
    if more:
        key = "pasps." + more[0].lstrip("-").partition("=")[0].replace("-", ".")
        cure = f"; a configuration key is given as -o {key}=VALUE" if key in KEYS and hasattr(options, "option") else ""
        own.error(f"unrecognized arguments: {' '.join(more)}{cure}")
    return options


def _parser(chosen: Command | None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """All commands by name and help; the chosen one with its arguments, which comes second."""
    parser = argparse.ArgumentParser(prog="pasps", description="Storm-like topologies whose bolts grow and shrink while tuples flow.")
    parser.add_argument("--version", action="version", version=f"pasps {_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    named = parser
    for command in COMMANDS:
        own = commands.add_parser(command.name, help=command.help)
        if command is chosen:
            importlib.import_module(command.module).add(own)
            named = own
    return parser, named


def _code(error: PaspsError) -> int:
    if isinstance(error, NotRunningError):
        return exit_codes.NOT_RUNNING
    if isinstance(error, TimeoutExpiredError | BusyError):
        return exit_codes.NO_ANSWER
    return exit_codes.INVALID if isinstance(error, InvalidError) else exit_codes.BROKEN


def _version() -> str:
    try:
        return version("pasps")
    except PackageNotFoundError:
        return "(not installed)"
