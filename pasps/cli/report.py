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
from pasps.cli.asking.asked_topology import ClusterTopology
from pasps.cli.asking.which_run import Past, find_past, no_run, no_such_run
from pasps.cli.options import add_json, add_master, describe
from pasps.cli.words import table as aligned
from pasps.report.definitions import BOLT_HEAD, bolt_rows, table
from pasps.report.run_files import METRICS_NAME
from pasps.report.write import Report, write_report
from pasps.topology.run_list import base_directory, known_runs
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


def add_report(parser: argparse.ArgumentParser) -> None:
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
    made = _report(options.run, options.master, options.out)
    print(_json(made) if options.json else _text(made), flush=True)
    if not options.json:
        for warning in made.warnings:
            print(f"pasps report: {warning}", file=sys.stderr)
    return exit_codes.OK


def _report(wanted: str | None, master: str | None, out: Path | None) -> Report:
    given = directory_of(wanted) if master is None else None
    if given is not None:
        return write_report(given, out)
    past = meant(wanted, master)
    with past.files() as directory:
        if out is None and isinstance(past.run, ClusterTopology):
            out = Path(tempfile.mkdtemp(prefix=f"pasps-{past.run.name}-"))
        return write_report(directory, out)


def directory_of(wanted: str | None) -> Path | None:
    """The directory that was given, if it was one; samples will do, also without the record of a run."""
    if wanted is None or (os.sep not in wanted and not any((Path(wanted) / name).is_file() for name in (FILE_NAME, METRICS_NAME))):
        return None
    return Path(wanted)


def meant(wanted: str | None, master: str | None) -> Past:
    """The newest run of that name, also where an older one goes on.

    Raises:
        InvalidError: there is none.
        PaspsError: as `find_past`.
    """
    past = find_past(wanted, master, latest=True)
    if wanted is not None and (past is None or not past.is_named):
        names = list(dict.fromkeys(run.record.name for run in known_runs(base_directory())))
        near = get_close_matches(wanted, names, n=1)
        raise no_such_run(wanted, f"did you mean {near[0]!r}?" if near else f"there are runs of {', '.join(names) or 'none'}")
    if past is None:
        raise no_run()
    return past


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
