"""`python -m benchmarks.elastic`: the papers' comparison on a trace in real time, `pasps` against the papers' policies.

Each run is a process of its own, one after the other or some beside each other; what was measured with the same parameters before is
not run again.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.elasticity.artefacts import EQUAL, save
from benchmarks.elasticity.comparison import Comparison, Turn, turns_of
from benchmarks.elasticity.making import Job, interrupt_on_sigterm, make, seconds_for, span, tell_interrupted
from benchmarks.elasticity.plans import LATENCY_TARGETS, TARGETS, RunPlan, Setup, chosen, run_plans
from benchmarks.elasticity.result_table import result_table, verdict_text
from benchmarks.elasticity.traces import SMOOTHED_OVER, Wish, prepare, read_trace
from benchmarks.elasticity.verdict import STEADY, verdict_of
from pasps.errors import InvalidError

_QUICK_ROWS, _QUICK_ROW_SECONDS, _QUICK_INTERVAL_SECONDS = 60, 0.25, 2.0
_QUICK_RUNS = ("static-8", "pa-sps-basic", "pasps-0.9")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is missing and print everything; exit code 1 when a run failed."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        comparison, plans = _comparison(options)
        wanted = turns_of(chosen(plans, options.only or (_QUICK_RUNS if options.quick else ())), options.repeat)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    missing = [turn for turn in wanted if options.fresh or comparison.result(turn) is None]
    if options.list or options.dry_run:
        _tell(comparison, wanted, missing, commands=options.dry_run)
        return 0
    interrupt_on_sigterm()
    try:
        results = make([Job(comparison, turn) for turn in missing], options.beside)
    except KeyboardInterrupt:
        return tell_interrupted()
    _report(comparison, plans, options)
    return 1 if any(result.problem for result in results) else 0


def _comparison(options: argparse.Namespace) -> tuple[Comparison, list[RunPlan]]:
    quick = options.quick
    setup = Setup(
        wait_millis=options.wait_millis,
        scale=options.scale,
        interval_seconds=options.interval or (_QUICK_INTERVAL_SECONDS if quick else Setup().interval_seconds),
        timeout_seconds=options.timeout,
        workers=options.workers,
        shared_queues=options.queues == "bolt",
        pasps_predictor=options.predictor,
        pasps=dict(_pair(text) for text in options.pasps),
    )
    rows = options.rows or (_QUICK_ROWS if quick else 600)
    row_seconds = options.row_seconds or (_QUICK_ROW_SECONDS if quick else 1.0)
    wish = Wish(rows, setup.peak_rate, row_seconds, options.first_row, options.smooth)
    prepared = prepare(options.trace.stem, read_trace(options.trace), wish)
    directory = (options.work or _work_directory()) / (prepared.name + "-quick" * quick + f"-{options.queues}")
    return Comparison(prepared, setup, directory.absolute()), run_plans(setup, options.targets, options.latency_targets)


def _work_directory() -> Path:
    home = os.environ.get("PASPS_HOME")
    return Path(home) / "elastic" if home else Path(tempfile.gettempdir()) / "pasps-elastic"


def _tell(comparison: Comparison, wanted: Sequence[Turn], missing: Sequence[Turn], *, commands: bool) -> None:
    prepared = comparison.prepared
    print(f"trace   {prepared.name}: {len(prepared.counts)} rows from {prepared.first_row} on, {prepared.row_seconds:g} s each")
    print(f"input   {prepared.events:,} events, at most {prepared.peak_rate:,.0f}/s; variation {prepared.variation:.1f} pools")
    print(f"work    {comparison.directory}")
    print(f"left    {span(seconds_for([Job(comparison, turn) for turn in missing]))}")
    for turn in wanted:
        print(f"{'to do' if turn in missing else 'done':6}  {turn.name}")
        if commands and turn in missing:
            print(f"        {shlex.join(comparison.command(turn))}")


def _report(comparison: Comparison, plans: Sequence[RunPlan], options: argparse.Namespace) -> None:
    rows = comparison.rows(plans, options.repeat)
    setup = comparison.setup
    title = f"{comparison.prepared.name}, td {setup.interval_seconds:g} s, {comparison.prepared.events:,} events"
    text = f"{result_table(title, rows)}\n\n{verdict_text(verdict_of(rows))}"
    print(text)
    commits = comparison.commits(plans, options.repeat)
    if len(commits) > 1:
        print(f"benchmarks.elastic: measured at several commits: {', '.join(commits)}; --fresh runs all again", file=sys.stderr)
    untold = [row.name for row in rows if row.latency_target is not None and row.kept is None]
    if untold:
        why = f"it takes a trace of a minute, and a run of {STEADY} in the same round"
        print(f"benchmarks.elastic: how long {', '.join(untold)} kept the latency cannot be told: {why}", file=sys.stderr)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.save and rows:
        for path in save(comparison, plans, options.repeat, options.draw, options.save, options.title):
            print(f"written: {path}")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--pasps: expected KEY=VALUE, got {text!r}")
    return key, value


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _numbers(text: str) -> list[float]:
    return [float(word) for word in _words(text)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.elastic", description=__doc__)
    add = parser.add_argument
    add("--trace", type=Path, required=True, metavar="FILE", help="CSV of time and count; a row becomes a second")
    add("--scale", type=float, default=Setup().scale, help="peak input over what the whole pool can carry (default: %(default)g)")
    add("--rows", type=int, help="how many rows of it (default: 600)")
    add("--first-row", type=int, metavar="N", help="where they begin (default: the burstiest stretch)")
    add("--smooth", type=int, default=SMOOTHED_OVER, metavar="N", help="centred average over so many rows (default: %(default)s)")
    add("--row-seconds", type=float, metavar="S", help="how long a row lasts (default: 1)")
    add("--wait-millis", type=float, default=Setup().wait_millis, metavar="MS", help="what a tuple takes in a bolt (default: %(default)g)")
    add("--interval", type=float, metavar="S", help=f"td (default: {Setup().interval_seconds:g})")
    add("--timeout", type=float, default=Setup().timeout_seconds, metavar="S", help="message time-out (default: %(default)g)")
    add("--workers", type=int, default=Setup().workers)
    add("--queues", choices=("bolt", "replica"), default="bolt", help="one queue for a bolt in a worker, or one for each replica")
    add("--targets", type=_numbers, default=TARGETS, metavar="U,U", help="target utilisations of pasps (default: 0.6 to 1.3)")
    add(
        "--latency-targets",
        type=_numbers,
        default=LATENCY_TARGETS,
        metavar="S,S",
        help="seconds that p95 of pasps is to stay within (default: 0.2,0.5); a trace of a minute at least tells whether it does",
    )
    add("--predictor", default=Setup().pasps_predictor, help="the predictor of pasps (default: %(default)s)")
    add("--pasps", action="append", default=[], metavar="KEY=VALUE", help="a further option of the runs of pasps; several times")
    add("--only", type=_words, default=[], metavar="A,B", help="some of the runs: a name, or all that begin so, as pa-sps")
    add("--repeat", type=int, default=1, metavar="N", help="rounds; the table has their means, and 95%% intervals")
    add(
        "--beside",
        type=int,
        default=1,
        metavar="N",
        help="so many runs at a time (default: 1), of which each must leave cores for the others",
    )
    add("--fresh", action="store_true", help="run again what was measured already")
    add("--list", action="store_true", help="say what there is to run, and end")
    add("--dry-run", action="store_true", help="the same with the commands")
    add("--work", type=Path, metavar="DIR", help="where runs are kept (default: $PASPS_HOME/elastic, else in the system's temporary files)")
    add("--markdown", type=Path, metavar="FILE", help="write the tables there too")
    add("--save", type=Path, metavar="DIR", help="write the table as JSON and the figures there; needs matplotlib")
    add("--title", help="of the figures (default: the series in words)")
    add(
        "--draw",
        type=_words,
        default=[EQUAL],
        metavar="A,B",
        help="what is drawn over time: names of runs, or equal, the runs of each policy that save most nearly the same (default)",
    )
    add("--quick", action="store_true", help="does it run? three runs of 60 rows, a quarter of a second each")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InvalidError as problem:
        sys.exit(f"benchmarks.elastic: {problem}")
