"""`pasps activate`: lets the spouts emit again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

from pasps.cli import exit_codes
from pasps.cli.find_topology import find_topology
from pasps.cli.options import about_topology, add_json, add_topology, describe


def add_activate(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps activate`."""
    what = "Lets the spouts of a topology emit again."
    describe(parser, about_topology(what), ["pasps activate", "pasps activate word-count"])
    add_topology(parser)
    add_json(parser)


def activate(options: argparse.Namespace) -> int:
    """See the module."""
    with find_topology(options.topology, options.master) as topology:
        done = topology.call("activate")
    print(json.dumps(done) if options.json else activity_text(topology.name, done))
    return exit_codes.OK


def activity_text(name: str, done: Mapping[str, str]) -> str:
    """What became of it; `wanted` is there when it cannot be done yet, and is kept."""
    now = f"{name} is {done['state']}"
    return f"{now}; it will be {done['wanted']} when it runs" if "wanted" in done else now
