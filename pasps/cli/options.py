"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pasps.cli import exit_codes
from pasps.config import KEYS, OWN_PREFIXES, parse_option

ARTIFACTS = "pasps.predictor.artifacts"
JSON_HELP = "one JSON object on standard output, instead of text"
_WHICH = """\
TOPOLOGY is the name of a topology that `pasps run` runs, or its run directory, or the name of one in a cluster; it may be left
out when only one runs."""
_MASTER = "a topology of the cluster whose master answers there (default: PASPS_MASTER, else the development cluster while it is up)"


def describe(parser: argparse.ArgumentParser, text: str, examples: Sequence[str], codes: str = exit_codes.VERB_HELP) -> None:
    """What `--help` says above the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "\n".join([text, "", "examples:", *(f"  {example}" for example in examples), "", codes])


def add_topology(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which one."""
    parser.add_argument("topology", metavar="TOPOLOGY", nargs="?", help="name or run directory; not needed when one runs")
    add_master(parser)


def add_master(parser: argparse.ArgumentParser, text: str = _MASTER) -> None:
    """`--master`, which leaves the runs of this machine out; the token is in the environment, as PASPS_TOKEN."""
    parser.add_argument("--master", metavar="URL[,URL...]", help=text)


def add_json(parser: argparse.ArgumentParser, text: str = JSON_HELP) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help=text)


def about_topology(text: str) -> str:
    """A description, with what TOPOLOGY may be."""
    return f"{text}\n{_WHICH}"


def at_least_one(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """Seconds, 0 too."""
    try:
        read = float(text)
    except ValueError:
        read = math.nan
    if not 0 <= read < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds of at least 0, got {text!r}")
    return read


def seconds_above_zero(text: str) -> float:
    """Seconds, not 0."""
    read = seconds(text)
    if not read:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return read


def events_a_second(text: str) -> float:
    """A rate, not 0."""
    try:
        read = float(text)
    except ValueError:
        read = math.nan
    if not 0 < read < math.inf:
        raise argparse.ArgumentTypeError(f"expected events a second, above 0, got {text!r}")
    return read


def given_options(texts: Sequence[str]) -> dict[str, Any]:
    """What `-o` was given, by key. A key that is one of ours without its first word is taken as the topology's own, and told.

    Raises:
        ConfigError: as `parse_option`.
    """
    found = dict(parse_option(text) for text in texts)
    for name in found:
        for meant in (prefix + name for prefix in OWN_PREFIXES if prefix + name in KEYS):
            print(f"-o {name}: taken as a key of the topology's own; if {meant!r} is meant, write that", file=sys.stderr, flush=True)
    return found


def kept_options(given: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What a run directory keeps of what was given: with the place of trained models, wherever `config` has it from, so that it holds
    from any directory.
    """
    artifacts = config.get(ARTIFACTS)
    return dict(given) if artifacts is None else {**given, ARTIFACTS: os.path.abspath(artifacts)}
