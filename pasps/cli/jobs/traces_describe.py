"""`pasps traces describe`: a table and a picture of a trace. Needs no Spark for a small CSV file of this machine."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pasps.cli import exit_codes
from pasps.cli.jobs.job_progress import SparkProgress
from pasps.cli.jobs.spark_options import add_spark_options, asked_session
from pasps.cli.jobs.traces import add_overwrite, check_there
from pasps.cli.options import add_json, describe
from pasps.cli.words import table
from pasps.data.duration_text import duration_text
from pasps.data.steps import iso_time
from pasps.data.trace_output import refuse_existing, write_bytes
from pasps.errors import InvalidError

if TYPE_CHECKING:
    from pasps.data.describe import Burstiness, Description

_ABOUT = """\
Says what a trace is like, and draws it: its rates over time and their distribution, how bursty it is, its periods, and its spikes.
TRACE is what `pasps traces compose` takes: CSV, Parquet, what `pasps traces build` has made; patterns and several too. Small CSV
files of this machine are read at once, everything else by Spark.

  burstiness    variance relative to the mean, of a row and of longer windows (Fano factors): 1 for a Poisson process
  period        found by the periodogram and the autocorrelation; a chance below one in ten thousand is asked for
  spikes        times at which the rate leaves its level, to 1.5 times as much or as little and beyond noise, and comes back"""

_EXAMPLES = (
    "pasps traces describe spiky.csv",
    "pasps traces describe 'rates/*.csv' --out pictures --overwrite",
    "pasps traces describe gs://bucket/rates.parquet --no-picture --json",
)

_CODES = """\
exit codes:
  0    described
  1    Spark does not start, or something in pasps broke
  2    refused: a wrong option or trace, or a picture that is there already
  130  Ctrl-C"""

_MOST_SPIKES, _MOST_FANO = 10, 6


def add_traces_describe(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    out = "a directory for the pictures, or the name of the picture of a single trace (default: this directory)"
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="see above")
    parser.add_argument("--out", metavar="DIR|FILE.png", type=Path, default=Path(), help=out)
    parser.add_argument("--no-picture", action="store_true", help="the table only")
    add_overwrite(parser)
    add_json(parser)
    add_spark_options(parser)


def traces_describe(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: an option or a trace is wrong, or a picture may not or cannot be written.
        BrokenError: Spark does not start, or fails.
    """
    # numpy and matplotlib are optional
    job = importlib.import_module("pasps.data.describe_job")
    described: Sequence[Description]
    if job.needs_spark(options.traces):
        check_there(options.traces, options.master)
        progress = SparkProgress(quiet=options.json)
        progress.told("pasps traces describe: reading")
        with asked_session("pasps traces describe", options) as session, progress.following(session):
            described = job.describe_on_spark(session, options.traces)
    else:
        described = job.describe_here(options.traces)
    paths = [] if options.no_picture else _paths(options.out, job.picture_names(described))
    refuse_existing(paths, overwrite=options.overwrite)
    if paths:
        drawing = importlib.import_module("pasps.data.drawing")
        for found, path in zip(described, paths, strict=True):
            write_bytes(path, drawing.draw(found))
    if options.json:
        print(json.dumps({"traces": [job.description_object(found) for found in described], "paths": list(map(str, paths))}))
    else:
        print("\n\n".join(["\n".join(lines_of(found)) for found in described] + (["\n".join(map(str, paths))] if paths else [])))
    return exit_codes.OK


def lines_of(found: Description) -> list[str]:
    """The table."""
    burstiness = found.burstiness
    facts = [
        ("rows", f"{found.rows:,} of {duration_text(found.step_seconds)}, {iso_time(found.first)} to {iso_time(found.last)}{_gaps(found)}"),
        ("events", f"{found.total:,.0f}"),
        ("of a row", f"mean {_number(found.mean)}, standard deviation {_number(found.deviation)}, {found.zeros:.1%} without an event"),
        ("", ", ".join(f"{name} {_number(value)}" for name, value in _quantiles(found)) + f" at {iso_time(found.peak_time)}"),
        ("burstiness", _bursts(burstiness)),
        ("", "variance to mean in windows: " + (_fano(burstiness) or "too few rows, or no events")),
        ("period", "; ".join(_period(found, place) for place in range(len(found.periods))) or "none found"),
        ("spikes", _spikes(found)),
    ]
    largest = sorted(found.spikes, key=lambda each: -each.spike.size)[:_MOST_SPIKES]
    rows = [
        (
            iso_time(each.time),
            "up" if each.spike.up else "down",
            f"{each.spike.magnitude:.2f} x",
            f"{each.spike.slope:+.0%}",
            duration_text(each.spike.rows * found.step_seconds),
        )
        for each in largest
    ]
    listed = table(("onset", "", "magnitude", "slope of a row", "duration"), rows, left=(0, 1)) if rows else []
    return [found.name, "", *(line.rstrip() for line in table(("", ""), facts, left=(0, 1))[1:]), "", *listed][: None if rows else -1]


def _paths(out: Path, names: Sequence[str]) -> list[Path]:
    if out.suffix.lower() != ".png":
        if not out.is_dir():
            raise InvalidError(f"--out: there is no directory {str(out)!r}; make it first, or give a name that ends with .png")
        return [out / name for name in names]
    if len(names) > 1:
        raise InvalidError(f"--out: expected a directory for the pictures of {len(names)} traces, got {str(out)!r}")
    return [out]


def _gaps(found: Description) -> str:
    return f"; rows are missing in {found.gaps:,} place{'s' if found.gaps > 1 else ''}" if found.gaps else ""


def _quantiles(found: Description) -> Sequence[tuple[str, float]]:
    return (("least", found.least), ("median", found.median), ("p90", found.p90), ("p99", found.p99), ("peak", found.peak))


def _bursts(burstiness: Burstiness) -> str:
    known: Sequence[tuple[str, Any]] = (
        ("index of dispersion", burstiness.dispersion),
        ("peak to mean", burstiness.peak_to_mean),
        ("autocorrelation of neighbours", burstiness.correlation),
        ("Hurst", burstiness.hurst),
    )
    return ", ".join(f"{name} {_number(value)}" for name, value in known if value is not None) or "no events"


def _fano(burstiness: Burstiness) -> str:
    step = max(1, -(-len(burstiness.fano) // _MOST_FANO))
    return ", ".join(f"{duration_text(seconds)} {_number(value)}" for seconds, value in burstiness.fano[::step])


def _period(found: Description, place: int) -> str:
    period = found.periods[place]
    chance = "below 1e-99" if period.chance < 1e-99 else f"{period.chance:.0e}"
    return f"{duration_text(period.rows * found.step_seconds)} (autocorrelation {period.correlation:.2f}, chance {chance})"


def _spikes(found: Description) -> str:
    ups = sum(1 for each in found.spikes if each.spike.up)
    largest = f"; the {_MOST_SPIKES} largest:" if len(found.spikes) > _MOST_SPIKES else ":"
    return f"{ups:,} up, {len(found.spikes) - ups:,} down{largest}" if found.spikes else "none found"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
