"""`--live`: rows of the tables in real time on two cores, beside what the simulator makes of the very same.

A stretch of a table's input with a lower rate, and bolts that wait for as much longer, so that replicas are as many as in print.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean

from benchmarks.elasticity.comparison import Comparison, Turn
from benchmarks.elasticity.outcomes import Numbers
from benchmarks.elasticity.plans import LINE_BOLTS, RunPlan, Setup
from benchmarks.elasticity.traces import Prepared, whole
from benchmarks.papers import wide_line
from benchmarks.papers.applications import LINEAR
from benchmarks.papers.curves import LAST, MissingError
from benchmarks.papers.inputs import read_rows
from benchmarks.papers.pa_sps import DATASETS, Dataset
from benchmarks.papers.wide_line import POOL, WideLine
from benchmarks.report import markdown
from pasps.api.topology import blueprint_of
from pasps.config import parse_option
from pasps.control.settings import ElasticSettings
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, graph_of
from pasps.simulation.run import Order, Simulated, simulate

INPUTS: Mapping[str, Dataset] = {f"pa-sps-table-{each.table}": each for each in DATASETS if each.trace in ("sbac", "twitter-raw")}
"""The tables of which rows fit."""
SECONDS, LEAST_SECONDS, MOST_SECONDS = 180, 10, 600
PEAK_RATE = 300.0
"""Events a second where the whole trace is highest: two cores carry that through four bolts that wait, with time to spare."""
OURS: Mapping[str, Mapping[str, str]] = {
    "pasps-1": {"pasps.target.utilisation": "1"},
    "pasps-1.3": {"pasps.target.utilisation": "1.3"},
    "pasps-1.3-drain-2": {"pasps.target.utilisation": "1.3", "pasps.drain.secs": "2"},
}
"""Our own policy with its one knob, and once where what waits may be gone in two seconds."""
_CORES = 2
_INTERVAL_SECONDS = 30.0
_TOPOLOGY = Path(wide_line.__file__)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A stretch of a trace: `times` fewer events, of which each takes that many times as long."""

    prepared: Prepared
    times: float

    @property
    def wait_millis(self) -> dict[str, float]:
        """By bolt of the line: et_i of the linear application as warm replicas have it, times `times`."""
        found = zip(LINE_BOLTS, LINEAR.et_seconds.values(), strict=True)
        return {bolt: 1000.0 * seconds * LINEAR.warm * self.times for bolt, seconds in found}

    @property
    def at_start(self) -> int:
        """Replicas of each bolt: as many as the mean of the stretch keeps busy in the dearest one. It begins amid a run, and who was
        given one alone would spend it on what waits until the first decision.
        """
        return math.ceil(fmean(self.prepared.counts) * max(self.wait_millis.values()) / 1000.0)


def scaled(name: str, rows: Sequence[float], seconds: int) -> Scaled:
    """The stretch of so many seconds in which what the published runs were given changes most, neither smoothed nor clipped.

    It is scaled by the peak of all, so that replicas are as many in it as they are there.

    Raises:
        MissingError: the trace is shorter, or nothing ever happens in it.
    """
    given = rows[:LAST]
    if len(given) < seconds:
        raise MissingError(f"trace {name!r} has {len(given)} rows, expected at least {seconds}; give fewer --seconds")
    times = max(given) / PEAK_RATE
    if times <= 0:
        raise MissingError(f"trace {name!r} has no events in its first {LAST} rows; give another folder with --data")
    first = most_changing(given, seconds)
    return Scaled(Prepared(name, first, 1.0, 1.0 / times, whole([rate / times for rate in given[first : first + seconds]])), times)


def most_changing(rows: Sequence[float], seconds: int) -> int:
    """The first row of the stretch with the largest sum of |change|, the first of equals."""
    changes = [0.0, *accumulate(abs(after - before) for before, after in pairwise(rows))]
    return max(range(len(rows) - seconds + 1), key=lambda first: changes[first + seconds - 1] - changes[first])


def plans_for(stretch: Scaled) -> list[RunPlan]:
    """PA-SPS as it was published with the model that only looks back, and our own policy, of which nobody forecasts."""
    waits = {f"line.wait.millis.{bolt}": f"{wait:g}" for bolt, wait in stretch.wait_millis.items()}
    theirs = {"pasps.policy": "pa-sps", "pasps.predictor": "basic", "pasps.policy.options.published": "true"}
    start = stretch.at_start
    ours = {"pasps.policy": "pasps", "pasps.predictor": "none"}
    plans = [RunPlan("pa-sps-basic", "pa-sps", {**waits, **theirs}, start)]
    return [*plans, *(RunPlan(name, "pasps", {**waits, **ours, **options}, start) for name, options in OURS.items())]


def setup_for(stretch: Scaled) -> Setup:
    """What all runs share."""
    return Setup(wait_millis=max(stretch.wait_millis.values()), interval_seconds=_INTERVAL_SECONDS)


def comparison_for(stretch: Scaled, work: Path) -> Comparison:
    """Where runs of a stretch are kept, and how they are made."""
    name = f"{stretch.prepared.name}-{len(stretch.prepared.counts)}-s"
    return Comparison(stretch.prepared, setup_for(stretch), (work / name).absolute(), _TOPOLOGY)


def graph_for(stretch: Scaled, plan: RunPlan) -> tuple[Graph, ElasticSettings]:
    """What is run live as the simulator knows it, and who decides."""
    setup = setup_for(stretch)
    options = dict(parse_option(f"{key}={value}") for key, value in {**setup.options(), **plan.options}.items())
    blueprint = blueprint_of(WideLine, None, options)
    et_seconds = {bolt: millis / 1000.0 for bolt, millis in stretch.wait_millis.items()}
    graph = graph_of(blueprint, None, et_seconds, "", setup.workers, _CORES)
    bolts = tuple(replace(bolt, par=plan.at_start) for bolt in graph.bolts)
    return replace(graph, bolts=bolts), ElasticSettings.from_config(blueprint.config)


def simulated(stretch: Scaled, plan: RunPlan) -> Simulated:
    """The same in virtual time."""
    graph, settings = graph_for(stretch, plan)
    order = Order(plan.policy, settings.predictor, settings.plan, settings.forecast_seconds, options=settings.options)
    return simulate(graph, Arrivals(stretch.prepared.counts, stretch.prepared.row_seconds), order)


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `live` is None when it came to nothing, and `problem` says why."""

    name: str
    live: Numbers | None
    simulated: Simulated
    problem: str = ""


def measured(table: str, stretch: Scaled, work: Path) -> list[Row]:
    """Make the live runs of a table that were not made before, one after the other. Blocks for their time."""
    comparison = comparison_for(stretch, work)
    rows = []
    for plan in plans_for(stretch):
        turn = Turn(plan, 0)
        result = comparison.result(turn)
        if result is None:
            sys.stderr.write(f"        live: {table}, {plan.name}, about {comparison.prepared.seconds:.0f} s\n")
            result = comparison.make(turn, lambda elapsed: None)
        rows.append(Row(plan.name, result.numbers, simulated(stretch, plan), result.problem))
    return rows


def over_replicas(saved: float, over: float) -> float:
    """What a report calls saved, of the pools, as a table has it, of `over` replicas."""
    return 1.0 - (1.0 - saved) * len(LINE_BOLTS) * POOL / over


def live_table(table: str, stretch: Scaled, rows: Sequence[Row]) -> str:
    """Each live run beside the simulated one, and who is ahead in both."""
    over = INPUTS[table].over
    prepared = stretch.prepared
    waits = ", ".join(f"{wait:.1f}" for wait in stretch.wait_millis.values())
    carried = f"{stretch.times:.1f} times fewer events, at most {prepared.peak_rate:,.0f}/s"
    about = (
        f"## {table}, live: {prepared.name}, rows {prepared.first_row} to {prepared.first_row + len(prepared.counts)}\n\n"
        f"{carried}; bolts wait for {waits} ms, and begin with {stretch.at_start} replicas each."
    )
    head = ["run", f"saved of {over:g}: live, simulated", "mean ms", "p99 ms", "processed", "lost live"]
    lines = [[row.name, *_cells(row, over)] for row in rows]
    return "\n\n".join((about, markdown(head, lines), *(f"{row.name} FAILED: {row.problem}" for row in rows if row.problem), _ahead(rows)))


def _cells(row: Row, over: float) -> list[str]:
    found, live = row.simulated, row.live
    latency = found.latency
    theirs = [
        f"{over_replicas(found.saved, over):.3f}",
        f"{1000 * latency.mean:,.1f}",
        f"{1000 * latency.p99:,.1f}",
        f"{found.done / found.events:.3f}",
    ]
    if live is None:
        return [*(f"-, {cell}" for cell in theirs), "-"]
    ours = [
        _number(None if live.saved is None else over_replicas(live.saved, over), ".3f"),
        _number(live.mean, ",.1f", 1000),
        _number(live.p99, ",.1f", 1000),
        f"{live.processed:.3f}",
    ]
    return [*(f"{one}, {other}" for one, other in zip(ours, theirs, strict=True)), f"{live.lost:,.0f}"]


def _number(value: float | None, form: str, times: float = 1.0) -> str:
    return "-" if value is None else format(value * times, form)


def _ahead(rows: Sequence[Row]) -> str:
    """Which of our runs save more than the published policy's at a mean latency that is no higher."""
    theirs, *ours = rows
    live = [row.name for row in ours if _is_ahead(_measures(row.live), _measures(theirs.live))]
    virtual = [row.name for row in ours if _is_ahead(_of_simulated(row.simulated), _of_simulated(theirs.simulated))]
    return f"Ahead of {theirs.name} live: {', '.join(live) or 'none'}; simulated: {', '.join(virtual) or 'none'}."


def _measures(numbers: Numbers | None) -> tuple[float, float] | None:
    if numbers is None or numbers.saved is None or numbers.mean is None:
        return None
    return numbers.saved, numbers.mean


def _of_simulated(found: Simulated) -> tuple[float, float]:
    return found.saved, found.latency.mean


def _is_ahead(ours: tuple[float, float] | None, theirs: tuple[float, float] | None) -> bool:
    """Saves more, and is no slower; nobody is where one of them was not measured."""
    return ours is not None and theirs is not None and ours[0] > theirs[0] and ours[1] <= theirs[1]


def made(tables: Sequence[str], data: Path, work: Path, seconds: int) -> bool:
    """Make and print the tables; whether all runs came to something.

    Raises:
        MissingError: no table was named, one of which no row fits, or a trace is not there.
    """
    for table in tables:
        if table not in INPUTS:
            raise MissingError(f"no row of {table!r} is made live; there are {', '.join(INPUTS)}")
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise MissingError(f"--seconds {seconds}: a live run takes {LEAST_SECONDS} to {MOST_SECONDS} s")
    fine = True
    for table in tables:
        trace = INPUTS[table].trace
        stretch = scaled(trace, read_rows(data, trace), seconds)
        rows = measured(table, stretch, work)
        print(live_table(table, stretch, rows), flush=True)
        fine = fine and not any(row.problem for row in rows)
    return fine
