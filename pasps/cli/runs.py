"""`pasps runs`: the runs that `pasps run` left on this machine, which of them are kept, and what they take."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.find_run import moment, run_of_directory
from pasps.cli.list import run_object
from pasps.cli.options import add_json, describe
from pasps.cli.words import table
from pasps.errors import BrokenError, InvalidError
from pasps.topology.run_list import (
    MOST_BYTES,
    MOST_DAYS,
    KnownRun,
    base_directory,
    contents,
    is_kept,
    keep_run,
    known_runs,
    release_run,
    remove_run,
)

_WHAT = f"""\
Lists the runs of this machine with what they take, the oldest first; keeps one for good, releases it again, or removes it.
Of runs that are over `pasps run` removes those that are older than {MOST_DAYS:g} days, and the oldest when all take more than
{MOST_BYTES >> 30} GB: none that lives, none that is kept, and nothing in a directory that was given with --run-dir.
RUN is a run directory or its last part, or the name of a topology that has only one; `keep` takes the newest of several."""

_CODES = """\
exit codes:
  0    done
  1    a directory cannot be written
  2    no such run, several of that name, or one that runs"""

_HEAD = ("run", "topology", "state", "started", "size", "kept")


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    examples = ("pasps runs", "pasps runs keep word-count", "pasps runs remove word-count-20260102-030405-77")
    describe(parser, _WHAT, examples, _CODES)
    parser.add_argument("action", choices=("list", "keep", "release", "remove"), nargs="?", default="list", help="default: list")
    parser.add_argument("runs", metavar="RUN", nargs="*", help="which ones")
    add_json(parser, "an array of objects on standard output, instead of text: all runs, or those that were named")


def runs(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: no such run, several, or one that lives and is to be removed; nothing was changed.
        BrokenError: a directory cannot be written.
    """
    known = known_runs(base_directory())
    if options.action == "list":
        if options.runs:
            raise InvalidError(f"`pasps runs list` takes no RUN, got {options.runs[0]!r}; say what to do with it: keep, release or remove")
        _show(known, "\n".join(_lines(known)), as_json=options.json)
        return exit_codes.OK
    if not options.runs:
        raise InvalidError(f"`pasps runs {options.action}` needs a RUN; `pasps runs` lists them")
    meant = [_meant(wanted, known, newest=options.action == "keep") for wanted in options.runs]
    if options.action == "remove":
        _check_over(meant)
    told = [run_as_object(run) for run in meant] if options.action == "remove" else []
    lines = [_done(options.action, run) for run in meant]
    _show(told or meant, "\n".join(lines), as_json=options.json)
    return exit_codes.OK


def run_as_object(run: KnownRun) -> dict[str, Any]:
    """A run as JSON has it: as `pasps list` tells it, and what it takes."""
    return {**run_object(run), "bytes": contents(run.directory)[0], "kept": is_kept(run)}


def _show(found: Sequence[KnownRun | dict[str, Any]], text: str, *, as_json: bool) -> None:
    print(json.dumps([run_as_object(run) if isinstance(run, KnownRun) else run for run in found]) if as_json else text)


def _meant(wanted: str, known: Sequence[KnownRun], *, newest: bool) -> KnownRun:
    directory = run_of_directory(wanted)
    if directory is not None:
        # the entry says whether the directory is one of ours
        return next((run for run in known if run.directory == directory.directory), directory)
    exact = [run for run in known if wanted in (run.entry.name, run.directory.name)]
    named = exact or [run for run in known if run.record.name == wanted]
    if len(named) > 1 and not newest:
        listed = "".join(f"\n  {run.directory}" for run in named)
        raise InvalidError(f"there are {len(named)} runs of {wanted!r}; say which by its run directory{listed}")
    if not named:
        near = get_close_matches(wanted, [name for run in known for name in (run.entry.name, run.record.name)], n=1)
        raise InvalidError(f"there is no run {wanted!r} here; " + (f"did you mean {near[0]!r}?" if near else "`pasps runs` lists them"))
    return named[-1]


def _check_over(meant: Sequence[KnownRun]) -> None:
    for run in meant:
        if not run.state.over:
            raise InvalidError(f"topology {run.record.name!r} runs in {run.directory} (process {run.record.pid}); end it with `pasps kill`")


def _done(action: str, run: KnownRun) -> str:
    """Do it; what was done."""
    try:
        if action == "keep":
            keep_run(run)
            return f"{run.directory} is kept"
        if action == "release":
            release_run(run)
            return f"{run.directory} goes when it is old"
        if remove_run(run):
            return f"{run.directory} is removed"
    except OSError as error:
        raise BrokenError(f"{run.directory}: {error.strerror or error}") from error
    return f"{run.directory} was given with --run-dir and stays; it is not listed any more"


def _lines(known: Sequence[KnownRun]) -> list[str]:
    if not known:
        return [f"there is no run in {base_directory()}"]
    rows = [(run.entry.name, run.record.name, str(run.state), moment(run.record.started), _size(run), _why_kept(run)) for run in known]
    return [line.rstrip() for line in table(_HEAD, rows, left=(0, 1, 2, 5))]


def _size(run: KnownRun) -> str:
    return f"{contents(run.directory)[0] / 1e6:.1f} MB"


def _why_kept(run: KnownRun) -> str:
    return "kept" if is_kept(run) else "--run-dir" if run.record.chosen else ""
