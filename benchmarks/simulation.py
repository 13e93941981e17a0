"""`python -m benchmarks.simulation`: live runs and simulated ones on the same trace, side by side; and how quick the simulator is.

Live runs are kept in a work directory: `--live NAME` makes one, `--live all` those that were not made, a minute each. et_i is taken
from the live run of the same subject with fixed replicas, and given to all simulated ones.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path

from benchmarks.elasticity.line import Line
from benchmarks.elasticity.one_run import LINE, command_of, run
from benchmarks.elasticity.one_run import Order as RunOrder
from benchmarks.elasticity.plans import Setup, run_plans
from benchmarks.elasticity.traces import SMOOTHED_OVER, Prepared, Wish, prepare, read_trace, write_trace
from benchmarks.report import table
from benchmarks.simulation_subject import Compute, Mixed
from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.cli.simulate import HEAD, contenders_of, row_of
from pasps.config import parse_option
from pasps.control.decision_log import Act
from pasps.control.et_file import EtFile, OperatorTimes
from pasps.control.loop import LoopConfig, MapeLoop
from pasps.control.monitor import Machine
from pasps.control.policies import policy_named
from pasps.control.settings import ElasticSettings
from pasps.control.situation import BoltShape, Forecast, PolicySettings, TopologyShape
from pasps.garbage import collected_seldom
from pasps.metrics import Stats
from pasps.report.measures import Measures, measures_of
from pasps.report.run_files import RunFiles
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.forecasters import CLAIRVOYANT
from pasps.simulation.graph import Graph, GraphBolt, GraphEdge, graph_of
from pasps.simulation.model import Detail, Model
from pasps.simulation.run import Order, Simulated, simulate
from pasps.simulation.virtual_time import VirtualClock

SUBJECT = Path(__file__).with_name("simulation_subject.py")
SECONDS = 50
WORKERS, CORES = 2, 2
_TAIL_SECONDS = 25.0
_SAVED, _MEAN, _P99 = 0.02, 0.15, 0.30
"""How near a simulated run is to be to the live one: absolute, and two shares."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A topology, the input that its whole pools need, and the tuples that come of one event where that is not one."""

    file: Path
    topology: type
    peak_rate: float
    selectivity: Mapping[str, float] = field(default_factory=dict)

    def blueprint(self, options: Mapping[str, str]) -> Blueprint:
        """With these keys."""
        return blueprint_of(self.topology, None, dict(parse_option(f"{key}={value}") for key, value in options.items()))


SUBJECTS = {
    "line": Subject(LINE, Line, 360.0),
    "compute": Subject(SUBJECT, Compute, 350.0),
    "mixed": Subject(SUBJECT, Mixed, 300.0, {"split": 2.0}),
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """One comparison; `calibrates`: et_i of its subject is taken from its live run."""

    subject: str
    options: Mapping[str, str]
    calibrates: bool = False


def _options(policy: str, predictor: str = "none", **more: str) -> dict[str, str]:
    return {
        "pasps.policy": policy,
        "pasps.predictor": predictor,
        "pasps.interval.secs": "5",
        **{k.replace("_", "."): v for k, v in more.items()},
    }


_AS_IT_IS = {"pasps.policy": "pasps"}
"""The policy with all that it has by default: forecasts by `auto`, corrections each 0.25 s."""

CONFIGURATIONS = {
    "line-static-8": Configuration("line", _options("static", pasps_static_replicas="8"), calibrates=True),
    "line-presps": Configuration("line", _options("presps", "basic")),
    "line-pa-sps-lr": Configuration("line", _options("pa-sps", "lr")),
    "line-pasps-auto": Configuration("line", _AS_IT_IS),
    "line-pasps-1.1-auto": Configuration("line", {**_AS_IT_IS, "pasps.target.utilisation": "1.1"}),
    "line-pasps-0.8": Configuration("line", _options("pasps", pasps_target_utilisation="0.8")),
    "line-pasps-1-lr": Configuration("line", _options("pasps", "lr", pasps_target_utilisation="1")),
    "line-pasps-1-own-queues": Configuration("line", _options("pasps", pasps_target_utilisation="1", pasps_shared_queues="false")),
    "compute-static-4": Configuration("compute", _options("static", pasps_static_replicas="4"), calibrates=True),
    "compute-pasps": Configuration("compute", _options("pasps")),
    "compute-pasps-auto": Configuration("compute", _AS_IT_IS),
    "mixed-static-8": Configuration("mixed", _options("static", pasps_static_replicas="8"), calibrates=True),
    "mixed-pasps": Configuration("mixed", _options("pasps")),
    "mixed-pasps-auto": Configuration("mixed", _AS_IT_IS),
    "mixed-pa-sps": Configuration("mixed", _options("pa-sps", "basic")),
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """What is compared; seconds."""

    saved: float
    mean: float
    p95: float
    p99: float
    changes: int
    processed: float


@dataclass(frozen=True, slots=True)
class Live:
    """A live run's numbers, and what its bolts took for one event."""

    numbers: Numbers
    et_seconds: Mapping[str, float]


def prepared_for(name: str, trace: Path) -> Prepared:
    """The trace of a configuration."""
    return prepare(trace.stem, read_trace(trace), Wish(SECONDS, SUBJECTS[CONFIGURATIONS[name].subject].peak_rate))


def make_live(name: str, trace: Path, work: Path) -> Live:
    """Run it, and keep what came of it.

    Raises:
        RuntimeError: it did not end in order.
    """
    configuration = CONFIGURATIONS[name]
    subject, directory = SUBJECTS[configuration.subject], work / name
    directory.mkdir(parents=True, exist_ok=True)
    number = len(list(directory.glob("run-*")))
    run_directory = directory / f"run-{number}"
    prepared = prepared_for(name, trace)
    write_trace(prepared, directory / "trace.csv")
    counts = directory / "counts"
    counts.mkdir(exist_ok=True)
    options = {
        "trace.file": str(directory / "trace.csv"),
        "line.counts.dir": str(counts),
        "topology.max.spout.pending": "1200",
        "topology.executor.receive.buffer.size": "100000",
        **configuration.options,
    }
    command = command_of(RunOrder(run_directory, prepared.seconds + _TAIL_SECONDS, WORKERS, options, {}))
    command[command.index(str(LINE))] = str(subject.file)
    if subject.file != LINE:
        command += ["--topology", subject.topology.__name__]
    ending = run(command, directory, prepared.seconds + _TAIL_SECONDS, lambda seconds: None)
    if ending.problem:
        raise RuntimeError(f"{name}: {ending.problem}; see {directory / 'stderr.txt'}")
    live = live_of(run_directory)
    (directory / "live.json").write_text(json.dumps(asdict(live), indent=2))
    return live


def live_of(run_directory: Path) -> Live:
    """What a run directory says."""
    files = RunFiles(run_directory)
    measures = measures_of(files.samples, files.records, 5.0)
    *_, last = files.samples
    return Live(_numbers(measures), {name: bolt.seconds / bolt.executed for name, bolt in last.bolts.items() if bolt.executed})


def _numbers(measures: Measures) -> Numbers:
    latency, replicas = measures.latency, measures.replicas
    assert latency is not None
    changes = replicas.activations_decided + replicas.deactivations_decided
    return Numbers(measures.saved_resources or 0.0, latency.mean, latency.p95, latency.p99, changes, measures.events.share or 0.0)


def read_live(name: str, work: Path) -> Live | None:
    """What was kept of it; None: it was not run."""
    path = work / name / "live.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text())
    return Live(Numbers(**found["numbers"]), found["et_seconds"])


def simulated(name: str, trace: Path, et_seconds: Mapping[str, float]) -> Simulated:
    """The same in virtual time."""
    configuration = CONFIGURATIONS[name]
    subject = SUBJECTS[configuration.subject]
    options = {"topology.max.spout.pending": "1200", "topology.executor.receive.buffer.size": "100000", **configuration.options}
    blueprint = subject.blueprint(options)
    plans = {plan.id: plan for plan in blueprint.components.values() if not plan.is_spout}
    times = EtFile(
        blueprint.name,
        {
            bolt: OperatorTimes(seconds, plans[bolt].execution, None, selectivity={"default": subject.selectivity.get(bolt, 1.0)})
            for bolt, seconds in et_seconds.items()
        },
    )
    graph = graph_of(blueprint, times, {}, name, WORKERS, CORES)
    settings = ElasticSettings.from_config(blueprint.config)
    prepared = prepared_for(name, trace)
    order = Order(
        settings.policy or "pasps",
        settings.predictor,
        settings.plan,
        settings.forecast_seconds,
        options=settings.options,
        tail_seconds=_TAIL_SECONDS,
    )
    return simulate(graph, Arrivals(prepared.counts, prepared.row_seconds), order)


def compared(work: Path, trace: Path) -> list[list[str]]:
    """A row for each configuration whose subject was measured."""
    rows = []
    for name, configuration in CONFIGURATIONS.items():
        live = read_live(name, work)
        base = next(n for n, c in CONFIGURATIONS.items() if c.subject == configuration.subject and c.calibrates)
        measured = read_live(base, work)
        if live is None or measured is None:
            print(f"{name}: not run live yet, or {base} was not; make it with --live NAME", file=sys.stderr)
            continue
        rows.append(_beside(name, live.numbers, simulated(name, trace, measured.et_seconds)))
    return rows


def _beside(name: str, live: Numbers, found: Simulated) -> list[str]:
    saved, mean, p99 = found.saved - live.saved, found.latency.mean / live.mean - 1, found.latency.p99 / live.p99 - 1
    within = abs(saved) <= _SAVED and abs(mean) <= _MEAN and abs(p99) <= _P99
    return [
        name,
        f"{live.saved:.3f}",
        f"{found.saved:.3f}",
        *(_millis(seconds) for seconds in (live.mean, found.latency.mean)),
        f"{mean:+.0%}",
        *(_millis(seconds) for seconds in (live.p99, found.latency.p99)),
        f"{p99:+.0%}",
        f"{live.changes:,}",
        f"{found.changes:,}",
        "yes" if within else "no",
    ]


def _millis(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}" if seconds >= 0.1 else f"{1000 * seconds:.1f}"


_ET = 0.0201
"""What 20 ms of waiting take in the line, as measured there."""
_QUICK_MODELS = ("none", "basic", "lr", "auto", CLAIRVOYANT)


def against_results(results: Path, trace: Path) -> list[list[str]]:
    """A row for each run of a comparison that `benchmarks.elastic` kept; those whose forecasts take long to fit are left out."""
    kept = json.loads(results.read_text())
    known = {each.name for each in fields(Setup)}
    setup = Setup(**{"shared_queues": False, **{name: value for name, value in kept["setup"].items() if name in known}})
    about = kept["trace"]
    smoothed = about.get("smoothed_over", SMOOTHED_OVER)
    wish = Wish(about["rows"], about["peak_rate"], about["row_seconds"], about["first_row"], smoothed)
    prepared = prepare(trace.stem, read_trace(trace), wish)
    if prepared.events != about["events"]:
        raise ValueError(
            f"{results}: {about['events']:,} events were run, the same rows of {trace} have {prepared.events:,}; "
            'they are of another trace, or were smoothed otherwise: say over how many rows as "smoothed_over" of its "trace"'
        )
    measured = {run["name"]: run["numbers"] for run in kept["runs"]}
    rows = []
    for plan in run_plans(setup, _targets(measured, "pasps-"), _targets(measured, "pasps-latency-")):
        if plan.name not in measured or plan.options.get("pasps.predictor", "none") not in _QUICK_MODELS:
            continue
        blueprint = SUBJECTS["line"].blueprint({**setup.options(), "pasps.predictor": "basic", **plan.options})
        times = dict.fromkeys((name for name, each in blueprint.components.items() if not each.is_spout), _ET)
        graph = graph_of(blueprint, None, times, "", setup.workers, CORES)
        graph = replace(graph, bolts=tuple(replace(bolt, par=plan.at_start) for bolt in graph.bolts))
        settings = ElasticSettings.from_config(blueprint.config)
        order = Order(plan.options["pasps.policy"], settings.predictor, settings.plan, settings.forecast_seconds, options=settings.options)
        found = simulate(graph, Arrivals(prepared.counts, prepared.row_seconds), order)
        numbers = measured[plan.name]
        changes = int(numbers["activations"] + numbers["deactivations"])
        live = Numbers(numbers["saved"], numbers["mean"], numbers["p95"], numbers["p99"], changes, numbers["processed"])
        rows.append(_beside(plan.name, live, found))
    return rows


def _targets(names: Iterable[str], before: str) -> list[float]:
    """What was swept, by the names of the runs."""
    found = (name.removeprefix(before) for name in names if name.startswith(before))
    return [float(target) for target in found if target.replace(".", "", 1).isdigit()]


# ---- how quick it is


def line_of(bolts: int, pool: int, et_seconds: float = 0.02) -> Graph:
    """So many bolts in a row, which wait."""
    names = ["trace", *(f"bolt{number}" for number in range(1, bolts + 1))]
    plans = tuple(
        GraphBolt(name, (GraphEdge(source, "default"),), et_seconds, pool, max(1, pool // 2), "thread") for source, name in pairwise(names)
    )
    shapes = tuple(BoltShape(plan.id, pool, (plan.inputs[0].source,), waits=True) for plan in plans)
    return Graph("line", {"trace": 1}, plans, WORKERS, CORES, shape=TopologyShape(("trace",), shapes))


def speeds(trace: Path) -> list[list[str]]:
    """An hour of 100 bolts, and the busiest day of the trace: with a decision each 30 s, and with one a second."""
    rows = read_trace(trace)
    first = max(range(0, max(1, len(rows) - 1440), 60), key=lambda row: sum(rows[row : row + 1440]))
    day = Arrivals.of(rows[first : first + 1440], 60.0)
    hour = Arrivals.of([50 * (1 + 0.5 * math.sin(second / 200)) for second in range(3600)])
    wide = int(day.peak_rate * 0.02 * 1.1) + 2
    what_day = f"the busiest day, {day.events / 24e6:.2f} M requests an hour, 4 bolts"
    found = []
    for what, graph, arrivals, policy in (
        ("an hour of 100 bolts", line_of(100, 4), hour, "pa-sps"),
        ("an hour of 100 bolts", line_of(100, 4), hour, "pasps"),
        (what_day, line_of(4, wide), day, "pa-sps"),
        (what_day, line_of(4, wide), day, "pasps"),
    ):
        began, used = time.perf_counter(), time.process_time()
        result = simulate(graph, arrivals, Order(policy, "basic", PolicySettings(interval_seconds=30.0)))
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        found.append([what, policy, f"{result.events:,}", f"{wall:.1f}", f"{cpu:.1f}"])
    return found


class _Accepts:
    """An actuator that changes nothing, and forecasts at once."""

    async def set_replicas(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        """See `pasps.control.loop.Actuator`."""
        return {}, 1

    async def restart(self, wanted: Mapping[str, int]) -> tuple[dict[str, Act], int, None]:
        """See `pasps.control.loop.Actuator`."""
        return {}, 1, None

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """See `pasps.control.loop.Forecasts`: as now."""
        return Forecast(now, (samples[-1],) * math.ceil(seconds), "naive") if samples else None


def cycles(bolts: int = 1000, seconds: int = 20) -> list[list[str]]:
    """CPU milliseconds of a tick with its decision, for so many bolts: the mean over some seconds, each decided."""
    found = []
    for policy in ("pasps", "pa-sps", "presps"):
        graph = line_of(bolts, 4)
        model = Model(graph, Arrivals((20,) * (seconds + 60)), Detail(1.0, exact=False))
        snapshots = []
        for second in range(30, 30 + seconds):
            model.run(float(second))
            snapshots.append(model.stats())
        clock, accepts = VirtualClock(), _Accepts()
        config = LoopConfig(graph.shape, policy_named(policy), PolicySettings(interval_seconds=5.0), lambda record: None)
        loop = MapeLoop(config, accepts, accepts, clock)

        async def decided(loop: MapeLoop = loop, snapshots: Sequence[Stats] = snapshots) -> list[float]:
            taken = []
            for number, stats in enumerate(snapshots, 1):
                began = time.process_time()
                loop.tick(stats, Machine(WORKERS, CORES, 0.1 * number, 2.0 * number))
                await loop.decide("cycle")
                taken.append(time.process_time() - began)
            return taken

        with collected_seldom():  # as in a driver
            taken = asyncio.run(decided())[2:]
        found.append([policy, f"{bolts:,}", f"{1000 * sum(taken) / len(taken):.1f}", f"{1000 * max(taken):.1f}"])
    return found


def swept(options: argparse.Namespace) -> list[list[str]]:
    """Policies on the line of `benchmarks.elastic`, on the stretch of the trace that it would take: to try a rule before it is measured."""
    prepared = prepare(options.trace.stem, read_trace(options.trace), Wish(options.rows, SUBJECTS["line"].peak_rate))
    graph = replace(line_of(4, 8), pending=1200, buffer=100_000)
    config = {"pasps.interval.secs": 5, **dict(parse_option(text) for text in options.option)}
    arrivals = Arrivals(prepared.counts, prepared.row_seconds, options.seed if options.random else None)
    return [row_of(one.name, simulate(graph, arrivals, one.order)) for one in contenders_of(options, config, {})]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables, or make a live run."""
    parser = argparse.ArgumentParser("python -m benchmarks.simulation", description=__doc__)
    add = parser.add_argument
    add("--trace", type=Path, required=True, metavar="FILE", help="CSV of time and count, as worldcup98_per_minute.csv")
    add("--work", type=Path, default=Path(tempfile.gettempdir()) / "pasps-simulation", metavar="DIR", help="where live runs are kept")
    add(
        "--live",
        metavar="NAME",
        choices=[*CONFIGURATIONS, "all"],
        help="make this live run, or all that were not made; nothing else should run on the machine",
    )
    add("--results", type=Path, metavar="FILE", help="compare with what benchmarks.elastic kept of this trace, as JSON")
    add("--speed", action="store_true", help="how quick the simulator is")
    add("--compare", metavar="A,B", help="try policies on the line of benchmarks.elastic, as pasps@0.8,pasps:lr@1,pa-sps:lr,static:8")
    add("--rows", type=int, default=600, help="so many rows of the trace, where it is burstiest (default: 600); with --compare")
    add("--random", action="store_true", help="events at random within a second; with --compare")
    add("-o", "--option", action="append", default=[], metavar="KEY=VALUE", help="a configuration key; with --compare")
    add("--seed", type=int, default=1)
    parser.set_defaults(predictor=None, policy=None)
    options = parser.parse_args(arguments)
    if options.compare:
        print(table("Simulated, not measured", list(HEAD), swept(options)))
    elif options.live:
        missing = [name for name in CONFIGURATIONS if read_live(name, options.work) is None]
        for name in missing if options.live == "all" else [options.live]:
            print(f"{name}: {json.dumps(asdict(make_live(name, options.trace, options.work)))}", flush=True)
    elif options.speed:
        print(table("A control cycle", ["policy", "bolts", "CPU ms, mean", "most"], cycles()))
        print(table("Simulated", ["what", "policy", "events", "seconds", "CPU seconds"], speeds(options.trace)))
    else:
        heads = "configuration,saved live,sim,mean ms live,sim,off by,p99 ms live,sim,off by,changes live,sim,within".split(",")
        try:
            kept = against_results(options.results, options.trace) if options.results else compared(options.work, options.trace)
        except ValueError as error:
            parser.error(str(error))
        print(table("Live and simulated", heads, kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
