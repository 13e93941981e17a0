"""`pasps run`: checks what was asked, chooses the view, and turns the end into an exit code."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import signal
import sys
from contextlib import redirect_stdout
from typing import Any, cast

from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.cli import exit_codes
from pasps.cli.load_file import load
from pasps.cli.scaling import parse_scales
from pasps.cli.stop import EndNow, StopRequest
from pasps.cli.supervisor import Plan, supervise
from pasps.cli.tracebacks import without_our_frames
from pasps.cli.view import JsonView, PlainView, View
from pasps.clock import SystemClock
from pasps.config import parse_option
from pasps.errors import BrokenError, InvalidError, PaspsError, UnmovableError


def run(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code. Never raises for what a user did wrong."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=os.environ.get("PASPS_LOG", "WARNING"))
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
    plan = _plan(options)
    view = _view(options, plan.blueprint)
    with view:
        outcome = supervise(plan, view, stop, SystemClock())
    stop.ignore()
    view.summary(outcome)
    return outcome.exit_code


def _plan(options: argparse.Namespace) -> Plan:
    # a file that prints while it is imported must not be taken for JSON
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        topology = load(options.file, options.topology)
    config: dict[str, Any] = dict(parse_option(text) for text in options.option)
    if options.workers is not None:
        config["topology.workers"] = options.workers
    blueprint = blueprint_of(topology, options.name, config)
    return Plan(blueprint, parse_scales(options.scale, blueprint), options.duration, options.drain_timeout)


def _view(options: argparse.Namespace, blueprint: Blueprint) -> View:
    if options.json:
        return JsonView()
    if options.no_tty or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return PlainView()
    live_view = importlib.import_module("pasps.cli.live_view")
    return cast("View", live_view.LiveView(blueprint.name))


def _complain(text: str, code: int) -> int:
    print(f"pasps run: {text}", file=sys.stderr, flush=True)
    return code
