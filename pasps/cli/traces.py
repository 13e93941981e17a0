"""`pasps traces`: input rates, from raw records, from other traces or from parameters; each action has a module."""

from __future__ import annotations

import argparse

from pasps.cli.options import describe

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


def add_traces(parser: argparse.ArgumentParser) -> None:
    """What all actions are."""
    describe(parser, _WHAT, _EXAMPLES, _CODES)
