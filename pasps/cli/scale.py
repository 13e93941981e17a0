"""`pasps scale`: how many replicas of a bolt work, set by hand."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.find_topology import find_topology
from pasps.cli.options import about_topology, add_json, add_master, describe
from pasps.errors import InvalidError
from pasps.topology.topology_verbs import SCALE_SECONDS

_WHAT = """\
Lets N replicas of a bolt work, while tuples flow: from 1 to the bolt's pool. Back when every worker routes by it. A bolt that
was set by hand stays as it is, whatever the policy plans, until BOLT=auto gives it back to the policy. Several may be given;
all are checked before the first is changed."""
_AUTO = "auto"


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps scale`."""
    examples = ["pasps scale count=6", "pasps scale word-count split=2 count=6", "pasps scale word-count count=auto"]
    describe(parser, about_topology(_WHAT), examples)
    parser.add_argument("words", metavar="[TOPOLOGY] BOLT=N", nargs="+", help="the topology, if it has to be said, and the bolts")
    add_master(parser)
    add_json(parser)


def scale(options: argparse.Namespace) -> int:
    """See the module."""
    wanted, bolts = parsed(options.words)
    with find_topology(wanted, options.master) as topology:
        done = topology.call("scale", {"bolts": bolts}, SCALE_SECONDS + 5)
    print(json.dumps(done) if options.json else "\n".join(scaled_lines(done)))
    return scaled_code(done)


def parsed(words: Sequence[str]) -> tuple[str | None, dict[str, int | str]]:
    """The topology, if it is said, and what is wanted of each bolt.

    Raises:
        InvalidError: not of the form bolt=n.
    """
    topology = words[0] if "=" not in words[0] else None
    pairs = words[1:] if topology is not None else words
    if not pairs:
        raise InvalidError("expected at least one BOLT=N, for example count=4")
    return topology, dict(_pair(text) for text in pairs)


def _pair(text: str) -> tuple[str, int | str]:
    name, equals, number = (part.strip() for part in text.partition("="))
    if not equals or not name or not (number == _AUTO or number.isdecimal()):
        raise InvalidError(f"{text!r}: expected bolt=n or bolt=auto, for example count=4")
    return name, _AUTO if number == _AUTO else int(number)


def scaled_lines(done: Mapping[str, Any]) -> list[str]:
    """What became of each bolt, for people."""
    return [f"{name}: {_became(bolt)}" for name, bolt in done["bolts"].items()]


def _became(bolt: Mapping[str, Any]) -> str:
    before, planned, after, error = bolt["before"], bolt["planned"], bolt["after"], bolt["error"]
    if error is not None:
        return f"{after} active, not as asked: {error[1]}"
    if planned is None:
        return f"{after} active, the policy decides from now on"
    return f"{before} -> {after} active" if before != after else f"{after} active, as before"


def scaled_code(done: Mapping[str, Any]) -> int:
    """The exit code for the first bolt that is not as asked."""
    kinds = [bolt["error"][0] for bolt in done["bolts"].values() if bolt["error"] is not None]
    if not kinds:
        return exit_codes.OK
    return exit_codes.NO_ANSWER if kinds[0] == "TimeoutExpiredError" else exit_codes.INVALID
