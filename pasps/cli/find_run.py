"""Which run is meant: by the topology's name, by its run directory, or none said because only one runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from pasps.errors import BusyError, InvalidError
from pasps.topology.run_directory import SUMMARY_NAME
from pasps.topology.run_list import KnownRun, base_directory, known_runs, run_in
from pasps.topology.run_record import FILE_NAME, RunState, host


class NotRunningError(InvalidError):
    """Nothing that is meant runs; the message is complete."""


def find_run(wanted: str | None) -> KnownRun:
    """The one run that is meant, and lives.

    Raises:
        NotRunningError: it does not run, or nothing does.
        InvalidError: several are meant, or it runs on another host.
        BusyError: it does not answer yet.
    """
    run = run_of_directory(wanted) or choose_run(known_runs(base_directory()), wanted)
    if run.state.over:
        raise NotRunningError(f"topology {run.record.name!r} does not run any more; {how_it_ended(run)}")
    if run.record.host != host():
        raise InvalidError(f"topology {run.record.name!r} runs on host {run.record.host!r}; ask there")
    if run.state is RunState.STARTING and not os.path.exists(run.record.socket):
        raise BusyError(f"topology {run.record.name!r} (process {run.record.pid}) is still starting; try again in a moment")
    return run


def run_of_directory(wanted: str | None) -> KnownRun | None:
    """The run in a directory, if that is what was given.

    Raises:
        InvalidError: a directory of something else.
    """
    if wanted is None or (os.sep not in wanted and not (Path(wanted) / FILE_NAME).is_file()):
        return None
    return run_in(Path(wanted))


def choose_run(runs: Sequence[KnownRun], wanted: str | None) -> KnownRun:
    """The one of `runs`; a name means one that lives, the name of a run directory also one that does not. Pure.

    Raises:
        NotRunningError: none.
        InvalidError: several.
    """
    living = [run for run in runs if not run.state.over]
    if not living and wanted is None:
        raise NotRunningError("no topology runs; start one with `pasps run FILE`")
    meant = living if wanted is None else [run for run in living if run.record.name == wanted]
    meant = meant or [run for run in runs if wanted in (run.directory.name, run.entry.name)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        what = "several topologies run" if wanted is None else f"several runs are named {wanted!r}"
        raise InvalidError(f"{what}; say which by its run directory{_listed(meant)}")
    raise NotRunningError(_nothing_named(str(wanted), runs, living))


def how_it_ended(run: KnownRun) -> str:
    """What is known of the end of a run that is over."""
    if run.state is RunState.LOST:
        return f"its process {run.record.pid} is gone without a word; what it left is in {run.directory}"
    ended = "" if run.record.ended is None else f" at {moment(run.record.ended)}"
    summary = run.directory / SUMMARY_NAME
    return f"it ended{ended}; see {summary}" if summary.is_file() else f"it broke off{ended}; what it left is in {run.directory}"


def moment(seconds: float) -> str:
    """Seconds since the epoch, for people."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"


def _nothing_named(wanted: str, runs: Sequence[KnownRun], living: Sequence[KnownRun]) -> str:
    problem = f"no topology named {wanted!r} runs"
    before = [run for run in runs if run.record.name == wanted]
    if before:
        problem += f"; of the last one: {how_it_ended(before[-1])}"
    if not living:
        return problem if before else f"{problem}, nor does any other"
    near = get_close_matches(wanted, [run.record.name for run in living], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"{problem}{hint} there is{_listed(living)}"


def _listed(runs: Sequence[KnownRun]) -> str:
    return "".join(f"\n  {run.record.name}  {run.directory}" for run in runs)
