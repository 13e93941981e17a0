"""`python -m benchmarks.execution_times`: what `pasps et` finds, between two measurements of the live runtime at low load."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.execution_time_subjects.bolts import SUBJECTS, Numbers, Sink
from benchmarks.machine import machine
from pasps import LocalCluster, TopologyBuilder
from pasps.cli.words import seconds_text, table
from pasps.metrics import ComponentStats

_FILE = Path(__file__).parent / "execution_time_subjects" / "subjects.py"
_AIM = 0.1
_NO_AIM = frozenset({"skewed"})
"""Here et is not near the mean, by its definition."""
_WARM_UP_SECONDS = 1.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """One subject in one round, in seconds of one event; live before `pasps et` and after it."""

    subject: str
    et: float
    mean: float
    varies: float | None
    before: float
    after: float

    @property
    def live(self) -> float:
        """The mean of both."""
        return (self.before + self.after) / 2

    @property
    def apart(self) -> float:
        """How many times the smaller one the larger one is: what two equal measurements differ by here."""
        return max(self.before, self.after) / min(self.before, self.after)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; a missed aim is shown, and does not change the exit code."""
    parser = argparse.ArgumentParser("python -m benchmarks.execution_times", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="each goes over all subjects, by `pasps et` and live")
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--rate", type=float, default=100.0, help="events per second, in both")
    parser.add_argument("--repeat", type=int, default=3, help="passes of `pasps et`")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    wanted = parser.parse_args(arguments)
    seen: list[Seen] = []
    for number, name in product(range(wanted.rounds), SUBJECTS):
        # one right after the other: a machine is not as fast all the time
        before = live(name, wanted.events, wanted.rate)
        entry = by_command(name, wanted.events, wanted.rate, wanted.repeat)
        after = live(name, wanted.events, wanted.rate)
        seen.append(Seen(name, entry["et_seconds"], entry["mean_seconds"], entry["varies"], before, after))
        print(f"round {number + 1} of {wanted.rounds}: {seen[-1]}", file=sys.stderr, flush=True)
    print("\n".join(lines(seen)))
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "seen": [asdict(each) for each in seen]}, indent=1) + "\n")
    return 0


def by_command(subject: str, events: int, rate: float, repeat: int) -> Mapping[str, Any]:
    """The entry that `pasps et` writes."""
    others = [name for name in SUBJECTS if name != subject]
    skipped = [word for name in [*others, *(f"after_{name}" for name in SUBJECTS)] for word in ("--skip", name)]
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        out = Path(directory) / "subjects.et.json"
        command = [sys.executable, "-m", "pasps", "et", str(_FILE), "--out", str(out), "--sample", str(events), "--repeat", str(repeat)]
        options = ["--rate", f"{rate:g}", *skipped, "-o", f"trace.rows=[{events}]", "-o", "trace.step.seconds=1"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"pasps et ended with {done.returncode}: {done.stderr}")
        entry: Mapping[str, Any] = json.loads(out.read_text())["operators"][subject]
        return entry


def live(subject: str, events: int, rate: float) -> float:
    """The mean that the meters of a running topology have, without its first second."""
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers, 1)
    builder.set_bolt(subject, SUBJECTS[subject], 1).load_aware_grouping("numbers")
    builder.set_bolt("sink", Sink, 1).load_aware_grouping(subject)
    total = events + int(rate * _WARM_UP_SECONDS)
    trace = {"trace.rows": [total], "trace.step.seconds": total / rate}
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(builder.create_topology(f"live-{subject}", trace))
        while (first := running.stats().components[subject]).executed < rate * _WARM_UP_SECONDS:
            time.sleep(_POLL_SECONDS)
        if not running.wait_finished(10 * total / rate):
            raise RuntimeError(f"{subject} is not finished after ten times as long as it should take")
        last = running.stats().components[subject]
    return (_seconds(last) - _seconds(first)) / (last.executed - first.executed)


def _seconds(stats: ComponentStats) -> float:
    return stats.execute_seconds * stats.executed


def lines(seen: Sequence[Seen]) -> list[str]:
    """The table: medians over the rounds, and of the ratios the smallest and the largest too."""
    rows = []
    for name in SUBJECTS:
        mine = [each for each in seen if each.subject == name]
        ratios = [each.et / each.live for each in mine]
        middle = statistics.median(ratios)
        verdict = "" if name in _NO_AIM else "yes" if abs(middle - 1) <= _AIM else "NO"
        times = (statistics.median(values) for values in ([e.et for e in mine], [e.mean for e in mine], [e.live for e in mine]))
        means = statistics.median(each.mean / each.live for each in mine)
        varies = statistics.median(each.varies or 0.0 for each in mine)
        spread = f"{middle:.2f} [{min(ratios):.2f}-{max(ratios):.2f}]"
        apart = statistics.median(each.apart for each in mine)
        rows.append((name, *map(seconds_text, times), spread, f"{means:.2f}", f"{apart:.2f}", f"{varies:.0%}", verdict))
    head = ("bolt", "et", "mean", "live mean", "et / live", "mean / live", "live / live", "varies", f"within {_AIM:.0%}")
    return table(head, rows)


if __name__ == "__main__":
    sys.exit(main())
