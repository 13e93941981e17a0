"""`python -m benchmarks.fronts`: what each policy saves, and what latency it pays, on series that nobody developed on, in virtual time.

Every policy decides each 0.25, 1, 5 and 30 s and its target utilisation is swept, so that curves are compared with curves. Nothing is
held back at the spout: what waits, waits at the bolts, where every policy sees it. Arrivals are at random within a row. What was
simulated is kept in `--work` by all that it depends on, the code too, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from benchmarks.data_folder import NO_FOLDER, add_data
from benchmarks.elasticity.minutes import minutely, minutes_kept
from benchmarks.elasticity.verdict import latency_at
from benchmarks.forecasting.series import SeriesError, read, split
from benchmarks.machine import machine
from benchmarks.report import markdown
from benchmarks.series_in_words import pace_in_words, series_in_words
from pasps.api.groupings import Grouping
from pasps.control.decision_log import Record
from pasps.control.forecaster import NONE
from pasps.control.model import rounded_up
from pasps.control.situation import BoltShape, PolicySettings, TopologyShape
from pasps.report.canvas import seconds_axis
from pasps.report.decided import Ahead, decided
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.forecasters import CLAIRVOYANT
from pasps.simulation.graph import Graph, GraphBolt, GraphEdge
from pasps.simulation.run import Order, Simulated, simulate

ROWS = 300
POOL = 8
_COSTLIEST = 0.02
_LOAD = 0.9
"""The highest row needs so much of the pool of the costliest bolt, or of the cores."""
_CLIPPED_AT = 0.995
_TD = 5.0
"""Errors of forecasts are of sums over so many seconds."""
PACES = (0.25, 1.0, 5.0, 30.0)
TARGETS = (0.8, 0.9, 1.0, 1.1)
MODELS = ("naive", "ses", "holt", "theta", "kalman", "ensemble", "ar", "gbm", "basic", "lr", "fft", "ann", "rf")
"""Each in place of `auto`."""
_DEAR = ("gbm", "ann", "rf")
"""A fit takes tens to hundreds of milliseconds."""

# ---- what is run


def chain(name: str, costs: Sequence[float], keyed: Sequence[int] = (), *, computes: bool = False) -> Graph:
    """Bolts in a row; `costs` in any unit, the costliest is 20 ms. One that computes needs 2 ms on one of two cores."""
    scale = (0.002 if computes else _COSTLIEST) / max(costs)
    bolts, source = [], "spout"
    for number, cost in enumerate(costs):
        grouping = Grouping.fields("key") if number in keyed else Grouping.LOAD_AWARE
        edge = GraphEdge(source, "default", 1.0, grouping)
        bolts.append(GraphBolt(f"bolt{number + 1}", (edge,), cost * scale, POOL, POOL // 2, "inline" if computes else "thread"))
        source = bolts[-1].id
    return _graph(name, bolts)


def twitter_complex() -> Graph:
    """News and opinions go different ways, and meet in the store; three tenths are news."""
    costs = {"clean": 43, "kind": 219, "source": 51, "topic": 141, "stop_words": 60, "sentiment": 89, "user_class": 190, "store": 219}
    edges = {
        "clean": [("spout", 1.0)],
        "kind": [("clean", 1.0)],
        "source": [("kind", 0.295)],
        "topic": [("source", 1.0)],
        "stop_words": [("kind", 0.705)],
        "sentiment": [("stop_words", 1.0)],
        "user_class": [("sentiment", 1.0)],
        "store": [("topic", 1.0), ("user_class", 1.0)],
    }
    scale = _COSTLIEST / max(costs.values())
    bolts = [
        GraphBolt(
            name,
            tuple(GraphEdge(source, "default", share) for source, share in edges[name]),
            cost * scale,
            POOL,
            POOL // 2,
            "thread",
        )
        for name, cost in costs.items()
    ]
    return _graph("twitter_complex", bolts)


def _graph(name: str, bolts: Sequence[GraphBolt]) -> Graph:
    shapes = tuple(
        BoltShape(bolt.id, bolt.pool, tuple(edge.source for edge in bolt.inputs), bolt.execution != "inline", 1, bolt.keyed)
        for bolt in bolts
    )
    return Graph(name, {"spout": 1}, tuple(bolts), 2, 2, None, 100_000, shape=TopologyShape(("spout",), shapes))


SUBJECTS: Mapping[str, Callable[[], Graph]] = {
    "line": lambda: chain("line", (1, 1, 1, 1)),
    "keyed": lambda: chain("keyed", (1, 1, 1, 1), (1, 2)),
    "computing": lambda: chain("computing", (1, 1), computes=True),
    "twitter": lambda: chain("twitter", (72, 90, 186, 186)),
    "twitter_complex": twitter_complex,
    "dns": lambda: chain("dns", (127, 56, 56, 127), (1,)),
    "logs": lambda: chain("logs", (86, 79, 60, 86), (1, 2)),
}
"""Costs of the applications are in proportion to what `pasps run` found for their bolts; the store is as costly as the costliest."""


@dataclass(frozen=True, slots=True)
class Case:
    """A topology and its input. `pressed`: what a row was. `models`: those that are dear to fit run on it too."""

    subject: str
    series: str
    pressed: str
    models: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.subject} on {self.series}"


CASES = (
    Case("line", "pa-sps/twitter.csv[1900:3700]", "a second, as recorded", models=True),
    Case("line", "demeter/ads_3d_1s.csv[40000:41800]", "a second, as recorded", models=True),
    Case("line", "worldcup98_per_minute.csv[50000:51800]", "a minute, 60 times as long", models=True),
    Case("line", "pa-sps/dns.csv[40000:41800]", "a second, as recorded"),
    Case("line", "twitter_volume_FB.csv[5000:6800]", "five minutes, 300 times as long"),
    Case("line", "bgelasor_fluctuate.csv[4500:6300]", "ten minutes, 600 times as long"),
    *(Case(subject, "pa-sps/twitter.csv[1900:3700]", "a second, as recorded") for subject in ("keyed", "computing")),
    *(Case(subject, "worldcup98_per_minute.csv[50000:51800]", "a minute, 60 times as long") for subject in ("keyed", "computing")),
    *(Case(subject, "pa-sps/twitter.csv[1900:3700]", "a second, as recorded") for subject in ("twitter", "twitter_complex", "logs")),
    Case("dns", "pa-sps/dns.csv[40000:41800]", "a second, as recorded"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """Who decides. `pace` is how often; policies with corrections still plan each 5 s at most."""

    line: str
    """The curve that it is a point of."""
    policy: str
    predictor: str
    pace: float
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> PolicySettings:
        """As the loop takes them."""
        if self.policy == "pasps":
            return PolicySettings(interval_seconds=max(_TD, self.pace), correction_seconds=self.pace)
        return PolicySettings(self.pace, self.pace, static_replicas=self.options.get("replicas"))


def _curve(policy: str, predictor: str, pace: float, targets: Iterable[float] = TARGETS, **options: Any) -> list[Run]:
    extra = "".join(f", {name} {value:g}" for name, value in options.items())
    name = f"{policy} {predictor}, {pace:g} s{extra}"
    return [Run(name, policy, predictor, pace, {"target": target, **options}) for target in targets]


def runs_of(case: Case) -> list[Run]:
    """All that is compared on it."""
    found = [Run(f"static {count}", "static", NONE, 5.0, {"replicas": count}) for count in (1, 4, 8)]
    ours = (*TARGETS, 1.3)
    for pace in PACES:
        found += _curve("pa-sps", "basic", pace) + _curve("presps", NONE, pace) + _curve("pasps", "auto", pace, ours)
    found += _curve("pa-sps", CLAIRVOYANT, 1.0) + _curve("pasps", CLAIRVOYANT, 0.25, ours) + _curve("pasps", NONE, 0.25, ours)
    for model in ("auto", CLAIRVOYANT, NONE):  # beyond what others take: where queues are let stand
        found += _curve("pasps", model, 0.25, (1.7, 2.3))
    found += [_latency_target(seconds) for seconds in (0.15, 0.2, 0.5)]
    for model in MODELS:
        if model not in _DEAR or case.models:
            found += _curve("pasps", model, 0.25, (0.9, 1.1))
    found += [run for model in ("lr", "fft", "rf", "ann") if model not in _DEAR or case.models for run in _curve("pa-sps", model, 5.0)]
    for drain in (0.25, 5.0):
        found += _curve("pa-sps", "basic", 1.0, drain_seconds=drain) + _curve("presps", NONE, 1.0, drain_seconds=drain)
    for drain in (1.0, 5.0):
        found += _curve("pasps", "auto", 0.25, drain_seconds=drain)
    found += _curve("pasps", "auto", 0.25, (0.9, 1.1), change_seconds=0.0)
    found += _curve("pasps", "auto", 0.25, ours, scale_down_plans=5)  # as it gave replicas back before it weighed what that may cost
    return found


def _latency_target(seconds: float) -> Run:
    return Run(f"pasps auto, 0.25 s, latency_target {seconds:g}", "pasps", "auto", 0.25, {"latency_target": seconds})


# ---- what comes of it


@dataclass(frozen=True, slots=True)
class Found:
    """A run's numbers; seconds. `wape`, `mase`: of the input over 5 s; `short`, `idle`: replicas against those of one who knows what
    comes, as shares of his. `kept`: minutes in which p95 was within the policy's `latency_target`, of those in which
    it is with the whole pools."""

    case: str
    line: str
    aim: float
    saved: float
    mean: float
    p95: float
    p99: float
    changes: int
    processed: float
    wape: float | None
    mase: float | None
    short: float
    idle: float
    kept: tuple[int, int] | None = None


def arrivals_of(folder: Path, case: Case, graph: Graph) -> Arrivals:
    """The series' first rows, a row a second, clipped at the 99.5th percentile, so high that the highest needs the pools."""
    rows = read(folder, case.series)[:ROWS]
    limit = sorted(rows)[math.ceil(_CLIPPED_AT * len(rows)) - 1]
    calm = [min(row, limit) for row in rows]
    scale = _LOAD * graph.capacity() / max(calm)
    return Arrivals.of([row * scale for row in calm], 1.0, seed=1)


def code() -> str:
    """A hash of all that what comes of a run could depend on: the sources of the product and of this benchmark."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256()
    for file in sorted([*(root / "pasps").rglob("*.py"), *(root / "predictor_service").rglob("*.py"), Path(__file__)]):
        found.update(file.read_bytes())
    return found.hexdigest()


def one(folder: Path, work: Path, made_by: str, job: tuple[Case, Run]) -> Found:
    """Simulate it, unless the same code (`made_by`) has done that."""
    case, run = job
    graph = SUBJECTS[case.subject]()
    arrivals = arrivals_of(folder, case, graph)
    text = repr((made_by, case.name, run, graph, hashlib.sha256(repr(arrivals.counts).encode()).hexdigest()))
    kept = work / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    if kept.is_file():
        told = json.loads(kept.read_text())
        return Found(**{**told, "kept": tuple(told["kept"]) if told["kept"] else None})
    found = _simulated(case, run, graph, arrivals)
    kept.write_text(json.dumps(asdict(found)))
    return found


def _simulated(case: Case, run: Run, graph: Graph, arrivals: Arrivals) -> Found:
    options = {name: value for name, value in run.options.items() if name != "replicas"}
    order = Order(run.policy, run.predictor, run.settings, benchmark={bolt.id: bolt.et_seconds for bolt in graph.bolts}, options=options)
    records: list[Record] = []
    target = run.options.get("latency_target")
    latencies: list[tuple[float, Mapping[int, int]]] = []
    result = simulate(graph, arrivals, order, lambda sample: latencies.append((sample.uptime, sample.latency)), records.append)
    wape, mase = errors_of(decided(records, _TD).ahead, arrivals)
    short, idle = against_who_knows(graph, arrivals, result)
    return Found(
        case.name,
        run.line,
        next((float(run.options[name]) for name in ("target", "latency_target", "replicas") if name in run.options), 0.0),
        result.saved,
        result.latency.mean,
        result.latency.p95,
        result.latency.p99,
        result.changes,
        result.done / result.events,
        wape,
        mase,
        short,
        idle,
        None if target is None else minutes_kept(minutely(latencies, ROWS), minutely(_with_all(graph, arrivals), ROWS), target),
    )


def _with_all(graph: Graph, arrivals: Arrivals) -> list[tuple[float, Mapping[int, int]]]:
    """What the latencies are when the whole pools work all the time."""
    latencies: list[tuple[float, Mapping[int, int]]] = []
    order = Order("static", settings=PolicySettings(5.0, static_replicas=POOL))
    simulate(graph, arrivals, order, lambda sample: latencies.append((sample.uptime, sample.latency)))
    return latencies


def errors_of(aheads: Iterable[Ahead], arrivals: Arrivals) -> tuple[float | None, float | None]:
    """WAPE, and MASE against what came in the stretch before."""
    wrong = came = naive = 0.0
    for ahead in aheads:
        if ahead.began < ahead.seconds or ahead.began + ahead.seconds > arrivals.seconds:
            continue
        real = arrivals.expected(ahead.began, ahead.began + ahead.seconds)
        wrong, came = wrong + abs(ahead.events - real), came + real
        naive += abs(arrivals.expected(ahead.began - ahead.seconds, ahead.began) - real)
    return (wrong / came if came else None), (wrong / naive if naive else None)


def against_who_knows(graph: Graph, arrivals: Arrivals, result: Simulated) -> tuple[float, float]:
    """Replicas that were missing and that were too many, second by second, over those that what came in that second needs."""
    visits, needed, short, idle = graph.visits(), 0.0, 0.0, 0.0
    changes = list(result.replicas)
    at = 0
    for second in range(len(arrivals.counts)):
        while at + 1 < len(changes) and changes[at + 1][0] <= second + 1.0:
            at += 1
        have = changes[at][1]
        for bolt in graph.bolts:
            work = arrivals.expected(second, second + 1.0) * visits[bolt.id] * bolt.et_seconds / bolt.concurrency
            need = min(bolt.pool, max(1, rounded_up(work)))
            needed, short, idle = needed + need, short + max(0, need - have[bolt.id]), idle + max(0, have[bolt.id] - need)
    return short / needed, idle / needed


# ---- what it says


def report(found: Sequence[Found]) -> str:
    """Everything in Markdown: the curves of each subject, what the lines of all series together say, and the errors."""
    names = {case.name: case for case in CASES}
    whole = [one for one in found if names[one.case].models]
    line = [one for one in found if names[one.case].subject == "line"]
    parts = [
        _means("The line, means of the series on which the dear models ran too", whole),
        _at_equal("The line on all its series, beside PA-SPS that knows what comes and decides once a second", line),
        _at_equal("The other topologies, likewise", [one for one in found if names[one.case].subject != "line"]),
        _kept(found),
        _errors("Errors of what was forecast for the next 5 s, and replicas against who knows what comes", whole),
    ]
    for case in CASES:
        own = [one for one in found if one.case == case.name and (one.line in _SHOWN or one.line.startswith("static"))]
        if own:
            parts.append(_means(f"{case.name}; a row was {case.pressed}", own))
    return "\n\n".join(parts)


def _of_what(found: Sequence[Found]) -> str:
    """The series of a table over several, and what a row of each was."""
    series = {case.series: case.pressed for case in CASES if any(one.case == case.name for one in found)}
    return "Series: " + "; ".join(f"{name}, a row was {pressed}" for name, pressed in series.items()) + "."


def _lines(found: Sequence[Found]) -> list[str]:
    return list(dict.fromkeys(one.line for one in found))


class Point(NamedTuple):
    """Of a curve: means of what was found at an aim."""

    aim: float
    saved: float
    mean: float
    p99: float
    changes: float


def _points(found: Sequence[Found], line: str) -> list[Point]:
    own = [one for one in found if one.line == line]
    points = []
    for aim in sorted({one.aim for one in own}):
        at = [one for one in own if one.aim == aim]
        points.append(
            Point(aim, fmean(o.saved for o in at), fmean(o.mean for o in at), fmean(o.p99 for o in at), fmean(o.changes for o in at))
        )
    return points


def _means(title: str, found: Sequence[Found]) -> str:
    rows = []
    for line in _lines(found):
        cells = []
        for aim, saved, mean, p99, changes in _points(found, line):
            cells.append(f"{aim:g}: {saved:.1%}, {_millis(mean)}, {_millis(p99)}, {changes:,.0f}")
        done = min(one.processed for one in found if one.line == line)
        rows.append([line, "; ".join(cells), "all" if done >= 1 else f"{min(done, 0.9999):.2%}"])
    several = len({one.case for one in found}) > 1
    head = f"{title}. At each target utilisation: saved, mean latency and p99 in ms, changes.{f' {_of_what(found)}' if several else ''}"
    return f"{head}\n\n{markdown(['policy, forecast, how often', 'target: saved, mean, p99, changes', 'processed'], rows)}"


Latency = Callable[[Point], float]
"""Which of them is compared."""
MEAN: Latency = attrgetter("mean")
P99: Latency = attrgetter("p99")
REFERENCE = f"pa-sps {CLAIRVOYANT}, 1 s"


def ratios(found: Sequence[Found], line: str, reference: str, latency: Latency) -> list[float]:
    """A line's latency over the reference's at what each point of the reference saves, case by case; where the line saves that much."""
    told = []
    for case in dict.fromkeys(one.case for one in found):
        own = [one for one in found if one.case == case]
        curve = sorted((point.saved, latency(point)) for point in _points(own, line))
        for point in _points(own, reference):
            there = latency_at(curve, point.saved)
            if there is not None:
                told.append(there / latency(point))
    return told


def saved_more(found: Sequence[Found], line: str, reference: str, latency: Latency) -> list[float]:
    """What a line saves beyond each point of the reference at an equal latency; beyond its slowest point no more than there."""
    told = []
    for case in dict.fromkeys(one.case for one in found):
        own = [one for one in found if one.case == case]
        curve = sorted((latency(point), point.saved) for point in _points(own, line))
        for point in _points(own, reference):
            if curve and latency(point) >= curve[0][0]:
                there = latency_at(curve, min(latency(point), curve[-1][0]))
                told.append((there or 0.0) - point.saved)
    return told


def _at_equal(title: str, found: Sequence[Found]) -> str:
    rows = []
    cases = dict.fromkeys(one.case for one in found)
    count = sum(len(_points([one for one in found if one.case == case], REFERENCE)) for case in cases)
    for line in _lines(found):
        points = _points(found, line)
        if line == REFERENCE or line.startswith("static") or len(points) < 2:
            continue
        cells = []
        for latency in (MEAN, P99):
            slower = ratios(found, line, REFERENCE, latency)
            more = saved_more(found, line, REFERENCE, latency)
            cells.append(f"{math.exp(fmean(map(math.log, slower))):.2f} ({len(slower)})" if slower else "-")
            cells.append(f"{100 * fmean(more):+.1f} ({len(more)})" if more else "-")
        rows.append([line, *cells])
    head = f"{title}, over its {count} points; in brackets the points of it at which that can be told. {_of_what(found)}"
    columns = [
        "line",
        "mean at equal savings, times",
        "saved at equal mean, points",
        "p99 at equal savings, times",
        "saved at equal p99, points",
    ]
    return f"{head}\n\n{markdown(columns, rows)}"


def _kept(found: Sequence[Found]) -> str:
    rows = []
    for line in _lines([one for one in found if one.kept]):
        own = [one for one in found if one.line == line and one.kept is not None]
        kept, minutes = (sum(one.kept[part] for one in own if one.kept) for part in (0, 1))
        saved, mean = fmean(one.saved for one in own), fmean(one.mean for one in own)
        rows.append([line, f"{kept} of {minutes}", f"{kept / minutes:.0%}" if minutes else "-", f"{saved:.1%}", _millis(mean)])
    head = "Minutes in which p95 was within `latency_target`, over all cases, of those in which it is when the whole pools work."
    head += f" {_of_what([one for one in found if one.kept])}"
    return f"{head}\n\n{markdown(['line', 'minutes', 'share', 'saved', 'mean ms'], rows)}"


def _errors(title: str, found: Sequence[Found]) -> str:
    rows = []
    for line in _lines(found):
        aims = {one.aim for one in found if one.line == line}
        # what is forecast does not depend on the target; of those without 1 the nearest below, which is said
        aim = next((each for each in (1.0, 0.9, 4.0) if each in aims), None)
        if aim is None:
            continue
        own = [one for one in found if one.line == line and one.aim == aim]
        cells = [[one.wape for one in own], [one.mase for one in own]]
        told = ["-" if None in values else f"{fmean(value for value in values if value is not None):.2f}" for values in cells]
        name = line if aim != 0.9 else f"{line}, at 0.9"
        rows.append([name, *told, f"{fmean(one.short for one in own):.1%}", f"{fmean(one.idle for one in own):.1%}"])
    return f"{title}, at a target of 1. {_of_what(found)}\n\n{markdown(['line', 'WAPE', 'MASE', 'replicas short', 'replicas idle'], rows)}"


def _millis(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}"


_SHOWN = {
    "presps none, 0.25 s": ("#b5a642", "PRESPS, four times a second"),
    "presps none, 1 s": ("#e69f00", "PRESPS, each second"),
    "pa-sps basic, 0.25 s": ("#cc79a7", "PA-SPS, four times a second"),
    "pa-sps basic, 5 s": ("#f4a582", "PA-SPS, each 5 s"),
    "pa-sps basic, 1 s": ("#d55e00", "PA-SPS, each second"),
    REFERENCE: ("#000000", "PA-SPS that knows what comes, each second"),
    "pasps none, 0.25 s": ("#999999", "pasps without a forecast"),
    "pasps auto, 0.25 s": ("#0072b2", "pasps as it is"),
}


_SUBJECTS_IN_WORDS = {
    "line": "Line of four bolts",
    "keyed": "Line of four, keyed in the middle",
    "computing": "Two bolts that compute",
    "twitter": "The application twitter",
    "twitter_complex": "The application twitter_complex",
    "dns": "The application dns",
    "logs": "The application logs",
}


def _panel_title(case: str) -> str:
    """A case by its name, in words."""
    subject, _, series = case.partition(" on ")
    pace = pace_in_words(series, 1.0)
    return f"{_SUBJECTS_IN_WORDS.get(subject, subject)}, {series_in_words(series)}" + (f",\n{pace}" if pace else "")


def draw(found: Sequence[Found], file: Path) -> None:
    """Mean latency against saved resources, a panel for each case."""
    names = list(dict.fromkeys(one.case for one in found))
    across = 3
    figure = Figure(figsize=(5 * across, 4 * math.ceil(len(names) / across)))
    panels = figure.subplots(math.ceil(len(names) / across), across, squeeze=False)
    for axis, name in zip(panels.flat, names, strict=False):
        own = [one for one in found if one.case == name]
        for line, (colour, label) in _SHOWN.items():
            points = sorted((saved, mean) for _, saved, mean, _, _ in _points(own, line))
            axis.plot([100 * saved for saved, _ in points], [mean for _, mean in points], "o-", color=colour, label=label, markersize=4)
        means = [point.mean for line in _SHOWN for point in _points(own, line)]
        seconds_axis(axis, min(means, default=0.1), max(means, default=1.0))
        axis.set_title(_panel_title(name), fontsize=9)
        axis.set_xlabel("saved resources, %")
        axis.set_ylabel("mean latency")
        axis.grid(alpha=0.3)
    for axis in panels.flat[len(names) :]:
        axis.set_visible(False)
    panels.flat[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, dpi=90)


# ---- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate what is missing, and print; exit code 2 when a series cannot be had."""
    wanted = _parser().parse_args(arguments)
    cases = [case for case in CASES if any(word in case.name for word in wanted.only)] if wanted.only else list(CASES)
    jobs = [(case, run) for case in cases for run in runs_of(case)]
    if wanted.quick:
        jobs = [(case, run) for case, run in jobs if case is cases[0] and run.line in ("static 4", REFERENCE)][:3]
    try:
        if wanted.report:
            told = [
                Found(**{**each, "kept": tuple(each["kept"]) if each["kept"] else None})
                for each in json.loads(wanted.report.read_text())["runs"]
            ]
        else:
            told = _make(wanted, jobs)
    except SeriesError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    print(report(told))
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "rows": ROWS, "runs": list(map(asdict, told))}, indent=1) + "\n")
    if wanted.figure:
        draw(told, wanted.figure)
    return 0


def _make(wanted: argparse.Namespace, jobs: Sequence[tuple[Case, Run]]) -> list[Found]:
    if wanted.data is None:
        raise SeriesError(NO_FOLDER)
    strange = sorted({case.series for case, _ in jobs} - set(split()["reporting"]))
    if strange:
        raise SeriesError(f"{strange[0]} is not a series for reporting; see forecast_series.json")
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    wanted.work.mkdir(parents=True, exist_ok=True)
    began, found = time.perf_counter(), []
    with multiprocessing.get_context("spawn").Pool(wanted.processes) as pool:
        for number, result in enumerate(pool.imap(partial(one, wanted.data, wanted.work, code()), jobs), 1):
            found.append(result)
            sys.stderr.write(
                f"{time.perf_counter() - began:5.0f} s  {number} of {len(jobs)}  {result.case}: {result.line} at {result.aim:g}\n"
            )
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.fronts", description=__doc__)
    add = parser.add_argument
    add_data(parser)
    add("--only", action="append", default=[], metavar="WORD", help="cases whose name contains this, such as computing; several times")
    add("--processes", type=int, default=2, metavar="N", help="so many runs at a time (default: 2)")
    add("--work", type=Path, default=Path(tempfile.gettempdir()) / "pasps-fronts", metavar="DIR", help="where runs are kept")
    add("--quick", action="store_true", help="does it run? three runs")
    add("--json", type=Path, metavar="FILE", help="every run")
    add("--figure", type=Path, metavar="FILE", help="a picture")
    add("--report", type=Path, metavar="FILE", help="simulate nothing: what --json wrote")
    return parser


if __name__ == "__main__":
    sys.exit(main())
