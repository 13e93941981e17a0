"""`pasps report`: makes a page of a run's files, and prints its measures. Needs no running topology.

The files of a topology of a cluster are brought here first.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path

import msgspec

from pasps.cli import exit_codes
from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.find_past import find_past
from pasps.cli.options import add_json, add_master, describe
from pasps.cli.run_files import fetch_run_files
from pasps.cli.words import table as aligned
from pasps.errors import InvalidError
from pasps.report.definitions import BOLT_HEAD, bolt_rows, table
from pasps.report.run_files import METRICS_NAME
from pasps.report.write import Report, write_report
from pasps.topology.run_list import KnownRun, base_directory, known_runs
from pasps.topology.run_record import FILE_NAME

_ABOUT = """\
Makes a report of a run from the files that it leaves: one HTML page that needs nothing else, the same pictures as PNG, and
the measures printed as a table. The run may be over, under way, or have been killed. TOPOLOGY is the newest run of that
name; without it the newest run of all is taken. One that runs in a cluster will do too (see --master).
Needs matplotlib: pip install 'pasps[report]'."""

_CODES = """\
exit codes:
  0    written
  1    a file could not be read or written
  2    nothing to report on: no such run, no samples in it, or no matplotlib"""


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, ("pasps report", "pasps report word-count --out /tmp/word-count", "pasps report runs/first --json"), _CODES)
    parser.add_argument("run", metavar="RUN_DIR|TOPOLOGY", nargs="?", help="which run; default: the newest")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="where to write; default: the run's own directory, for a cluster's a new one"
    )
    add_master(parser)
    add_json(parser, "measures, warnings and paths as one JSON object on standard output, instead of text")


def report(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: no such run, or nothing in it to report on.
        BrokenError: a file cannot be read or written.
    """
    remote = find_past(options.run, options.master)
    match remote:
        case (ClusterTopology() as topology, _):
            made = _report_remote(topology, options.out)
        case (KnownRun() as left, _):
            made = write_report(left.directory, options.out)
        case _:
            made = write_report(directory_of(options.run, base_directory()), options.out)
    print(_json(made) if options.json else _text(made), flush=True)
    if not options.json:
        for warning in made.warnings:
            print(f"pasps report: {warning}", file=sys.stderr)
    return exit_codes.OK


def _report_remote(topology: ClusterTopology, out: Path | None) -> Report:
    with tempfile.TemporaryDirectory(prefix="pasps-report-") as scratch:
        fetch_run_files(topology, Path(scratch))
        return write_report(Path(scratch), Path(tempfile.mkdtemp(prefix=f"pasps-{topology.name}-")) if out is None else out)


def directory_of(wanted: str | None, base: Path) -> Path:
    """The directory of the run that is meant.

    Raises:
        InvalidError: there is none.
    """
    runs = known_runs(base)
    if wanted is None:
        if not runs:
            raise InvalidError(f"there is no run in {base}; start one with `pasps run FILE`, or give a run directory")
        return runs[-1].directory
    given = Path(wanted)
    if os.sep in wanted or any((given / name).is_file() for name in (FILE_NAME, METRICS_NAME)):
        return given
    named = [run for run in runs if wanted in (run.record.name, run.entry.name)]
    if not named:
        raise InvalidError(_nothing_named(wanted, runs))
    return named[-1].directory


def _nothing_named(wanted: str, runs: list[KnownRun]) -> str:
    names = list(dict.fromkeys(run.record.name for run in runs))
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are runs of {', '.join(names) or 'none'}"
    return f"{wanted!r} is neither a run directory nor a topology that ran here; {hint}"


def _text(made: Report) -> str:
    bolts = aligned(BOLT_HEAD, bolt_rows(made.measures)) if made.measures.bolts else []
    return "\n".join([made.title, "", table(made.measures), "", *bolts, "", *map(str, made.paths)])


def _json(made: Report) -> str:
    fields = {
        "topology": made.title,
        "measures": msgspec.to_builtins(made.measures),
        "warnings": list(made.warnings),
        "paths": [str(path) for path in made.paths],
    }
    return msgspec.json.encode(fields).decode()
