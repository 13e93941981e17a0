"""`pasps submit`: ships a topology file to a cluster, and follows it until it runs."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pasps.api.topology import blueprint_of
from pasps.cli import exit_codes
from pasps.cli.asking.which_run import the_cluster
from pasps.cli.options import add_json, add_master, at_least_one, describe, seconds
from pasps.cli.topology_file import add_file, add_package, load_here, missing_module, request_of
from pasps.clock import Clock, Deadline, SystemClock
from pasps.cluster.driver.load_package import check_paths
from pasps.cluster.master.client import MasterAwayError, MasterClient
from pasps.cluster.master.failures import UnknownTopologyError
from pasps.cluster.master.http_exchange import LostError
from pasps.cluster.master.records import TopologyView
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.control.policies import inlined
from pasps.errors import InvalidError, TimeoutExpiredError
from pasps.topology.load_file import FileError

_WHAT = """\
Ships a topology to a cluster: its file, the modules it imports from beside it, its execution times, and what the options name.
It is checked here and by the master before anything starts; a name that is in use is refused. Then it is followed until it
runs. When there are not enough places for its workers it waits for them in the cluster, and starts by itself."""

_EXAMPLES = (
    "pasps submit word_count.py",
    "pasps submit word_count.py --name second --workers 4 -o topology.max.spout.pending=5000",
    "pasps submit word_count.py --py-files shared.py,models.zip --requirements requirements.txt --wait 300",
    "PASPS_TOKEN=... pasps submit word_count.py --master https://master.example:8627",
)

_CODES = """\
exit codes:
  0    it runs, or waits for places, or with --no-wait was taken
  1    something in pasps broke, or no master answers
  2    nothing was submitted: a wrong option, file, topology or token, a name in use, or no cluster is known
  3    it was submitted, and could not start; it stays as failed until `pasps kill`
  7    the master did not answer in time, or it is still starting after --wait seconds
  130  Ctrl-C; once it is submitted it goes on
"""


def add_submit(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps submit`."""
    describe(parser, _WHAT, _EXAMPLES, _CODES)
    add_file(parser)
    add = parser.add_argument
    add("--name", help="submit it under this name")
    add("--workers", metavar="N", type=at_least_one, help="worker processes (default: topology.workers, else 2)")
    add_package(parser)
    add("--inactive", action="store_true", help="with stopped spouts, until `pasps activate`")
    add("--no-wait", action="store_true", help="be back as soon as the cluster has it")
    add("--wait", metavar="S", type=seconds, default=60.0, help="follow it for at most S seconds (default: 60)")
    add_master(parser, "the cluster whose master answers there (default: PASPS_MASTER, else the development cluster while it is up)")
    add_json(parser, "one JSON object on standard output when it is done, and progress on standard error")


def submit(options: argparse.Namespace) -> int:
    """See the module."""
    say = timed(_say_aside if options.json else _say, SystemClock())
    request = replace(request_of(options), name=options.name, workers=options.workers, inactive=options.inactive)
    say(f"checking {request.file} here")
    name, files = checked_here(request, say)
    request = replace(request, options={**request.options, **files})
    cluster = the_cluster(options.master)
    _check_name(cluster, name)
    with tempfile.TemporaryDirectory(prefix="pasps-submit-") as scratch:
        package = Path(scratch) / "package.zip"
        build_package(request, package, say)
        taken = cluster.submit(package, say)
    say(f"submitted {taken.name}")
    start = Start(taken.name, "submitted", "")
    if not options.no_wait:
        start = follow_start(cluster, taken.name, options.wait, say, threading.Event().wait, SystemClock())
    if options.json:
        told = {"name": start.name, "state": start.state, "detail": start.detail, "workers": taken.workers, "master": cluster.url}
        print(json.dumps(told), flush=True)
    else:
        say(start.text("" if options.master is None else f" --master {options.master}"))
    return start.exit_code


def timed(say: Callable[[str], None], clock: Clock) -> Callable[[str], None]:
    """The same, with the seconds since now in front: whoever waits sees for what, and where the time went."""
    began = clock.now()
    return lambda text: say(f"{clock.now() - began:5.1f} s  {text}")


def checked_here(request: PackageRequest, say: Callable[[str], None]) -> tuple[str | None, dict[str, Any]]:
    """Its name, after its file was imported and its topology checked here; None when only the cluster can do that.

    And the options that name files for its policy, which stay here: with what is in these files.

    Raises:
        InvalidError: it cannot be imported, or cannot run.
    """
    options = dict(request.options) | ({} if request.workers is None else {"topology.workers": request.workers})
    try:
        topology = load_here(request)
    except FileError as error:
        missing = missing_module(error)
        if request.requirements is None or missing is None:
            raise
        say(f"module {missing!r} is not here, so the master alone checks it, with what {request.requirements} asks for")
        return request.name, inlined(options)
    blueprint = blueprint_of(topology, request.name, options)
    check_paths(blueprint)
    return blueprint.name, inlined(blueprint.config)


def _check_name(cluster: MasterClient, name: str | None) -> None:
    """Before anything long is done; the master has the last word."""
    for view in cluster.topologies():
        if view.name == name:
            cure = f"choose another one with --name, or end that with `pasps kill {name}`"
            raise InvalidError(f"topology {name!r} is in the cluster at {cluster.url} already, {view.state}; {cure}")


def _say(text: str) -> None:
    print(text, flush=True)


def _say_aside(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- what becomes of it, until it runs, has failed, or the time is over

_LOOK_SECONDS = 0.1
_UP = ("running", "inactive", "draining")


@dataclass(frozen=True, slots=True)
class Start:
    """How far it came: a state of the cluster, "submitted" when nobody looked, or "gone" when it is not there any more."""

    name: str
    state: str
    detail: str

    @property
    def exit_code(self) -> int:
        """See `exit_codes`."""
        if self.state == "failed":
            return exit_codes.NOT_STARTED
        return exit_codes.NO_ANSWER if self.state in ("starting", "lost") else exit_codes.OK

    def text(self, option: str) -> str:
        """For people, with where to watch; `option` goes behind the commands."""
        name = self.name
        watch = f"watch it with `pasps top {name}{option}`, see what it prints with `pasps logs {name} -f{option}`"
        if self.state in _UP:
            stopped = f", its spouts are stopped until `pasps activate {name}{option}`" if self.state == "inactive" else ""
            return f"{name} is {self.state}{stopped}; {watch}"
        if self.state == "waiting":
            cure = f"see `pasps list{option}`, or take it back with `pasps kill {name}{option}`"
            return f"{name} waits: {self.detail}\nit starts by itself; {cure}"
        if self.state == "failed":
            return f"{name} could not start: {self.detail or 'no reason is known'}\nremove it with `pasps kill {name}{option}`"
        if self.state in ("ended", "gone"):
            return f"{name} has ended already; see `pasps list --all{option}`"
        if self.state == "submitted":
            return watch
        return f"{name} is still {self.state}; it goes on; {watch}"


def follow_start(
    cluster: MasterClient,
    name: str,
    seconds: float,
    say: Callable[[str], None],
    pause: Callable[[float], object],
    clock: Clock,
) -> Start:
    """Look until it runs or will not, at most for so many seconds; says what changes meanwhile. A master may go away and come back.

    Raises:
        PaspsError: a master refuses to tell.
    """
    deadline, said = Deadline(clock, seconds), ""
    start = Start(name, "starting", "")
    while True:
        try:
            start = _of(cluster.topology(name))
            news = f"{start.state}: {start.detail}" if start.detail else start.state
        except UnknownTopologyError:
            return Start(name, "gone", "")
        except (MasterAwayError, LostError, TimeoutExpiredError) as error:
            news = str(error)
        if start.state not in ("starting", "waiting", "lost"):
            return start
        if news != said:
            say(said := news)
        if deadline.expired():
            return start
        pause(_LOOK_SECONDS)


def _of(view: TopologyView) -> Start:
    return Start(view.name, view.state, view.detail)
