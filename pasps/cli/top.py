"""`pasps top`: the live view of a topology that runs in another terminal."""

from __future__ import annotations

import argparse
import threading

from pasps.cli import exit_codes
from pasps.cli.asking.asked_topology import AskedTopology, EndedMeanwhileError, ask
from pasps.cli.asking.which_run import find_topology
from pasps.cli.options import about_topology, add_json, add_topology, at_least_one, describe, seconds_above_zero
from pasps.cli.views.frame import Frames
from pasps.cli.views.view import View, choose_view
from pasps.clock import Clock, Deadline, SystemClock
from pasps.errors import ClosedError, TimeoutExpiredError
from pasps.topology.status import status_from
from pasps.topology.verbs import GetStatus

_WHAT = """\
Shows what a topology does now, as `pasps run` does in its own terminal, until it ends or until Ctrl-C."""

_FIRST_SECONDS = 0.5
_PATIENCE_SECONDS = 60.0
"""How long a topology of a cluster may not answer: its master or its driver may be about to be replaced."""


def add_top(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps top`."""
    describe(parser, about_topology(_WHAT), ["pasps top", "pasps top word-count --interval 5", "pasps top word-count --json --count 10"])
    add_topology(parser)
    parser.add_argument("--interval", metavar="S", type=seconds_above_zero, help="seconds between two looks")
    parser.add_argument("--count", metavar="N", type=at_least_one, help="end after N looks")
    parser.add_argument("--no-tty", action="store_true", help="lines instead of the live view; so it is anyway without a terminal")
    add_json(parser, "one JSON object a second, as those of `pasps run --json`")


def top(options: argparse.Namespace) -> int:
    """See the module."""
    try:
        with find_topology(options.topology, options.master) as topology:
            view = choose_view(topology.name, topology.place, as_json=options.json, no_tty=options.no_tty)
            with view:
                ended = _follow(topology, view, options, SystemClock())
    except KeyboardInterrupt:
        return exit_codes.OK
    if ended and not options.json:
        print(f"{topology.name}: {topology.how_it_ended()}")
    return exit_codes.OK


def _follow(topology: AskedTopology, view: View, options: argparse.Namespace, clock: Clock) -> bool:
    """Look until it ends, then True, or until enough was shown."""
    pause, frames, shown, said = threading.Event(), None, 0, ""
    patience = Deadline(clock, _PATIENCE_SECONDS)
    while shown != options.count:
        try:
            status = status_from(ask(topology, GetStatus()))
        except TimeoutExpiredError as late:
            view.say(said := str(late))
            continue
        except (ClosedError, EndedMeanwhileError):
            topology.wait_until_over()
            return True
        except topology.passing as error:
            if said == "" or patience.expired():
                raise
            view.say(said := str(error))
            frames = None  # whoever answers next may have begun to count anew
            pause.wait(_FIRST_SECONDS)
            continue
        patience = Deadline(clock, _PATIENCE_SECONDS)
        if said != (said := f"{status.state}; Ctrl-C leaves"):
            view.say(said)
        if frames is None:
            # the first look shows nothing: rates are differences of two
            frames = Frames(status.components, status.workers_wanted, began=0.0)
            frames.of(status)
            pause.wait(_FIRST_SECONDS)
            continue
        view.show(frames.of(status))
        shown += 1
        if shown != options.count:
            pause.wait(options.interval or view.interval)
    return False
