"""`pasps cluster`: a real cluster on this machine, for development: up, status, down."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.asking.which_run import cluster_file
from pasps.cli.options import add_json, at_least_one, describe, seconds_above_zero
from pasps.cli.words import table
from pasps.cluster.dev.cluster import START_SECONDS, DevCluster, PartStatus
from pasps.cluster.dev.wanted import CORES, WORKERS, WantedCluster
from pasps.errors import BrokenError
from pasps.topology.run_list import base_directory

_WHAT = """\
A real cluster on this machine, on loopback, for development: ZooKeeper, Spark's master and workers, the predictor, and a pasps
master, all from what pip installed, and a Java. `pasps submit` finds it by itself while it is up."""

_CODES = """\
exit codes:
  0    done; `pasps cluster ACTION --help` has the others
"""

_UP = """\
Brings the cluster up, and is back when all of it answers; it then runs on its own. Parts that are dead are started again, with the
same addresses and data. When a part does not come up, it says why, and ends what it had started.
Cores are slots for workers of topologies: they may be more than the machine has."""

_UP_CODES = """\
exit codes:
  0    it is up, or was up already
  1    something in pasps broke
  2    refused: a wrong option, a port that is taken, or a cluster with other numbers is up
  3    a part did not come up, or Java or a package is missing; nothing is left running
  7    somebody else brings it up or down right now
  130  Ctrl-C; nothing is left running
"""

_STATUS_CODES = """\
exit codes:
  0    all parts are up
  1    a part is dead, or does not answer
  6    no cluster is up
"""

_DOWN = """\
Ends the cluster: its topologies without draining them, then every process that it or they have started. Its data go with it; the
logs stay in the home until the next `up`. Works as well when half of it is dead, and when none is up."""

_DOWN_CODES = """\
exit codes:
  0    nothing of it runs any more
  1    something in pasps broke, or a process does not end
  7    somebody else brings it up or down right now
"""

_HEAD = ("part", "process", "address", "state")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """What all actions are."""
    describe(parser, _WHAT, ["pasps cluster up", "pasps cluster status", "pasps cluster down"], _CODES)


def add_cluster_up(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps cluster up`."""
    describe(parser, _UP, ["pasps cluster up", "pasps cluster up --workers 3 --cores 2"], _UP_CODES)
    parser.add_argument("--workers", metavar="N", type=at_least_one, help=f"Spark workers (default: {WORKERS})")
    parser.add_argument("--cores", metavar="M", type=at_least_one, help=f"slots of each of them (default: {CORES})")
    parser.add_argument("--port", metavar="P", type=at_least_one, help="port of the pasps master (default: a free one)")
    timeout_help = f"most seconds to wait until all of it answers (default: {START_SECONDS:g})"
    parser.add_argument("--timeout", metavar="S", type=seconds_above_zero, default=START_SECONDS, help=timeout_help)
    _add_home(parser)


def add_cluster_status(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps cluster status`."""
    describe(parser, "Asks each part whether it is up.", ["pasps cluster status", "pasps cluster status --json"], _STATUS_CODES)
    _add_home(parser)


def add_cluster_down(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps cluster down`."""
    describe(parser, _DOWN, ["pasps cluster down"], _DOWN_CODES)
    _add_home(parser)


def _add_home(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--home", metavar="DIR", type=Path, help="its directory (default: `cluster` where pasps keeps its runs)")
    add_json(parser)


def _cluster_of(options: argparse.Namespace) -> DevCluster:
    return DevCluster(options.home or cluster_file(base_directory()).parent, told=_tell)


def cluster_up(options: argparse.Namespace) -> int:
    """Bring it up."""
    dev = _cluster_of(options)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        came = dev.up(WantedCluster(options.workers, options.cores, options.port), options.timeout)
        if came and dev.quicken():
            _tell("Spark's classes are kept for quicker starts, once, in the background")
    except BrokenError as error:
        print(f"pasps cluster: {error}", file=sys.stderr, flush=True)
        return exit_codes.NOT_STARTED
    finally:
        dev.detach()
    if options.json:
        print(json.dumps(status_object(dev, dev.status())))
        return exit_codes.OK
    state = dev.state
    print("the cluster is up" if came else "the cluster was up already")
    print(f"master     {state.master}")
    print(f"spark      {state.spark}, {state.workers} workers of {state.cores} cores; http://127.0.0.1:{state.ports['spark-master-ui']}")
    print(f"           SPARK_CONF_DIR={dev.home / 'spark' / 'conf'} for other programs, which need its secret")
    print(f"zookeeper  {state.zookeeper}")
    print(f"home       {dev.home}")
    return exit_codes.OK


def cluster_status(options: argparse.Namespace) -> int:
    """Show its parts."""
    dev = _cluster_of(options)
    parts = dev.status()
    if options.json:
        print(json.dumps(status_object(dev, parts)))
    elif not parts:
        print(f"no cluster is up in {dev.home}")
    else:
        print(status_text(parts))
        if dead := [part.name for part in parts if not part.alive]:
            print(f"\n`pasps cluster up` starts {', '.join(dead)} again; `pasps cluster down` ends the rest")
    if not parts:
        return exit_codes.NOT_RUNNING
    return exit_codes.OK if _all_up(parts) else exit_codes.BROKEN


def cluster_down(options: argparse.Namespace) -> int:
    """End all of it."""
    dev = _cluster_of(options)
    ended = dev.down()
    if options.json:
        print(json.dumps({"home": str(dev.home), "topologies": ended.topologies, "processes": ended.processes}))
    elif not ended.processes:
        print(f"no cluster is up in {dev.home}")
    else:
        topologies = f" with {', '.join(ended.topologies)}" if ended.topologies else ""
        print(f"the cluster is down{topologies}: {ended.processes} processes ended")
    return exit_codes.OK


def status_text(parts: Sequence[PartStatus]) -> str:
    """The parts for people."""
    rows = [(part.name, "-" if part.pid is None else str(part.pid), part.address, part.problem or "up") for part in parts]
    return "\n".join(line.rstrip() for line in table(_HEAD, rows, left=(0, 2, 3)))


def status_object(dev: DevCluster, parts: Sequence[PartStatus]) -> dict[str, Any]:
    """The cluster as JSON has it, without secrets; `up` says whether all of it is."""
    found: dict[str, Any] = {"home": str(dev.home), "up": _all_up(parts), "parts": [_part_object(dev, part) for part in parts]}
    if parts:
        state = dev.state
        found |= {name: getattr(state, name) for name in ("master", "spark", "zookeeper", "predictor", "workers", "cores")}
    return found


def _all_up(parts: Sequence[PartStatus]) -> bool:
    return bool(parts) and all(part.problem is None for part in parts)


def _part_object(dev: DevCluster, part: PartStatus) -> dict[str, Any]:
    return {
        "name": part.name,
        "pid": part.pid,
        "address": part.address,
        "alive": part.alive,
        "problem": part.problem,
        "log": str(dev.log(part.name)),
    }


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _terminated(number: int, _: FrameType | None) -> None:
    """Let `up` end what it has started."""
    raise SystemExit(exit_codes.BY_SIGNAL + number)
