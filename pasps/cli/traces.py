"""`pasps traces`: input rates, from raw records, from other traces or from parameters; a table of actions, each in its module.

An action's module has `add(parser)` and a function `traces_NAME`, as a command's has; it is imported when it is called.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any, cast

from pasps.cli.main import Command
from pasps.cli.options import describe

ACTIONS = (
    Command("build", "count raw records: logs, CSV, JSON, Parquet", "pasps.cli.traces_build"),
    Command("compose", "join the bursts of real traces into a test stream", "pasps.cli.traces_compose"),
    Command("synth", "make traffic from parameters and a seed", "pasps.cli.traces_synth"),
    Command("describe", "a table and a picture of a trace", "pasps.cli.traces_describe"),
)
"""Every action: name, help, module."""

_WHAT = """\
A trace says how many events came in each step of time, as rows of `time,count`; the trace spout replays one, and predictors and
policies are judged by it."""

_EXAMPLES = (
    "pasps traces build --format hdfs 'logs/*.log' --out rates",
    "pasps traces describe rates/trace.csv",
    "pasps traces ACTION --help",
)

_CODES = """\
exit codes:
  0    done; `pasps traces ACTION --help` has the others
"""


class _ActionParser(argparse.ArgumentParser):
    """Gets its arguments from its module when it is called, so that an action needs nothing of what the others import."""

    module = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        module, self.module = self.module, ""
        if module:
            importlib.import_module(module).add(self)
        return super().parse_known_args(args, namespace)


def add(parser: argparse.ArgumentParser) -> None:
    """The actions by name and help; each adds its arguments itself."""
    describe(parser, _WHAT, _EXAMPLES, _CODES)
    actions = parser.add_subparsers(title="actions", dest="action", required=True, metavar="ACTION", parser_class=_ActionParser)
    for action in ACTIONS:
        actions.add_parser(action.name, help=action.help).module = action.module


def traces(options: argparse.Namespace) -> int:
    """See the module."""
    action = next(action for action in ACTIONS if action.name == options.action)
    return cast("int", getattr(importlib.import_module(action.module), f"traces_{action.name}")(options))
