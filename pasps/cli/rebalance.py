"""`pasps rebalance`: gives a topology of a cluster other workers or pools. The one command that restarts workers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from pasps.cli import exit_codes
from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.find_topology import find_topology
from pasps.cli.options import add_json, add_topology, at_least_one, describe, seconds
from pasps.errors import InvalidError

_WHAT = """\
Gives a topology of a cluster another number of workers, or bolts other pools (the most replicas they can have), and places it
anew. It restarts the workers: the spouts stop, what is under way is finished for at most --wait seconds, then all workers are
started again, and what was not done is replayed. Back when the masters have written it down; `pasps status` shows the rest.
To change how many replicas work, without a restart, use `pasps scale`."""


def add_rebalance(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps rebalance`."""
    examples = ["pasps rebalance word-count --workers 8", "pasps rebalance word-count --pool count=16 --pool split=4 -w 10"]
    describe(parser, _WHAT, examples)
    add_topology(parser)
    parser.add_argument("--workers", metavar="N", type=at_least_one, help="so many worker processes from now on")
    pool_help = "so many replicas of a bolt at most from now on; may be given several times"
    parser.add_argument("--pool", metavar="BOLT=N", action="append", default=[], help=pool_help)
    parser.add_argument("-w", "--wait", metavar="S", type=seconds, help="most seconds to wait for what is under way")
    add_json(parser)


def rebalance(options: argparse.Namespace) -> int:
    """See the module."""
    pools = pools_of(options.pool)
    with find_topology(options.topology, options.master) as topology:
        if not isinstance(topology, ClusterTopology):
            problem = f"topology {topology.name!r} is a `pasps run` of this machine, whose workers and pools stay as they were started"
            raise InvalidError(f"{problem}; `pasps scale` changes replicas, for other workers end it and run it again with --workers")
        topology.client.rebalance(topology.name, options.workers, pools, options.wait)
    if options.json:
        print(json.dumps({"name": topology.name, "workers": options.workers, "pools": pools, "wait": options.wait}))
    else:
        changes = [*([f"{options.workers} workers"] if options.workers else []), *(f"pool {bolt}={count}" for bolt, count in pools.items())]
        print(f"{topology.name}: its workers are being restarted{' with ' if changes else ''}{', '.join(changes)}; see `pasps status`")
    return exit_codes.OK


def pools_of(texts: Sequence[str]) -> dict[str, int]:
    """Replicas by bolt.

    Raises:
        InvalidError: not of the form bolt=n.
    """
    found: dict[str, int] = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.partition("="))
        if not equals or not name or not number.isdecimal() or int(number) < 1:
            raise InvalidError(f"--pool {text!r}: expected bolt=n with n of at least 1, for example count=16")
        found[name] = int(number)
    return found
