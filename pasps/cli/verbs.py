"""The verbs that change a topology that runs, each one call of it: `pasps scale`, `activate`, `deactivate`, `rebalance`, `kill`.

They load nothing of what runs a topology, so that they are there at once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from pasps.cli import exit_codes
from pasps.cli.asking.asked_topology import ClusterTopology, ask
from pasps.cli.asking.which_run import find_topology
from pasps.cli.options import about_topology, add_json, add_master, add_topology, at_least_one, describe, seconds
from pasps.cluster.master.records import TopologyView
from pasps.errors import InvalidError
from pasps.topology.verbs import Activate, Activity, Deactivate, Kill, Scale, Scaled, ScaleDone, Verb

# ---- scale

_SCALE = """\
Lets N replicas of a bolt work, while tuples flow: from 1 to the bolt's pool. Back when every worker routes by it. A bolt that
was set by hand stays as it is, whatever the policy plans, until BOLT=auto gives it back to the policy. Several may be given;
all are checked before the first is changed."""
_AUTO: Literal["auto"] = "auto"


def add_scale(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps scale`."""
    examples = ["pasps scale count=6", "pasps scale word-count split=2 count=6", "pasps scale word-count count=auto"]
    describe(parser, about_topology(_SCALE), examples)
    parser.add_argument("words", metavar="[TOPOLOGY] BOLT=N", nargs="+", help="the topology, if it has to be said, and the bolts")
    add_master(parser)
    add_json(parser)


def scale(options: argparse.Namespace) -> int:
    """How many replicas of a bolt work, set by hand."""
    wanted, bolts = scale_of(options.words)
    with find_topology(wanted, options.master) as topology:
        done = ask(topology, Scale(bolts))
    print(json.dumps(msgspec.to_builtins(done)) if options.json else "\n".join(scaled_lines(done)))
    return scaled_code(done)


def scale_of(words: Sequence[str]) -> tuple[str | None, dict[str, int | Literal["auto"]]]:
    """The topology, if it is said, and what is wanted of each bolt.

    Raises:
        InvalidError: not of the form bolt=n.
    """
    topology = words[0] if "=" not in words[0] else None
    pairs = words[1:] if topology is not None else words
    if not pairs:
        raise InvalidError("expected at least one BOLT=N, for example count=4")
    return topology, dict(_count_of(text) for text in pairs)


def _count_of(text: str) -> tuple[str, int | Literal["auto"]]:
    name, equals, number = (part.strip() for part in text.partition("="))
    if not equals or not name or not (number == _AUTO or number.isdecimal()):
        raise InvalidError(f"{text!r}: expected bolt=n or bolt=auto, for example count=4")
    return name, _AUTO if number == _AUTO else int(number)


def scaled_lines(done: ScaleDone) -> list[str]:
    """What became of each bolt, for people."""
    return [f"{name}: {_became(bolt)}" for name, bolt in done.bolts.items()]


def _became(bolt: Scaled) -> str:
    if bolt.error is not None:
        return f"{bolt.after} active, not as asked: {bolt.error[1]}"
    if bolt.planned is None:
        return f"{bolt.after} active, the policy decides from now on"
    return f"{bolt.before} -> {bolt.after} active" if bolt.before != bolt.after else f"{bolt.after} active, as before"


def scaled_code(done: ScaleDone) -> int:
    """The exit code for the first bolt that is not as asked."""
    kinds = [bolt.error[0] for bolt in done.bolts.values() if bolt.error is not None]
    if not kinds:
        return exit_codes.OK
    return exit_codes.NO_ANSWER if kinds[0] == "TimeoutExpiredError" else exit_codes.INVALID


# ---- activate and deactivate


def add_activate(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps activate`."""
    what = "Lets the spouts of a topology emit again."
    describe(parser, about_topology(what), ["pasps activate", "pasps activate word-count"])
    add_topology(parser)
    add_json(parser)


def activate(options: argparse.Namespace) -> int:
    """Lets the spouts emit again."""
    return _switched(options, Activate())


def add_deactivate(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps deactivate`."""
    what = "Stops the spouts of a topology; what is under way goes on. `pasps activate` starts them again."
    describe(parser, about_topology(what), ["pasps deactivate", "pasps deactivate word-count"])
    add_topology(parser)
    add_json(parser)


def deactivate(options: argparse.Namespace) -> int:
    """Stops the spouts; what is under way goes on."""
    return _switched(options, Deactivate())


def _switched(options: argparse.Namespace, verb: Verb[Activity]) -> int:
    with find_topology(options.topology, options.master) as topology:
        done = ask(topology, verb)
    print(json.dumps(msgspec.to_builtins(done)) if options.json else _activity_text(topology.name, done))
    return exit_codes.OK


def _activity_text(name: str, done: Activity) -> str:
    now = f"{name} is {done.state}"
    return now if done.wanted is None else f"{now}; it will be {done.wanted} when it runs"


# ---- rebalance

_REBALANCE = """\
Gives a topology of a cluster another number of workers, or bolts other pools (the most replicas they can have), and places it
anew. It restarts the workers: the spouts stop, what is under way is finished for at most --wait seconds, then all workers are
started again, and what was not done is replayed. Back when the masters have written it down; `pasps status` shows the rest.
To change how many replicas work, without a restart, use `pasps scale`."""


def add_rebalance(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps rebalance`."""
    examples = ["pasps rebalance word-count --workers 8", "pasps rebalance word-count --pool count=16 --pool split=4 -w 10"]
    describe(parser, _REBALANCE, examples)
    add_topology(parser)
    parser.add_argument("--workers", metavar="N", type=at_least_one, help="so many worker processes from now on")
    pool_help = "so many replicas of a bolt at most from now on; may be given several times"
    parser.add_argument("--pool", metavar="BOLT=N", action="append", default=[], help=pool_help)
    parser.add_argument("-w", "--wait", metavar="S", type=seconds, help="most seconds to wait for what is under way")
    add_json(parser)


def rebalance(options: argparse.Namespace) -> int:
    """Gives a topology of a cluster other workers or pools. The one command that restarts workers."""
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


# ---- kill

_KILL = """\
Stops the spouts, waits until what is under way is done, and ends the run; back when it has ended, with what was left. When it
drains already, the shorter of the two times counts."""

_KILL_CODES = """\
exit codes:
  0    it ended, and nothing was left
  1    something in pasps broke, the run broke off, or no master of the cluster answers
  2    a wrong option or token, or a name that several runs have
  4    not drained in time: tuples were left
  6    no such topology runs
  7    a topology of a cluster has not ended in time; it ends all the same
  130  Ctrl-C; the topology ends all the same
"""


def add_kill(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps kill`."""
    examples = ["pasps kill", "pasps kill word-count --wait 5", "pasps kill word-count --wait 0"]
    describe(parser, about_topology(_KILL), examples, _KILL_CODES)
    add_topology(parser)
    wait_help = "most seconds to wait for what is under way (default: the run's own --drain-timeout)"
    parser.add_argument("-w", "--wait", metavar="S", type=seconds, help=wait_help)
    add_json(parser, "the run's summary as a JSON object on standard output, instead of text")


def kill(options: argparse.Namespace) -> int:
    """Ends a run in another terminal, as Ctrl-C there would."""
    with find_topology(options.topology, options.master) as topology:
        # no limit of our own: the run itself keeps the time
        summary = ask(topology, Kill(options.wait))
    topology.wait_until_over()
    if options.json:
        print(json.dumps(summary))
    else:
        host = topology.known.host if isinstance(topology.known, TopologyView) else ""
        print(kill_text(summary, host) if summary else f"{topology.name} ended; nobody is left who knows how")
    return exit_codes.LEFT_OVER if summary and summary["left"] else exit_codes.OK


def kill_text(summary: Mapping[str, Any], host: str = "") -> str:
    """How it ended, for people; `host` is where its files are, when that is another machine."""
    left = ", ".join(f"{name}: {count:,}" for name, count in summary["left"].items())
    head = f"{summary['topology']} ended after {summary['seconds']:.1f} s, {f'not drained; left: {left}' if left else 'drained'}"
    return f"{head}\nevents in {summary['emitted']:,}, acked {summary['acked']:,}; summary in {summary['run_dir']}{host and f' on {host}'}"
