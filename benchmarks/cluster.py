"""`python -m benchmarks.cluster`: W1 and W2 in a cluster on this machine beside `pasps run` with as many workers, in turns.

The cluster is a development cluster of two Spark workers, brought up here and taken down at the end, however it ends. The same
topology file is given to both, and both are measured from outside by the same records that their sources and sinks leave.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import psutil

from benchmarks.in_cluster.names import BOLTS, WORKERS, WORKLOADS
from benchmarks.in_cluster.pair_tables import tables, to_json
from benchmarks.in_cluster.pairs import Pair, Place, offered, order
from benchmarks.in_cluster.submitted import SPARK_CORES, SPARK_WORKERS, UnfinishedError, clear, client_of
from benchmarks.matrix import MODES, Subject, options_for
from benchmarks.measure import Measurement, measure
from benchmarks.options import Options
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.wanted import WantedCluster
from pasps.errors import PaspsError

_PEER = "pasps-"
_QUICK_SECONDS, _QUICK_ONLY = 2.0, "pasps-functions"
_QUIET_SECONDS = 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when a run failed or was not exact, 130 when it was interrupted. An aim missed is shown only."""
    wanted = _parsed(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    pairs: list[Pair] = []
    code = 0
    try:
        with tempfile.TemporaryDirectory(prefix="bench-cluster-") as scratch, _no_child_left():
            home = Path(scratch) / "home"
            with DevCluster(home, _say) as cluster:
                cluster.up(WantedCluster(workers=SPARK_WORKERS, cores=SPARK_CORES))
                for pair in _measured(wanted, home):
                    pairs.append(pair)
                    _say(_progress(pair))
    except KeyboardInterrupt:
        _say("interrupted")
        code = 130
    except (PaspsError, UnfinishedError) as error:
        _say(f"benchmarks.cluster: {error}")
        code = 1
    print(tables(pairs))
    if wanted.json:
        wanted.json.write_text(json.dumps(to_json(pairs), indent=1) + "\n")
    return code or (1 if any(pair.problems for pair in pairs) else 0)


def _measured(wanted: argparse.Namespace, home: Path) -> Iterator[Pair]:
    """Round by round over all subjects; full speed before what depends on it."""
    done: list[Pair] = []
    for mode in [mode for mode in MODES if mode in wanted.modes]:
        for turn in range(wanted.repeat):
            for workload in wanted.workloads:
                for subject in wanted.subjects:
                    rate = offered(mode, done, subject, workload)
                    if rate is None:
                        continue
                    options = options_for(subject, workload, rate, wanted.seconds, 0)
                    results = {place: _measure(place, subject, options, home, wanted.quiet) for place in order(turn)}
                    done.append(Pair(subject, workload, mode, turn, rate, order(turn)[0], results["here"], results["cluster"]))
                    yield done[-1]


def _measure(place: Place, subject: Subject, options: Options, home: Path, quiet: float) -> Measurement:
    """One run; nothing of it is left in the cluster."""
    bolts = subject.peer.removeprefix(_PEER)
    if place == "here":
        return measure([sys.executable, "-m", "benchmarks.in_cluster.run_here", bolts], options, quiet_wait=quiet)
    result = measure([sys.executable, "-m", "benchmarks.in_cluster.submitted", bolts, str(home)], options, quiet_wait=quiet)
    if left := clear(client_of(home)):
        _say(f"killed {', '.join(left)}, which did not end")
    return result


def _progress(pair: Pair) -> str:
    def told(result: Measurement) -> str:
        latency = f", p50 {result.p50_ms} ms, p99 {result.p99_ms} ms" if pair.rate else ""
        return f"{result.events_per_second:,.0f}/s{latency}"

    name = f"{pair.mode:>6} {pair.workload} {pair.subject.name} x{pair.subject.workers}"
    return "\n".join([f"{name}: pasps run {told(pair.here)}; cluster {told(pair.cluster)}", *pair.problems])


@contextmanager
def _no_child_left() -> Iterator[None]:
    """End what this process has started and an interruption has left."""
    try:
        yield
    finally:
        left = psutil.Process().children(recursive=True)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=5)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; `subjects` and `quiet` come with them."""
    parser = argparse.ArgumentParser("python -m benchmarks.cluster", description=__doc__)
    add = parser.add_argument
    add("--only", type=_words, default=[], metavar="A,B", help="pasps-functions, pasps-classes, -tracked of each; or how several begin")
    add("--workloads", type=_words, default=list(WORKLOADS), metavar="W,W", help=",".join(WORKLOADS))
    add("--workers", type=_numbers, default=[2], metavar="N,N", help="worker processes on both sides, 1 to 4 (default: 2)")
    add("--modes", type=_words, default=["full", "half"], metavar="M,M", help=f"{','.join(MODES)}; half needs full (default: full,half)")
    add("--repeat", type=int, default=3, metavar="N", help="rounds; tables show the median and [smallest-largest] (default: 3)")
    add("--seconds", type=float, default=5.0, metavar="S", help="length of one run (default: 5)")
    add("--quick", action="store_true", help=f"one round of {_QUICK_SECONDS:g} s, {_QUICK_ONLY} unless --only: does it run?")
    add("--json", type=Path, metavar="FILE", help="write everything measured to this file")
    wanted = parser.parse_args(arguments)
    for given, known in ((wanted.modes, MODES), (wanted.workloads, WORKLOADS), (wanted.workers, WORKERS)):
        if unknown := [word for word in given if word not in known]:
            parser.error(f"{unknown[0]!r} is none of {', '.join(map(str, known))}")
    subjects = [Subject(f"{_PEER}{bolts}", workers, tracked) for bolts in BOLTS for workers in wanted.workers for tracked in (False, True)]
    wanted.quiet = 0.0 if wanted.quick else _QUIET_SECONDS
    if wanted.quick:
        wanted.repeat, wanted.seconds = 1, _QUICK_SECONDS
        subjects = [one for one in subjects if wanted.only or one.name == _QUICK_ONLY]
    wanted.subjects = [one for one in subjects if not wanted.only or one.name.startswith(tuple(wanted.only))]
    if not wanted.subjects:
        parser.error(f"no subject's name starts with {' or '.join(wanted.only)}")
    return wanted


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in _words(text)]


if __name__ == "__main__":
    sys.exit(main())
