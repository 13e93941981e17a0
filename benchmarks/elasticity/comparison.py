"""All runs over one trace, each in a directory of its own, so that what was interrupted can be gone on with."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.elasticity.clairvoyant import serving
from benchmarks.elasticity.minutes import minutes_kept, minutes_of
from benchmarks.elasticity.one_run import LINE, Ending, Order, command_of, run
from benchmarks.elasticity.outcomes import Numbers, Result, finished, margins_of, mean_numbers, numbers_of, problem_of, write_result
from benchmarks.elasticity.plans import LINE_BOLTS, RunPlan, Setup
from benchmarks.elasticity.traces import Prepared, write_trace
from benchmarks.elasticity.verdict import STEADY, Row
from benchmarks.machine import machine
from benchmarks.process_tree import idle_percent
from pasps.control.et_file import EtFile, OperatorTimes, et_path, write_execution_times
from pasps.errors import InvalidError
from pasps.report.run_files import RunFiles
from pasps.simulation.forecasters import CLAIRVOYANT

SETTLE_SECONDS = 2.0
"""Between two runs; how idle the machine is meanwhile is written down."""
_PACKAGES = ("pasps", "numpy", "scikit-learn", "darts")


@dataclass(frozen=True, slots=True)
class Turn:
    """One run to make: which, and how often it was made before."""

    plan: RunPlan
    round: int

    @property
    def name(self) -> str:
        """For people, and for its directory."""
        return self.plan.name if self.round == 0 else f"{self.plan.name}-round-{self.round + 1}"


def turns_of(plans: Sequence[RunPlan], repeats: int) -> list[Turn]:
    """Round by round, so that what drifts on the machine drifts for all."""
    return [Turn(plan, round) for round in range(repeats) for plan in plans]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and where it is kept: `directory` is this trace's and this topology's own."""

    prepared: Prepared
    setup: Setup
    directory: Path
    topology: Path = LINE

    @property
    def seconds(self) -> float:
        """The longest that a run goes on: one time-out after the trace's end. Most end as soon as all is done."""
        return self.prepared.seconds + self.setup.timeout_seconds

    def parameters(self, plan: RunPlan) -> dict[str, object]:
        """All that a run's numbers depend on; the code and the machine are written down beside it."""
        prepared, setup = self.prepared, self.setup
        # what is usual is not written down, so that what was measured before there was anything else counts on
        special: dict[str, object] = {} if plan.topology is None else {"topology": plan.topology.name}
        if plan.benchmark:
            special["benchmark"] = dict(plan.benchmark)
        return {
            **special,
            "trace": prepared.name,
            "first_row": prepared.first_row,
            "rows": len(prepared.counts),
            "row_seconds": prepared.row_seconds,
            "events": prepared.events,
            "counts": hashlib.sha256(repr(prepared.counts).encode()).hexdigest()[:16],
            "workers": setup.workers,
            "at_start": plan.at_start,
            "options": {**setup.options(), **plan.options},
        }

    def place(self, turn: Turn) -> Path:
        """The directory of one run."""
        return self.directory / turn.name

    def result(self, turn: Turn) -> Result | None:
        """What was measured earlier with the same parameters."""
        return finished(self.place(turn), self.parameters(turn.plan))

    def command(self, turn: Turn) -> list[str]:
        """What is run; who knows what comes is told besides where he is told it, which is known only then."""
        place = self.place(turn)
        files = {"trace.file": str(self.directory / "trace.csv"), "line.counts.dir": str(place / "ids")}
        options = {**self.setup.options(), **turn.plan.options, **files}
        at_start = dict.fromkeys(LINE_BOLTS, turn.plan.at_start)
        return command_of(Order(place / "run", self.seconds, self.setup.workers, options, at_start, self._file(turn)))

    def _file(self, turn: Turn) -> Path:
        """The topology's: where a benchmark belongs beside it, a copy of the run's own."""
        file = turn.plan.topology or self.topology
        return self.place(turn) / file.name if turn.plan.benchmark else file

    def lay_out(self, turn: Turn) -> None:
        """All that a run reads. What an interrupted one left is removed first."""
        plan, place = turn.plan, self.place(turn)
        if place.exists():
            shutil.rmtree(place)
        (place / "ids").mkdir(parents=True)
        write_trace(self.prepared, self.directory / "trace.csv")
        if plan.benchmark:
            file = self._file(turn)
            shutil.copyfile(plan.topology or self.topology, file)
            times = {bolt: OperatorTimes(seconds, "thread", source=None) for bolt, seconds in plan.benchmark.items()}
            write_execution_times(et_path(file), EtFile(file.stem, times))

    def make(self, turn: Turn, progress: Callable[[float], None], stopped: Callable[[], bool] = lambda: False) -> Result:
        """Run it anew; blocks until it is over, or `stopped`."""
        place = self.place(turn)
        self.lay_out(turn)
        idle = idle_percent(SETTLE_SECONDS)
        with self._told(turn) as further:
            ending = run([*self.command(turn), *further], place, self.seconds, progress, stopped)
        result = self._result(turn, ending, idle)
        write_result(result, place)
        return result

    @contextmanager
    def _told(self, turn: Turn) -> Iterator[list[str]]:
        """Further words for the command of who is told what comes: where he is told it."""
        if turn.plan.policy != CLAIRVOYANT:
            yield []
            return
        with serving(self.prepared, self.place(turn) / "run") as url:
            yield ["-o", f"pasps.predictor.url={url}"]

    def _result(self, turn: Turn, ending: Ending, idle: float) -> Result:
        place = self.place(turn)
        tracked = turn.plan.tracked
        problem, numbers = problem_of(ending, (place / "stderr.txt").read_text(errors="replace"), tracked=tracked), None
        minutes: tuple[float, ...] = ()
        if not problem:
            try:
                interval = self.setup.interval_seconds
                numbers = numbers_of(place / "run", place / "ids", self.prepared.events, interval, ending.cores_used, tracked=tracked)
                minutes = tuple(minutes_of(list(RunFiles(place / "run").samples), self.prepared))
            except InvalidError as error:
                problem = str(error)
        about = {**machine(), **_versions(), "idle_before": round(idle, 1)}
        date = datetime.now(UTC).isoformat(timespec="seconds")
        parameters, plan = self.parameters(turn.plan), turn.plan
        return Result(plan.name, plan.policy, parameters, about, date, ending.seconds, ending.exit_code, numbers, problem, minutes)

    def rows(self, plans: Sequence[RunPlan], repeats: int) -> list[Row]:
        """What there is so far."""
        found = []
        for plan in plans:
            several = list(self._numbers(plan, repeats))
            if several:
                kept = None if plan.latency_target is None else self._kept(plan, plan.latency_target, plans, repeats)
                row = Row(
                    plan.name,
                    plan.policy,
                    mean_numbers(several),
                    len(several),
                    margins_of(several),
                    plan.kind,
                    plan.detail,
                    plan.pace_seconds,
                    plan.latency_target,
                    kept,
                )
                found.append(row)
        return found

    def _kept(self, plan: RunPlan, target: float, plans: Sequence[RunPlan], repeats: int) -> tuple[int, int] | None:
        """Over all rounds that have a run with the whole pools to compare with; None: no round has, or no whole minute."""
        steady = next((plan for plan in plans if plan.name == STEADY), None)
        if steady is None:
            return None
        found = []
        for round in range(repeats):
            ours, theirs = self.result(Turn(plan, round)), self.result(Turn(steady, round))
            if ours is not None and theirs is not None and ours.minutes and theirs.minutes:
                found.append(minutes_kept(ours.minutes, theirs.minutes, target))
        return (sum(kept for kept, _ in found), sum(carried for _, carried in found)) if found else None

    def commits(self, plans: Sequence[RunPlan], repeats: int) -> list[str]:
        """The commits that the rows were measured at: more than one when a comparison was gone on with after a change."""
        return sorted({str(result.machine.get("commit")) for plan in plans for result in self._results(plan, repeats)})

    def _numbers(self, plan: RunPlan, repeats: int) -> Iterator[Numbers]:
        return (result.numbers for result in self._results(plan, repeats) if result.numbers is not None)

    def _results(self, plan: RunPlan, repeats: int) -> Iterator[Result]:
        for round in range(repeats):
            result = self.result(Turn(plan, round))
            if result is not None:
                yield result


def _versions() -> Mapping[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
