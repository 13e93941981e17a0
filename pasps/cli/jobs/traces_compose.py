"""`pasps traces compose`: a test stream of the spikes of real traces, found on Spark."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.jobs.job_progress import SparkProgress
from pasps.cli.jobs.spark_options import add_spark_options, asked_session
from pasps.cli.jobs.traces import add_overwrite, add_times, check_there, whole
from pasps.cli.options import add_json, at_least_one, describe, seconds
from pasps.cli.words import table
from pasps.data.steps import SECOND, step_micros
from pasps.data.trace_output import check_span, refuse_existing, trace_lines, write_lines
from pasps.errors import InvalidError

_ABOUT = """\
Makes a test stream of real traces, as the paper does (PA-SPS, 4.1.2, after Bodik et al. 2010): finds stretches in which the rate
goes up or down and comes back, chooses among them by a seed, brings each to the same level and joins them, with quiet rows in which
one fades into the next, to exactly the length and the peak that are wanted. A row of a trace becomes a row of the stream, however
long it lasted: it is replayed compressed.

TRACE is a CSV file (a header, then time and count), a Parquet file or directory with columns time and count (further columns are
keys, of which each has a trace), or what `pasps traces build` has made; local, gs:// or hdfs://, patterns too.
Writes OUT, a CSV file, and beside it OUT's name with .json: what was taken, with source, onset, slope, magnitude and duration."""

_EXAMPLES = (
    "pasps traces compose tweets.csv --length 600 --peak 800 --out stream.csv",
    "pasps traces compose 'rates/*.csv' --length 20min --peak 2000 --spikes 8 --smooth 10 --seed 2 --out stream.csv",
    "pasps traces compose gs://bucket/rates.parquet --length 3600 --peak 5000 --raw --parquet --out stream.csv",
)

_CODES = """\
exit codes:
  0    written
  1    Spark does not start, or something in pasps broke; nothing is written
  2    refused: a wrong option or trace, too few spikes for the length, or a file that is there already
  130  Ctrl-C; nothing is written"""

_SMOOTH_SECONDS = 5.0
_HEAD = ("onset", "", "magnitude", "slope", "duration", "taken from")
_MOST_MAGNITUDES = "1.5:10"


def add_traces_compose(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    smooth = f"moving average over so many seconds of the stream (default: {_SMOOTH_SECONDS:g})"
    magnitude = f"only spikes of so many times the level before, or so little of it (default: {_MOST_MAGNITUDES})"
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="see above")
    parser.add_argument("--length", metavar="N", type=_length, required=True, help="of the stream: rows, or a time such as 20min")
    parser.add_argument("--peak", metavar="N", type=at_least_one, required=True, help="events of its largest row, exactly")
    parser.add_argument("--spikes", metavar="N", type=at_least_one, help="take so many spikes (default: as many as fill the length)")
    parser.add_argument("--magnitude", metavar="LEAST:MOST", type=_magnitudes, default=_magnitudes(_MOST_MAGNITUDES), help=magnitude)
    parser.add_argument("--seed", metavar="N", type=whole, default=1, help="chooses among the spikes found (default: 1)")
    rough = parser.add_mutually_exclusive_group()
    rough.add_argument("--smooth", metavar="SECONDS", type=seconds, default=_SMOOTH_SECONDS, help=smooth)
    rough.add_argument("--raw", action="store_true", help="as the traces are, not smoothed")
    add_times(parser)
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the CSV file to write")
    parser.add_argument("--parquet", action="store_true", help="write it as Parquet too, with .parquet for the ending")
    add_overwrite(parser)
    add_json(parser, "print what is in the JSON file, instead of a table")
    add_spark_options(parser)


def traces_compose(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: an option or a trace is wrong, they have too few spikes, or a file may not or cannot be written.
        BrokenError: Spark does not start, or fails.
    """
    step, out = options.step, options.out
    rows = _rows(options.length, step)
    check_span(options.start, step, rows)
    facts, parquet = out.with_suffix(".json"), out.with_suffix(".parquet") if options.parquet else None
    if out in (facts, parquet):
        raise InvalidError(f"--out: expected the name of a CSV file, got {str(out)!r}")
    refuse_existing([path for path in (out, facts, parquet) if path is not None], overwrite=options.overwrite)
    # numpy is optional
    job, stretches = (importlib.import_module(f"pasps.data.{name}") for name in ("compose_job", "stretches"))
    smooth_rows = 1 if options.raw else max(1, round(options.smooth * SECOND / step))
    wanted = stretches.Wanted(rows, options.peak, options.spikes, options.seed, smooth_rows, *options.magnitude)
    check_there(options.traces, options.master)
    progress = SparkProgress(quiet=options.json)
    progress.told("pasps traces compose: looking for spikes")
    with asked_session("pasps traces compose", options) as session, progress.following(session):
        composed = job.compose_traces(session, options.traces, wanted)
        if parquet is not None:
            progress.told("pasps traces compose: writing Parquet")
            job.write_stream(composed, options.start, step, parquet)
    made = job.composed_object(composed, wanted, step)
    write_lines(facts, [json.dumps(made, indent=2, ensure_ascii=False), "\n"])
    write_lines(out, trace_lines(composed.counts, options.start, step))
    paths = [str(path) for path in (out, facts, parquet) if path is not None]
    print(json.dumps({**made, "paths": paths}) if options.json else "\n".join([*_lines(made), "", *paths]))
    return exit_codes.OK


def _lines(made: Mapping[str, Any]) -> Sequence[str]:
    rows = [
        (
            f"{taken['onset']:,}",
            taken["direction"],
            f"{taken['magnitude']:.2f} x",
            f"{taken['slope']:+.0%}",
            f"{taken['duration_rows']:,}",
            f"{Path(taken['source']).name}, {taken['time']}",
        )
        for taken in made["taken"]
    ]
    facts = (
        f"{made['rows']:,} rows of {made['step_seconds']:g} s, {made['total']:,} events, mean {made['mean']:,.1f}, peak {made['peak']:,}"
    )
    return [facts, "", *(line.rstrip() for line in table(_HEAD, rows, left=(1, 5)))]


def _length(text: str) -> tuple[int, bool]:
    """How long, and whether that is microseconds and not rows."""
    if text.isdecimal():
        return at_least_one(text), False
    try:
        return step_micros(text), True
    except InvalidError:
        raise argparse.ArgumentTypeError(f"expected rows such as 600, or a time such as 90s, 20min or 1h, got {text!r}") from None


def _rows(length: tuple[int, bool], step: int) -> int:
    count, is_time = length
    if is_time and count % step:
        raise InvalidError(
            f"--length: {count / SECOND:g} s is no whole number of steps of {step / SECOND:g} s; give rows, or another --step"
        )
    return count // step if is_time else count


def _magnitudes(text: str) -> tuple[float, float]:
    least, colon, most = text.partition(":")
    try:
        read = float(least), float(most) if colon else float("inf")
    except ValueError:
        read = (0.0, 0.0)
    if not 1.0 < read[0] < read[1]:
        raise argparse.ArgumentTypeError(f"expected LEAST:MOST with 1 < LEAST < MOST, or LEAST alone, got {text!r}")
    return read
