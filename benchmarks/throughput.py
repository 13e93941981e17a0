"""`python -m benchmarks.throughput`: a plain loop, multiprocessing, Bytewax and pasps side by side, one measurement at a time."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.matrix import FIXED_RATE, MODES, Mode, Run, Subject, maximum, options_for, selected
from benchmarks.measure import measure
from benchmarks.peer_environment import DEFAULT_DIRECTORY, ensure_python, loopback_only
from benchmarks.report import tables, to_json
from benchmarks.workloads import WORKLOADS

CommandFor = Callable[[Subject], list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and say by the exit code whether every run ended well and exact."""
    parser = _parser()
    wanted = parser.parse_args(arguments)
    for given, known in ((wanted.modes, MODES), (wanted.workloads, WORKLOADS)):
        if unknown := [word for word in given if word not in known]:
            parser.error(f"{unknown[0]!r} is none of {', '.join(known)}")
    subjects = selected(wanted.only, wanted.workers)
    if not subjects:
        print(f"no subject's name starts with {' or '.join(wanted.only)} and has {wanted.workers} workers", file=sys.stderr)
        return 2
    runs = _run_all(wanted, subjects, _commands(wanted, subjects))
    print(tables(runs))
    if wanted.json:
        wanted.json.write_text(json.dumps(to_json(runs), indent=1) + "\n")
    return 1 if any(run.result.problem for run in runs) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--only", type=_words, default=[], help="subjects whose name starts so, for example plain,bytewax,pasps-functions")
    parser.add_argument("--workloads", type=_words, default=list(WORKLOADS), help=",".join(WORKLOADS))
    parser.add_argument("--workers", type=_numbers, default=[], help="only subjects with so many workers: 1,2")
    parser.add_argument("--modes", type=_words, default=list(MODES), help=",".join(MODES) + "; half needs full")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; tables show the median and [smallest-largest]")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of one run")
    parser.add_argument("--events", type=int, default=0, help="end a run after so many events, too")
    parser.add_argument(
        "--quick", action="store_true", help="one round of 2 seconds each, without waiting for a quiet machine: does it run?"
    )
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--venv-dir", type=Path, default=DEFAULT_DIRECTORY, help="where Bytewax's own environment is or is made")
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in _words(text)]


def _commands(wanted: argparse.Namespace, subjects: list[Subject]) -> CommandFor:
    own = [sys.executable]
    foreign = [*loopback_only(), str(ensure_python(wanted.venv_dir))] if any(subject.foreign for subject in subjects) else own
    return lambda subject: [*(foreign if subject.foreign else own), "-m", subject.module]


def _run_all(wanted: argparse.Namespace, subjects: list[Subject], command: CommandFor) -> list[Run]:
    """Round by round over all subjects, so that what drifts on the machine drifts for all; full speed before what depends on it."""
    rounds, seconds, quiet_wait = (1, 2.0, 0.0) if wanted.quick else (wanted.repeat, wanted.seconds, 30.0)
    runs: list[Run] = []
    for mode in [mode for mode in MODES if mode in wanted.modes]:
        for turn in range(rounds):
            for workload in wanted.workloads:
                for subject in subjects:
                    if subject.only not in ("", workload):
                        continue
                    rate = _rate(mode, runs, subject, workload)
                    if rate is None:
                        continue
                    options = options_for(subject, workload, rate, seconds, wanted.events)
                    result = measure(command(subject), options, quiet_wait=quiet_wait)
                    runs.append(Run(subject, workload, mode, turn, rate, result))
                    _progress(runs[-1])
    return runs


def _rate(mode: Mode, runs: list[Run], subject: Subject, workload: str) -> float | None:
    if mode == "full":
        return 0.0
    if mode == "2000/s":
        return FIXED_RATE
    return maximum(runs, subject, workload) / 2 or None


def _progress(run: Run) -> None:
    result = run.result
    latency = f", p50 {result.p50_ms} ms, p99 {result.p99_ms} ms" if run.rate else ""
    print(
        f"{run.mode:>6} {run.workload} {run.subject.name} x{run.subject.workers}: {result.events_per_second:,.0f}/s{latency}"
        f"{'; ' + result.problem if result.problem else ''}",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
