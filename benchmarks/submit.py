"""`python -m benchmarks.submit`: from `pasps submit` to a topology that runs, in a cluster on this machine, and where the time goes.

With `--beside TREE` another checkout is measured too, in turns. Each has a cluster of its own, and each is used by its commands alone,
so the other checkout may be of any age. The times are those at which `pasps submit` says something; the processor time is that of
all processes of the cluster and of the command, which other users of the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

import psutil

from benchmarks.machine import machine
from pasps.clock import SystemClock

_TOPOLOGY = """\
from pasps import Bolt, Spout, Topology


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self):
        self.emit([1])
        return 0.1


class Check(Bolt):
    def process(self, tup):
        pass


class Counting(Topology):
    numbers = Numbers.spec()
    check = Check.spec(inputs=[numbers])
"""
_HERE = Path(__file__).parents[1]
_MOST_SECONDS = "600"
_LAST = "it runs"
_LEFT = 4
"""`pasps kill` ends with it when tuples were left, as without time to drain they may be."""
_STEPS = (
    ("packed", r"packed "),
    ("submitted", r"submitted "),
    ("the driver speaks", r"starting: its driver reads|starting$"),
    ("Spark has its application", r"starting: \d+ of \d+ executors"),
    ("its executors are there", r"starting: ([1-9]\d*) of \1 executors"),
    ("all workers have come", r"starting: all \d+ workers"),
    (_LAST, r"[\w-]+ is running"),
)
"""What a line begins with that says that so much is done."""


class FailedError(Exception):
    """A command did not do what it was for."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """One submission: when each step was done, in seconds since the command began, and the processor time until the last of them."""

    tree: str
    steps: Mapping[str, float]
    cpu: float


class Checkout:
    """A tree with a cluster of its own."""

    def __init__(self, tree: Path, scratch: Path) -> None:
        self.tree, self.home = tree.resolve(), scratch
        scratch.mkdir()
        paths = [str(self.tree), *filter(None, [os.environ.get("PYTHONPATH")])]
        # no variable may lead to a cluster that is not this one
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PASPS_")}
        self._environment = {**kept, "PASPS_HOME": str(scratch), "PYTHONPATH": os.pathsep.join(paths)}

    def command(self, *words: str) -> subprocess.Popen[str]:
        """`pasps` of this tree, with what it says on a pipe."""
        return subprocess.Popen(
            [sys.executable, "-m", "pasps", *words],
            cwd=self.tree,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def do(self, *words: str, may_end: Collection[int] = (0,)) -> None:
        """Run it to its end, which may be one of these exit codes."""
        process = self.command(*words)
        said, _ = process.communicate()
        if process.returncode not in may_end:
            raise FailedError(f"pasps {' '.join(words)}: {said.strip()}")

    def submit(self, file: Path, name: str, workers: int) -> Submitted:
        """Until it runs; it is killed then."""
        clock, steps, said = SystemClock(), dict[str, float](), ""
        before, began = self._cpu(), clock.now()
        process = self.command("submit", str(file), "--name", name, "--workers", str(workers), "--wait", _MOST_SECONDS)
        assert process.stdout is not None
        for line in process.stdout:
            said = line.strip()
            for step in steps_of(said):
                steps.setdefault(step, clock.now() - began)
        process.wait()
        cpu = self._cpu() - before
        if _LAST not in steps:
            raise FailedError(f"{self.tree}: it does not run: {said}")
        self.do("kill", name, "--wait", "0", may_end=(0, _LEFT))
        return Submitted(str(self.tree), steps, cpu)

    def _cpu(self) -> float:
        """Of everything that the cluster's processes and this one's commands have used, those that have ended included."""
        own = os.times()
        used = own.children_user + own.children_system
        state = json.loads((self.home / "cluster" / "cluster.json").read_text())
        for process in [psutil.Process(each["pid"]) for each in state["processes"].values()]:
            for one in [process, *process.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    used += sum(one.cpu_times()[:4])
        return used


def steps_of(line: str) -> list[str]:
    """What is done, when `pasps submit` says that; nothing for most lines."""
    text = re.sub(r"^ *[0-9.]+ s  ", "", line)
    return [step for step, pattern in _STEPS if re.match(pattern, text)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when something did not start."""
    parser = argparse.ArgumentParser("python -m benchmarks.submit", description=__doc__)
    parser.add_argument("--beside", type=Path, metavar="TREE", help="another checkout, measured in turns")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="submissions of each; tables show the median (default: 5)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="worker processes of the topology (default: 2)")
    parser.add_argument(
        "--pause", type=float, default=0.0, metavar="SECONDS", help="between submissions: a driver that is kept ready comes seconds later"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to this file")
    wanted = parser.parse_args(arguments)
    done: list[Submitted] = []
    code = 0
    trees = [_HERE, *filter(None, [wanted.beside])]
    with tempfile.TemporaryDirectory(prefix="bench-submit-") as scratch, ExitStack() as stack:
        file = Path(scratch) / "counting.py"
        file.write_text(_TOPOLOGY)
        try:
            checkouts = [stack.enter_context(_up(Checkout(tree, Path(scratch) / str(at)))) for at, tree in enumerate(trees)]
            for turn in range(wanted.repeat + 1):
                for checkout in checkouts if turn % 2 else checkouts[::-1]:
                    Event().wait(wanted.pause)
                    result = checkout.submit(file, f"counting-{turn}", wanted.workers)
                    print(f"{result.tree}: {result.steps[_LAST]:.2f} s, {result.cpu:.2f} s of processors", file=sys.stderr, flush=True)
                    # the first one reads Spark from the disk
                    done += [result] if turn else []
        except FailedError as error:
            print(f"benchmarks.submit: {error}", file=sys.stderr)
            code = 1
    print(table(done, str(_HERE)))
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "submissions": [asdict(one) for one in done]}, indent=1) + "\n")
    return code


def table(done: Sequence[Submitted], here: str) -> str:
    """Medians, with [smallest-largest]; with two trees also what this one takes of the other's."""
    trees = sorted({one.tree for one in done}, key=lambda tree: (tree == here, tree))
    lines = [["until", *("this tree" if tree == here else "beside it" for tree in trees), *(["of it"] if len(trees) == 2 else [])]]
    lines.append(["---"] + ["---:"] * (len(lines[0]) - 1))
    steps = [(step, [[one.steps[step] for one in done if one.tree == tree and step in one.steps] for tree in trees]) for step, _ in _STEPS]
    for name, columns in [*steps, ("processor time", [[one.cpu for one in done if one.tree == tree] for tree in trees])]:
        shown = [f"{statistics.median(times):.2f} s [{min(times):.2f}-{max(times):.2f}]" if times else "not said" for times in columns]
        part = f"{statistics.median(columns[1]) / statistics.median(columns[0]):.2f}" if len(columns) == 2 and all(columns) else ""
        lines.append([name, *shown, *([part] if len(trees) == 2 else [])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@contextmanager
def _up(checkout: Checkout) -> Iterator[Checkout]:
    try:
        checkout.do("cluster", "up", "--workers", "1", "--timeout", _MOST_SECONDS)
        yield checkout
    finally:
        checkout.do("cluster", "down")


if __name__ == "__main__":
    sys.exit(main())
