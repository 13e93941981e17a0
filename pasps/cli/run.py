"""`pasps run`: checks what was asked, makes the run directory, chooses the view, and turns the end into an exit code."""

from __future__ import annotations

import argparse
import atexit
import logging
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.cli import exit_codes
from pasps.cli.options import add_json, at_least_one, describe, given_options, kept_options, seconds, seconds_above_zero
from pasps.cli.stop import EndNow, StopRequest, ignore_signals
from pasps.cli.supervisor import Plan, supervise
from pasps.cli.views.view import choose_view
from pasps.clock import SystemClock
from pasps.control.policies import policy_named
from pasps.control.settings import ElasticSettings
from pasps.errors import BrokenError, InvalidError, PaspsError, UnmovableError
from pasps.simulation.forecasters import check_served
from pasps.topology.elastic import ElasticConfig, elastic_config, policy_of
from pasps.topology.load_file import load
from pasps.topology.run_directory import About, RunDirectory
from pasps.topology.run_record import DRAIN_SECONDS
from pasps.topology.topology_verbs import check_scale
from pasps.topology.workforce import worker_count
from pasps.worker.tracebacks import without_our_frames

_WHAT = """\
Runs the topology in a Python file on worker processes of this machine, until every spout has raised EndOfInput and
everything it emitted is done, until --duration, or until Ctrl-C, SIGTERM or `pasps kill` from another terminal. Then the
spouts stop, what is under way is finished, and a summary is printed. A second Ctrl-C ends at once.

While it runs, `pasps list`, `status`, `top`, `scale` and the others reach it from other terminals."""

_EXAMPLES = (
    "pasps run word_count.py",
    "pasps run word_count.py --workers 4 --duration 60 --scale count=6",
    "pasps run word_count.py -o topology.max.spout.pending=5000 -o events.total=1000",
    "pasps run word_count.py --json >run.jsonl",
)

_JSON_HELP = "one JSON object a second on standard output and a summary object at the end, instead of the view"
_DRAIN_HELP = f"most seconds to wait for what is under way (default: {DRAIN_SECONDS:g})"
_RUN_DIR_HELP = "keep everything of the run here: an empty or a new directory (default: one of its own under ~/.local/state/pasps)"


def add_run(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps run`."""
    describe(parser, _WHAT, _EXAMPLES, exit_codes.HELP)
    add = parser.add_argument
    add("file", metavar="FILE", help="a Python file with a Topology class, or with what TopologyBuilder.create_topology returned")
    add("--topology", metavar="NAME", help="which one, when the file has several: the name of the class, the variable or the topology")
    add("--name", help="run it under this name")
    add("--workers", metavar="N", type=at_least_one, help="worker processes (default: topology.workers, else the number of cores)")
    add("--duration", metavar="S", type=seconds_above_zero, help="stop the spouts after S seconds")
    add("-o", "--option", metavar="KEY=VALUE", action="append", default=[], help="a configuration key; may be given several times")
    add("--scale", metavar="BOLT=N", action="append", default=[], help="start with N active replicas of a bolt; may be given several times")
    add("--drain-timeout", metavar="S", type=seconds, default=DRAIN_SECONDS, help=_DRAIN_HELP)
    add("--run-dir", metavar="DIR", help=_RUN_DIR_HELP)
    add("--no-tty", action="store_true", help="a line every two seconds instead of the live view; so it is anyway without a terminal")
    add_json(parser, _JSON_HELP)


def run(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code. Never raises for what a user did wrong."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=os.environ.get("PASPS_LOG", "WARNING"))
    atexit.register(ignore_signals)
    with StopRequest() as stop:
        try:
            return _run(options, stop)
        except (BrokenError, UnmovableError) as error:
            return _complain(without_our_frames(str(error)), exit_codes.NOT_STARTED)
        except InvalidError as error:
            return _complain(str(error), exit_codes.INVALID)
        except PaspsError as error:
            return _complain(f"{type(error).__name__}: {error}", exit_codes.BROKEN)
        except EndNow as now:
            return _complain("ended before it ran", exit_codes.BY_SIGNAL + now.number)
        except BrokenPipeError:
            # whoever read our output has left; Python must not try to flush the rest of it
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return exit_codes.BY_SIGNAL + signal.SIGPIPE


def _run(options: argparse.Namespace, stop: StopRequest) -> int:
    given = given_options(options.option)
    if options.workers is not None:
        given["topology.workers"] = options.workers
    plan, clock = _plan(options, given), SystemClock()
    control = control_of(plan.blueprint, options.file)
    kept = kept_options(given, plan.blueprint.config)
    about = About(plan.blueprint.name, options.file, worker_count(plan.blueprint), kept, control.policy)
    with RunDirectory.create(about, clock, options.run_dir) as directory:
        plan = replace(plan, control=control.kept_in(directory))
        view = choose_view(plan.blueprint.name, str(directory.path), as_json=options.json, no_tty=options.no_tty)
        with view:
            outcome = supervise(plan, view, stop, clock, directory)
    view.summary(outcome)
    return outcome.exit_code


def _plan(options: argparse.Namespace, config: dict[str, Any]) -> Plan:
    # a file that prints while it is imported must not be taken for JSON
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        topology = load(options.file, options.topology)
    blueprint = blueprint_of(topology, options.name, config)
    return Plan(blueprint, parse_scales(options.scale, blueprint), options.duration, options.drain_timeout)


def control_of(blueprint: Blueprint, file: str) -> ElasticConfig:
    """Who decides on a run's replicas. Made before anything starts, so that what is wrong is refused.

    Raises:
        ConfigError: there is no such policy, or the predictor's address is none.
        InvalidError: the file of execution times is none, or the predictor that a run starts has no such model.
    """
    settings = ElasticSettings.from_config(blueprint.config)
    if policy_named(policy_of(blueprint)).forecasts and settings.predictor_url is None:
        check_served(settings.predictor, settings.artifacts)
    return elastic_config(blueprint, file)


def _complain(text: str, code: int) -> int:
    print(f"pasps run: {text}", file=sys.stderr, flush=True)
    return code


# ---- --scale, read and checked before anything starts


def parse_scales(texts: Iterable[str], blueprint: Blueprint) -> dict[str, int]:
    """Active replicas by bolt.

    Raises:
        InvalidError: not of the form bolt=n, no such bolt, or a number outside of 1 to its pool.
    """
    return dict(_parsed(text, blueprint) for text in texts)


def _parsed(text: str, blueprint: Blueprint) -> tuple[str, int]:
    name, equals, number = (part.strip() for part in text.partition("="))
    if not equals or not name or not number:
        raise InvalidError(f"--scale {text!r}: expected bolt=n, for example count=4")
    check_scale(blueprint, name, int(number) if number.isdecimal() else number, f"--scale {text!r}")
    return name, int(number)
