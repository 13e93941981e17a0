"""`--live`: rows of the tables in real time on two cores, beside what the simulator makes of the very same.

A stretch of a table's input with a lower rate, and bolts that wait for as much longer, so that replicas are as many as in print. The rows
are those of the simulated table, and their configuration is made of the same `Run`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean

from benchmarks.elasticity.comparison import Comparison, Turn
from benchmarks.elasticity.making import Job, make
from benchmarks.elasticity.outcomes import Numbers, Result
from benchmarks.elasticity.plans import ACKERS, LINE_BOLTS, RunPlan, Setup, chosen
from benchmarks.elasticity.traces import Prepared, whole
from benchmarks.papers import narrow_line, presps, wide_line
from benchmarks.papers.applications import LINEAR
from benchmarks.papers.curves import LAST, MissingError
from benchmarks.papers.inputs import read_rows
from benchmarks.papers.narrow_line import NarrowLine
from benchmarks.papers.pa_sps import DATASETS, OTHERS, OVER, STORM, Printed, model_runs, other_runs, storm_runs
from benchmarks.papers.runs import Run
from benchmarks.papers.verdict import of_column, same_order
from benchmarks.papers.wide_line import WideLine
from benchmarks.report import markdown
from pasps import Topology
from pasps.api.topology import blueprint_of
from pasps.config import parse_option
from pasps.control.settings import ElasticSettings, RestartSettings
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, graph_of
from pasps.simulation.run import Order, Simulated, simulate


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table of which rows fit: its input, what it divides by, what is printed, and its simulated runs, by system."""

    trace: str
    over: float
    printed: Mapping[str, Printed]
    runs: Mapping[str, Run]


TABLES: Mapping[str, LiveTable] = {
    **{f"pa-sps-table-{each.table}": LiveTable(each.trace, each.over, each.rows, model_runs(each, 0)) for each in DATASETS},
    "pa-sps-table-3": LiveTable("sbac", OVER, STORM, storm_runs(0)),
    "pa-sps-table-4": LiveTable("sbac", OVER, OTHERS, other_runs(0)),
    "presps-table-3": LiveTable("sbac", OVER, presps.PRINTED, presps.runs(0)),
}
SECONDS, LEAST_SECONDS, MOST_SECONDS = 180, 10, 600
PEAK_RATE = 300.0
"""Events a second where the whole trace is highest: two cores carry that through four bolts that wait, with time to spare."""
OURS: Mapping[str, Mapping[str, str]] = {
    "pasps-0.7": {"pasps.target.utilisation": "0.7"},
    "pasps-1": {"pasps.target.utilisation": "1"},
    "pasps-1.3": {"pasps.target.utilisation": "1.3"},
    "pasps-1.3-drain-2": {"pasps.target.utilisation": "1.3", "pasps.drain.secs": "2"},
}
"""Our own policy with its one knob, and once where what waits may be gone in two seconds."""
_CORES = 2
_INTERVAL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Line:
    """The topology that is run, and the pool of its bolts."""

    file: Path
    topology: type[Topology]
    pool: int


WIDE = Line(Path(wide_line.__file__), WideLine, wide_line.POOL)
NARROW = Line(Path(narrow_line.__file__), NarrowLine, narrow_line.POOL)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A stretch of a trace: `times` fewer events, of which each takes that many times as long."""

    prepared: Prepared
    times: float

    @property
    def wait_millis(self) -> dict[str, float]:
        """By bolt of the line: et_i of the linear application as warm replicas have it, times `times`."""
        return {bolt: 1000.0 * seconds * LINEAR.warm for bolt, seconds in self.benchmark.items()}

    @property
    def benchmark(self) -> dict[str, float]:
        """By bolt of the line: et_i in seconds as the published controller had it from the first minute of a cold run, times `times`."""
        return {bolt: seconds * self.times for bolt, seconds in zip(LINE_BOLTS, LINEAR.et_seconds.values(), strict=True)}

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


# ---- what is run


def name_of(run: Run) -> str:
    """Of a live run: the same in all tables that have it."""
    if run.policy == "static":
        return f"static-{run.replicas}"
    return f"{run.policy}-{run.predictor.removesuffix('-published')}" if run.policy == "pa-sps" else run.policy


def plan_of(run: Run, stretch: Scaled) -> RunPlan:
    """The simulated run on a stretch: its policy, model, options, interval, pool, restarts and et_i.

    Other than there is that it begins with what the stretch needs, unless it has fixed replicas, and a pool of 24 where that is 100.
    """
    options = {**_waits(stretch), "pasps.policy": run.policy, "pasps.predictor": run.predictor}
    options |= {f"pasps.policy.options.{name}": json.dumps(value) for name, value in run.options.items()}
    if run.interval_seconds != _INTERVAL_SECONDS:
        options["pasps.interval.secs"] = f"{run.interval_seconds:g}"
    if run.restart is not None:
        wait, silence = run.restart
        options |= {"pasps.reconfigure": "restart", "pasps.restart.wait.secs": f"{wait:g}", "pasps.restart.silence.secs": f"{silence:g}"}
        options[ACKERS] = "0"
    return RunPlan(
        name_of(run),
        run.policy,
        options,
        run.replicas if run.policy == "static" else stretch.at_start,
        topology=NARROW.file if run.pool <= NARROW.pool else None,
        benchmark=stretch.benchmark if run.benchmarked else {},
    )


def our_plans(stretch: Scaled) -> list[RunPlan]:
    """Our own policy, of which nobody forecasts, and which measures et_i alone."""
    options = {**_waits(stretch), "pasps.policy": "pasps", "pasps.predictor": "none"}
    return [RunPlan(name, "pasps", {**options, **knobs}, stretch.at_start) for name, knobs in OURS.items()]


def plans_for(table: str, stretch: Scaled) -> list[RunPlan]:
    """The systems of a table, as it has them, and ours."""
    return [*(plan_of(run, stretch) for run in TABLES[table].runs.values()), *our_plans(stretch)]


def _waits(stretch: Scaled) -> dict[str, str]:
    return {f"line.wait.millis.{bolt}": f"{wait:g}" for bolt, wait in stretch.wait_millis.items()}


def setup_for(stretch: Scaled) -> Setup:
    """What all runs share."""
    return Setup(wait_millis=max(stretch.wait_millis.values()), interval_seconds=_INTERVAL_SECONDS)


def comparison_for(stretch: Scaled, work: Path) -> Comparison:
    """Where runs of a stretch are kept, and how they are made."""
    name = f"{stretch.prepared.name}-{len(stretch.prepared.counts)}-s"
    return Comparison(stretch.prepared, setup_for(stretch), (work / name).absolute(), WIDE.file)


# ---- the same simulated


def line_of(plan: RunPlan) -> Line:
    """What it runs."""
    return WIDE if plan.topology is None else NARROW


def graph_for(stretch: Scaled, plan: RunPlan) -> tuple[Graph, Order]:
    """What is run live as the simulator knows it, and who decides."""
    setup = setup_for(stretch)
    options = dict(parse_option(f"{key}={value}") for key, value in {**setup.options(), **plan.options}.items())
    blueprint = blueprint_of(line_of(plan).topology, None, options)
    et_seconds = {bolt: millis / 1000.0 for bolt, millis in stretch.wait_millis.items()}
    graph = graph_of(blueprint, None, et_seconds, "", setup.workers, _CORES)
    settings = ElasticSettings.from_config(blueprint.config)
    order = Order(
        plan.policy,
        settings.predictor,
        settings.plan,
        settings.forecast_seconds,
        benchmark=plan.benchmark,
        options=settings.options,
        restart=RestartSettings.from_config(blueprint.config),
        tail_seconds=setup.timeout_seconds,
    )
    return replace(graph, bolts=tuple(replace(bolt, par=plan.at_start) for bolt in graph.bolts)), order


def simulated(stretch: Scaled, plan: RunPlan) -> Simulated:
    """The same in virtual time."""
    graph, order = graph_for(stretch, plan)
    return simulate(graph, Arrivals(stretch.prepared.counts, stretch.prepared.row_seconds), order)


# ---- what came of it


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `live` is None when it came to nothing, and `problem` says why; `system` as the table calls it, nothing: it is ours."""

    plan: RunPlan
    live: Numbers | None
    simulated: Simulated
    problem: str = ""
    system: str = ""

    @property
    def name(self) -> str:
        """Of the run."""
        return self.plan.name

    @property
    def pool(self) -> int:
        """What a report calls saved is of the pools of all bolts."""
        return len(LINE_BOLTS) * line_of(self.plan).pool

    def saved_simulated(self, over: float) -> float:
        """As a table has it, of `over` replicas."""
        return over_replicas(self.simulated.saved, self.pool, over)

    def saved_live(self, over: float) -> float | None:
        """The same of the live run; None: nobody knows."""
        return None if self.live is None or self.live.saved is None else over_replicas(self.live.saved, self.pool, over)


def over_replicas(saved: float, pool: int, over: float) -> float:
    """What is saved of `over` replicas, by what is saved of a pool."""
    return 1.0 - (1.0 - saved) * pool / over


def rows_of(table: str, rows: Iterable[Row]) -> list[Row]:
    """The same under the names that the table has for its systems."""
    systems = {name_of(run): system for system, run in TABLES[table].runs.items()}
    return [replace(row, system=systems.get(row.name, "")) for row in rows]


def live_table(table: str, stretch: Scaled, rows: Sequence[Row]) -> str:
    """Each live run beside the simulated one, who is ahead in both, and the order of all systems where all are there."""
    over, printed, prepared = TABLES[table].over, TABLES[table].printed, stretch.prepared
    waits = ", ".join(f"{wait:.1f}" for wait in stretch.wait_millis.values())
    carried = f"{stretch.times:.1f} times fewer events, at most {prepared.peak_rate:,.0f}/s"
    about = (
        f"## {table}, live: {prepared.name}, rows {prepared.first_row} to {prepared.first_row + len(prepared.counts)}\n\n"
        f"{carried}; bolts wait for {waits} ms, and begin with {stretch.at_start} replicas each where they are not fixed."
    )
    head = ["run", "system", f"saved of {over:g}: paper, live, simulated", "mean ms: live, simulated", "p99 ms", "processed", "lost"]
    lines = [[row.name, row.system or "ours", *_cells(row, over, printed)] for row in rows]
    failed = [f"{row.name} FAILED: {row.problem}" for row in rows if row.problem]
    return "\n\n".join((about, markdown(head, lines), *failed, *_ahead(rows, over), *_order(rows, over, printed)))


def _cells(row: Row, over: float, printed: Mapping[str, Printed]) -> list[str]:
    found, live = row.simulated, row.live
    return [
        f"{_number(printed[row.system].saved if row.system else None, '.3f')}, "
        + _both(row.saved_live(over), row.saved_simulated(over), ".3f"),
        _both(None if live is None else live.mean, found.latency.mean, ",.1f", 1000),
        _both(None if live is None else live.p99, found.latency.p99, ",.1f", 1000),
        _both(None if live is None else live.processed, found.done / found.events, ".3f"),
        _both(None if live is None else live.lost, found.lost, ",.0f"),
    ]


def _both(live: float | None, virtual: float, form: str, times: float = 1.0) -> str:
    return f"{_number(live, form, times)}, {_number(virtual, form, times)}"


def _number(value: float | None, form: str, times: float = 1.0) -> str:
    return "-" if value is None else format(value * times, form)


def _ahead(rows: Sequence[Row], over: float) -> list[str]:
    """Of each system, which of our runs save more than it does at a mean latency that is no higher."""
    said = []
    for theirs in (row for row in rows if row.system):
        live = _ahead_of(_of_live(theirs, over), {row.name: _of_live(row, over) for row in rows if not row.system})
        virtual = _ahead_of(_of_simulated(theirs, over), {row.name: _of_simulated(row, over) for row in rows if not row.system})
        said.append(f"Ahead of {theirs.name} live: {live}; simulated: {virtual}.")
    return said


def _ahead_of(theirs: tuple[float, float] | None, ours: Mapping[str, tuple[float, float] | None]) -> str:
    """Who saves more and is no slower; nobody can be where saved or latency is not known."""
    if theirs is None:
        return "not known"
    saved, mean = theirs
    return ", ".join(name for name, each in ours.items() if each is not None and each[0] > saved and each[1] <= mean) or "none"


def _of_live(row: Row, over: float) -> tuple[float, float] | None:
    saved, mean = row.saved_live(over), None if row.live is None else row.live.mean
    return None if saved is None or mean is None else (saved, mean)


def _of_simulated(row: Row, over: float) -> tuple[float, float]:
    return row.saved_simulated(over), row.simulated.latency.mean


def _order(rows: Sequence[Row], over: float, printed: Mapping[str, Printed]) -> list[str]:
    """The column of saved resources by the rule for columns; nothing where a system is missing."""
    live = {row.system: saved for row in rows if row.system and (saved := row.saved_live(over)) is not None}
    if live.keys() != printed.keys():
        return []
    paper = {system: each.saved for system, each in printed.items()}
    virtual = {row.system: row.saved_simulated(over) for row in rows if row.system}
    columns = {"printed": paper, "live": live, "simulated": virtual}
    orders = "; ".join(f"{name}: {', '.join(sorted(found, key=lambda each: -found[each]))}" for name, found in columns.items())
    alike = "the same order as" if same_order(virtual, live) and same_order(live, virtual) else "another order than"
    verdicts = f"Column saved, live: {of_column(paper, live)}; simulated: {of_column(paper, virtual)}"
    return [f"Who saves most. {orders}. Live it is {alike} simulated.", f"{verdicts}."]


# ---- making them


def made(tables: Sequence[str], data: Path, work: Path, seconds: int, only: Sequence[str] = (), beside: int = 1) -> bool:
    """Make what was not made before and print the tables; whether all runs came to something. Blocks for their time.

    Raises:
        MissingError: no table was named, one of which no row fits, a trace is not there, or `only` names no run.
    """
    for table in tables:
        if table not in TABLES:
            raise MissingError(f"no row of {table!r} is made live; there are {', '.join(TABLES)}")
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise MissingError(f"--seconds {seconds}: a live run takes {LEAST_SECONDS} to {MOST_SECONDS} s")
    if beside < 1:
        raise MissingError(f"--beside {beside}: at least one run is made at a time")
    traces = dict.fromkeys(TABLES[table].trace for table in tables)
    stretches = {trace: scaled(trace, read_rows(data, trace), seconds) for trace in traces}
    wanted = _wanted(tables, stretches, only)
    # a run that several tables have is one
    plans = {(TABLES[table].trace, plan.name): plan for table, each in wanted.items() for plan in each}
    jobs = {key: Job(comparison_for(stretches[key[0]], work), Turn(plan, 0)) for key, plan in plans.items()}
    results = _results(list(jobs.values()), beside)
    rows = {
        key: Row(plan, result.numbers, simulated(stretches[key[0]], plan), result.problem)
        for (key, plan), result in zip(plans.items(), results, strict=True)
    }
    for table, each in wanted.items():
        trace = TABLES[table].trace
        print(live_table(table, stretches[trace], rows_of(table, (rows[trace, plan.name] for plan in each))), flush=True)
    return not any(row.problem for row in rows.values())


def _wanted(tables: Sequence[str], stretches: Mapping[str, Scaled], only: Sequence[str]) -> dict[str, list[RunPlan]]:
    """By table what is to be in it."""
    plans = {table: plans_for(table, stretches[TABLES[table].trace]) for table in tables}
    by_name = {plan.name: plan for each in plans.values() for plan in each}
    try:
        names = {plan.name for plan in chosen(list(by_name.values()), only)}
    except ValueError as error:
        raise MissingError(f"--only: {error}") from error
    return {table: found for table, each in plans.items() if (found := [plan for plan in each if plan.name in names])}


def _results(jobs: Sequence[Job], beside: int) -> list[Result]:
    """In order: what was kept, and what is made now."""
    kept = [job.comparison.result(job.turn) for job in jobs]
    new = iter(make([job for job, result in zip(jobs, kept, strict=True) if result is None], beside))
    return [next(new) if result is None else result for result in kept]
