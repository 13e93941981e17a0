"""The `pasps` command: a table of commands, each in a module that is imported when it is called."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from pasps.cli import exit_codes
from pasps.config import KEYS
from pasps.errors import PaspsError


@dataclass(frozen=True, slots=True)
class Command:
    """One line of the table: `name` is a command, or a command and its action, as they are typed.

    `module` has `add_NAME(parser)`, which gives the parser its description and arguments, and `NAME(options)`, which does it and
    returns the exit code; both with `_` for a space, as `add_traces_build`. What only has actions has no `NAME`.
    """

    name: str
    help: str
    module: str

    @property
    def last_word(self) -> str:
        """What tells it from the others of its parser."""
        return self.name.rpartition(" ")[2]

    @property
    def function(self) -> str:
        """The name of what does it."""
        return self.name.replace(" ", "_")

    def actions(self) -> list[Command]:
        """The lines below it."""
        return [command for command in COMMANDS if command.name.rpartition(" ")[0] == self.name]


COMMANDS = (
    Command("run", "run a topology file on this machine", "pasps.cli.run"),
    Command("submit", "run a topology file on a cluster", "pasps.cli.submit"),
    Command("list", "the topologies that run, and with --all those that ended", "pasps.cli.list"),
    Command("status", "counters of a topology that runs", "pasps.cli.status"),
    Command("top", "the live view of a topology that runs", "pasps.cli.top"),
    Command("scale", "set how many replicas of a bolt work", "pasps.cli.verbs"),
    Command("activate", "let the spouts emit again", "pasps.cli.verbs"),
    Command("deactivate", "stop the spouts", "pasps.cli.verbs"),
    Command("rebalance", "restart a topology of a cluster with other workers or pools", "pasps.cli.verbs"),
    Command("kill", "drain a topology and end its run", "pasps.cli.verbs"),
    Command("errors", "the last exceptions of user code", "pasps.cli.status"),
    Command("logs", "what the workers of a topology wrote", "pasps.cli.logs"),
    Command("explain", "why bolts have their replicas", "pasps.cli.explain"),
    Command("report", "a page of a run, with pictures and measures", "pasps.cli.report"),
    Command("simulate", "a topology in virtual time: what a policy would do on a trace", "pasps.cli.simulate"),
    Command("whatif", "what another policy would have done in a run", "pasps.cli.whatif"),
    Command("runs", "the runs that this machine keeps: list, keep, remove", "pasps.cli.runs"),
    Command("traces", "input rates: made of raw records or made up, composed, described", "pasps.cli.jobs.traces"),
    Command("traces build", "count raw records: logs, CSV, JSON, Parquet", "pasps.cli.jobs.traces_build"),
    Command("traces compose", "join the bursts of real traces into a test stream", "pasps.cli.jobs.traces_compose"),
    Command("traces synth", "make traffic from parameters and a seed", "pasps.cli.jobs.traces_synth"),
    Command("traces describe", "a table and a picture of a trace", "pasps.cli.jobs.traces_describe"),
    Command("et", "measure what one event takes in each bolt", "pasps.cli.jobs.et"),
    Command("predictor", "the service that forecasts the input", "pasps.cli.predictor"),
    Command("predictor train", "train a model on a trace, for --artifacts", "pasps.cli.predictor"),
    Command("master", "a master of a cluster", "pasps.cli.master"),
    Command("cluster", "a development cluster on this machine", "pasps.cli.cluster"),
    Command("cluster up", "bring it up", "pasps.cli.cluster"),
    Command("cluster status", "its parts, and whether they live", "pasps.cli.cluster"),
    Command("cluster down", "end all of it", "pasps.cli.cluster"),
)
"""Every command, in the order of `--help`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. Never raises for what a user did wrong."""
    options = parsed(sys.argv[1:] if arguments is None else arguments)
    name = options.command.name.partition(" ")[0]
    try:
        return call(options)
    except PaspsError as error:
        print(f"pasps {name}: {error}", file=sys.stderr, flush=True)
        return exit_codes.code_of(error)
    except KeyboardInterrupt:
        return exit_codes.BY_SIGNAL + signal.SIGINT
    except BrokenPipeError:
        # whoever read our output has left; Python must not try to flush the rest of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return exit_codes.BY_SIGNAL + signal.SIGPIPE


def call(options: argparse.Namespace) -> int:
    """Do what was parsed; returns the exit code. Raises what the command raises."""
    command: Command = options.command
    return cast("int", getattr(importlib.import_module(command.module), command.function)(options))


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The words as options, with the `command` that they name.

    Ends the process with code 2 where they are none, and says so with the command's own name.
    """
    parser = argparse.ArgumentParser(prog="pasps", description="Storm-like topologies whose bolts grow and shrink while tuples flow.")
    parser.add_argument("--version", action="version", version=f"pasps {_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_CommandParser)
    own = {
        command.name: commands.add_parser(command.name, help=command.help, command=command)
        for command in COMMANDS
        if command.name == command.last_word
    }
    options, more = parser.parse_known_args(words)
    if more:
        key = "pasps." + more[0].lstrip("-").partition("=")[0].replace("-", ".")
        cure = f"; a configuration key is given as -o {key}=VALUE" if key in KEYS and hasattr(options, "option") else ""
        own[options.command.name.partition(" ")[0]].error(f"unrecognized arguments: {' '.join(more)}{cure}")
    return options


class _CommandParser(argparse.ArgumentParser):
    """Gets its arguments from its command's module when it is called, so that a command needs nothing of what the others import."""

    def __init__(self, command: Command, **given: Any) -> None:
        super().__init__(**given)
        self._command: Command | None = command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        command, self._command = self._command, None
        if command is not None:
            self._fill(command)
        return super().parse_known_args(args, namespace)

    def _fill(self, command: Command) -> None:
        module = importlib.import_module(command.module)
        getattr(module, f"add_{command.function}")(self)
        self.set_defaults(command=command)
        if actions := command.actions():
            parsers = self.add_subparsers(title="actions", required=not hasattr(module, command.function), metavar="ACTION")
            for action in actions:
                parsers.add_parser(action.last_word, help=action.help, command=action)


def _version() -> str:
    try:
        return version("pasps")
    except PackageNotFoundError:
        return "(not installed)"
