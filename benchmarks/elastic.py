"""`python -m benchmarks.elastic`: the papers' comparison on a trace in real time, `pasps` against the papers' policies.

Each run is a process of its own, one after the other or some beside each other; what was measured with the same parameters before is
not run again.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from benchmarks.elasticity.artefacts import EQUAL, save
from benchmarks.elasticity.comparison import SETTLE_SECONDS, Comparison, Turn, turns_of
from benchmarks.elasticity.outcomes import Result
from benchmarks.elasticity.plans import LATENCY_TARGETS, TARGETS, RunPlan, Setup, chosen, run_plans
from benchmarks.elasticity.result_table import result_table, verdict_text
from benchmarks.elasticity.traces import SMOOTHED_OVER, Wish, prepare, read_trace
from benchmarks.elasticity.verdict import STEADY, verdict_of
from pasps.errors import InvalidError

_QUICK_ROWS, _QUICK_ROW_SECONDS, _QUICK_INTERVAL_SECONDS = 60, 0.25, 2.0
_QUICK_RUNS = ("static-8", "pa-sps-basic", "pasps-0.9")
_START_SECONDS = 5.0
"""About what a run takes beside its trace."""


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
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        failed = _make(comparison, missing) if options.beside == 1 else _make_beside(comparison, missing, options.beside)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on with the run that was under way", file=sys.stderr)
        return 130
    _report(comparison, plans, options)
    return 1 if failed else 0


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
    print(f"left    {_span(_left(comparison, len(missing)))}")
    for turn in wanted:
        print(f"{'to do' if turn in missing else 'done':6}  {turn.name}")
        if commands and turn in missing:
            print(f"        {shlex.join(comparison.command(turn))}")


def _make(comparison: Comparison, missing: Sequence[Turn]) -> int:
    """Run what is missing; how many failed."""
    failed = 0
    for number, turn in enumerate(missing):
        left = _left(comparison, len(missing) - number)
        line = f"[{number + 1}/{len(missing)}] {turn.name}"
        _say(f"{line}: {_span(left)} to go")
        result = comparison.make(turn, partial(_progress, line, left))
        failed += bool(result.problem)
        _say(f"{line}: {_outcome(result)}")
    return failed


def _make_beside(comparison: Comparison, missing: Sequence[Turn], count: int) -> int:
    """The same with so many at a time: what else goes on is then the same for all that are compared."""
    failed, stopped = 0, threading.Event()
    _say(f"{len(missing)} runs, {count} at a time: {_span(_left(comparison, math.ceil(len(missing) / count)))} to go")

    def make(turn: Turn) -> Result:
        return comparison.make(turn, lambda seconds: None, stopped.is_set)

    with ThreadPoolExecutor(count) as pool:
        try:
            for number, (turn, result) in enumerate(zip(missing, pool.map(make, missing), strict=True), 1):
                failed += bool(result.problem)
                _say(f"[{number}/{len(missing)}] {turn.name}: {_outcome(result)}")
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def _outcome(result: Result) -> str:
    numbers = result.numbers
    if numbers is None:
        return f"FAILED, {result.problem}"
    saved, mean = numbers.saved or 0.0, (numbers.mean or 0.0) * 1000
    return f"saved {saved:.1%}, mean latency {mean:,.0f} ms, processed {numbers.processed:.2%}, after {result.seconds:g} s"


def _left(comparison: Comparison, runs: int) -> float:
    return runs * (comparison.prepared.seconds + SETTLE_SECONDS + _START_SECONDS)


def _progress(line: str, left: float, seconds: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}: {seconds:.0f} s, {_span(max(0.0, left - seconds))} to go", end="", file=sys.stderr, flush=True)


def _say(line: str) -> None:
    print(f"\r\x1b[K{line}" if sys.stderr.isatty() else line, file=sys.stderr, flush=True)


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


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


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


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
