"""`pasps deactivate`: stops the spouts; what is under way goes on."""

from __future__ import annotations

import argparse
import json

from pasps.cli import exit_codes
from pasps.cli.activate import activity_text
from pasps.cli.find_topology import find_topology
from pasps.cli.options import about_topology, add_json, add_topology, describe


def add_deactivate(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps deactivate`."""
    what = "Stops the spouts of a topology; what is under way goes on. `pasps activate` starts them again."
    describe(parser, about_topology(what), ["pasps deactivate", "pasps deactivate word-count"])
    add_topology(parser)
    add_json(parser)


def deactivate(options: argparse.Namespace) -> int:
    """See the module."""
    with find_topology(options.topology, options.master) as topology:
        done = topology.call("deactivate")
    print(json.dumps(done) if options.json else activity_text(topology.name, done))
    return exit_codes.OK
