"""`python -m benchmarks.osg`: groupings on bolts whose cost goes by the value, by how skewed the values are; simulated, or `--live`.

The topologies are DABS-Storm's, simple and complex sensitive. Whatever the skew, the sensitive bolt takes 3 ms for an event in the mean.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.report import table
from pasps import Blueprint, Grouping, GroupingSpec, LocalCluster, TopologyBuilder
from pasps.control.et_file import EtFile, OperatorTimes
from pasps.groupings import GroupingType, Pick, Row, Sender, TargetView, by_target
from pasps.groupings.osg import State
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, graph_of, with_classes
from pasps.simulation.model import Detail, Machinery, Model
from topologies.complex_sensitive import complex_sensitive as opinions
from topologies.complex_sensitive.complex_sensitive import AgeAnalyzer, CategoryDispatcher, CityAnalyzer, CityFinder, OpinionSource
from topologies.simple_sensitive import simple_sensitive
from topologies.simple_sensitive.sensitive import MOST_VALUE, Sensitive
from topologies.simple_sensitive.simple_sensitive import Source
from topologies.work import work

MEAN_SECONDS = 0.003
"""What the sensitive bolt takes."""
SKEWS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
_PASSING_SECONDS, _STORING_SECONDS = 0.0001, 0.0005
"""What other bolts that compute take, and the store for a row; simulated."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A grouping of the edge to the sensitive bolt, by its key field; `own_queues`: each replica has a queue of its own, in all bolts."""

    spec: Callable[[str], GroupingSpec]
    own_queues: bool = False


class _Known:
    """To the replica that was given the least work, by what each value does take: OSG's rule, and nothing to find out."""

    fan: int | None = 1

    def __init__(self, at: Sender) -> None:
        self._given: dict[int, int] = {}

    def refresh(self, view: TargetView) -> None:
        """See `Splitter`."""
        self._given = dict.fromkeys(view.active, 0)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """See `Splitter`."""
        targets, given = [], self._given
        for row in rows:
            target = min(given, key=given.__getitem__)
            given[target] += 1 + row[0]  # simulated values are numbered from 0
            targets.append(target)
        return by_target(targets)


KNOWN = "costs known"
"""Simulated only: what OSG might bring if a sketch knew everything."""
CHOICES = {
    "shuffle, own queues": Choice(lambda field: Grouping.SHUFFLE, own_queues=True),
    "shuffle": Choice(lambda field: Grouping.SHUFFLE),
    "load-aware": Choice(lambda field: Grouping.LOAD_AWARE),
    "load-aware paper": Choice(lambda field: Grouping.LOAD_AWARE_PAPER),
    "load-aware storm": Choice(lambda field: Grouping.LOAD_AWARE_STORM),
    "osg": Choice(Grouping.osg),
    KNOWN: Choice(partial(Grouping.of, GroupingType("known", "by what a value takes", _Known, takes_fields=True))),
}


def simple(choice: Choice, replicas: int, config: Mapping[str, Any]) -> Blueprint:
    """`topologies/simple_sensitive` with that grouping."""
    builder = TopologyBuilder()
    builder.set_spout("source", Source)
    builder.set_bolt("sensitive", Sensitive, replicas).grouping("source", choice.spec("value"))
    builder.set_bolt("finalize", simple_sensitive.Store, 4).load_aware_grouping("sensitive")
    return builder.create_topology("simple-sensitive", {**config, **_queues(choice)})


def complex_(choice: Choice, replicas: int, config: Mapping[str, Any]) -> Blueprint:
    """`topologies/complex_sensitive` with that grouping; two dispatchers, so there are several senders."""
    builder = TopologyBuilder()
    builder.set_spout("source", OpinionSource)
    builder.set_bolt("dispatcher", CategoryDispatcher, 2).load_aware_grouping("source")
    builder.set_bolt("city_finder", CityFinder, replicas).grouping("dispatcher", choice.spec("code"), "city")
    builder.set_bolt("city_analyzer", CityAnalyzer).load_aware_grouping("city_finder")
    builder.set_bolt("age_finder", opinions.age_finder).load_aware_grouping("dispatcher", "age")
    builder.set_bolt("age_analyzer", AgeAnalyzer).load_aware_grouping("age_finder")
    builder.set_bolt("persister", opinions.Store, 4).load_aware_grouping("city_analyzer").load_aware_grouping("age_analyzer")
    return builder.create_topology("complex-sensitive", {**config, **_queues(choice)})


def _queues(choice: Choice) -> dict[str, Any]:
    return {"pasps.shared.queues": False} if choice.own_queues else {}


@dataclass(frozen=True, slots=True)
class Subject:
    """A topology, which of its bolts is sensitive, and how many tuples come of an event of its others, where that is not one."""

    build: Callable[[Choice, int, Mapping[str, Any]], Blueprint]
    sensitive: str
    selectivity: Mapping[str, Mapping[str, float]]


_KEPT = 0.75
"""Of opinions the share with a topic that matters, and of those that an analyzer gets the share that is strong."""
SUBJECTS = {
    "simple": Subject(simple, "sensitive", {}),
    "complex": Subject(
        complex_,
        "city_finder",
        {
            "dispatcher": {"city": _KEPT, "age": _KEPT},
            "city_analyzer": {"default": _KEPT},
            "age_analyzer": {"default": _KEPT},
        },
    ),
}


def shares_of(skew: float) -> list[float]:
    """Of each value from 1 on, by Zipf's law."""
    return [value**-skew for value in range(1, MOST_VALUE + 1)]


def seconds_of_one(skew: float) -> float:
    """What each one of a value takes, so that an event takes `MEAN_SECONDS` in the mean."""
    shares = shares_of(skew)
    return MEAN_SECONDS * sum(shares) / sum(share * value for value, share in enumerate(shares, 1))


# ---- simulated


def workers_for(replicas: int) -> int:
    """So many that each replica of the sensitive bolt has a loop that it shares with one other bolt at most."""
    return replicas + 2


def graph_for(subject: Subject, choice: Choice, replicas: int, skew: float) -> Graph:
    """On workers with a core each."""
    blueprint = subject.build(choice, replicas, {})
    plans = [plan for plan in blueprint.components.values() if not plan.is_spout]
    times = {
        plan.id: OperatorTimes(
            _PASSING_SECONDS if plan.execution == "inline" else _STORING_SECONDS,
            plan.execution,
            None,
            selectivity=subject.selectivity.get(plan.id, {"default": 1.0}),
        )
        for plan in plans
    }
    workers = workers_for(replicas)
    graph = graph_of(blueprint, EtFile(blueprint.name, times), {}, "", workers, workers)
    each = seconds_of_one(skew)
    return with_classes(graph, shares_of(skew), {subject.sensitive: [each * value for value in range(1, MOST_VALUE + 1)]})


def rate_for(graph: Graph, sensitive: str, utilisation: float) -> float:
    """Events a second that keep the replicas of the sensitive bolt so busy."""
    machinery = Machinery()
    (bolt,) = [bolt for bolt in graph.bolts if bolt.id == sensitive]
    return utilisation * bolt.pool / (graph.visits()[sensitive] * (bolt.et_seconds + machinery.tuple_cpu + machinery.turn))


class RunShare(logging.Handler):
    """Listens to what OSG's senders say of their states, and adds up how long each was in RUN."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(logging.DEBUG)
        self._now = now
        self._since: dict[str, tuple[bool, float]] = {}
        self._running: dict[str, float] = {}
        self._began = now()

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        sender, _, state = record.getMessage().rpartition(": ")
        self._add(sender)
        self._since[sender] = state == State.RUN.value, self._now()

    def _add(self, sender: str) -> None:
        running, since = self._since.get(sender, (False, self._began))
        if running:
            self._running[sender] = self._running.get(sender, 0.0) + self._now() - since

    def restart(self) -> None:
        """Begin to add up now."""
        self._began = self._now()
        self._running.clear()
        self._since = {sender: (running, self._began) for sender, (running, _) in self._since.items()}

    def share(self) -> float:
        """Of the time since then, the mean over the senders; 0 when there is none."""
        for sender in self._since:
            self._add(sender)
        total = len(self._since) * (self._now() - self._began)
        return sum(self._running.values()) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Simulated:
    """Seconds until an event was done, in the mean over the second half of them, and OSG's share of that time in RUN."""

    mean: float
    running: float


def simulated(subject: Subject, choice: Choice, replicas: int, skew: float, utilisation: float, events: int, seed: int) -> Simulated:
    """One run at a steady rate, arrivals at random. What is learnt at the start is no part of the mean."""
    graph = graph_for(subject, choice, replicas, skew)
    rate = rate_for(graph, subject.sensitive, utilisation)
    arrivals = Arrivals.of([rate] * max(2, round(events / rate)), 1.0, seed)
    model = Model(graph, arrivals, Detail(arrivals.peak_rate, exact=True), seed)
    share = RunShare(model.now)
    log = logging.getLogger("pasps.groupings.osg")
    level = log.level
    log.setLevel(logging.DEBUG)
    log.addHandler(share)
    try:
        model.run(arrivals.seconds / 2)
        share.restart()
        before = model.latency.total, model.latency.count
        model.run(arrivals.seconds)
        running = share.share()
        while not model.over:
            model.run(model.time + 1.0)
    finally:
        log.removeHandler(share)
        log.setLevel(level)
    return Simulated((model.latency.total - before[0]) / (model.latency.count - before[1]), running)


def simulated_rows(subject: Subject, options: argparse.Namespace) -> list[list[str]]:
    """A row for each skew."""
    rows = []
    for skew in options.skews:
        cells, running = [f"{skew:g}"], 0.0
        for name, choice in CHOICES.items():
            found = [
                simulated(subject, choice, options.replicas, skew, options.utilisation, options.events, seed)
                for seed in range(1, options.seeds + 1)
            ]
            cells.append(_spread([1000 * each.mean for each in found]))
            running = max(running, fmean(each.running for each in found))
            print(f"skew {skew:g}, {name}: {cells[-1]} ms", file=sys.stderr)
        rows.append([*cells, f"{running:.0%}"])
    return rows


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):,.0f}" + (f" ± {stdev(values):,.0f}" if len(values) > 1 else "")


# ---- live


def rounds_a_second() -> float:
    """Of `topologies.work` on this machine, in a process that nobody else holds up: the best of some tries."""
    best = 0.0
    for _ in range(5):
        began = time.process_time()
        work(20_000, 1)
        best = max(best, 20_000 / (time.process_time() - began))
    return best


def live(subject: Subject, choice: Choice, options: argparse.Namespace, skew: float, directory: Path) -> list[str]:
    """One run of the real topology; rounds by what this machine takes for them."""
    rate = options.utilisation * options.replicas / MEAN_SECONDS * options.share
    config = {
        "events.kind": "steady",
        "events.rate": rate,
        "events.total": round(rate * options.seconds),
        "values.skew": skew,
        "work.rounds": max(1, round(seconds_of_one(skew) * rounds_a_second())),
        "sql.url": f"sqlite:///{directory / 'rows.db'}",
        "topology.message.timeout.secs": 300,
    }
    with LocalCluster(workers=workers_for(options.replicas)) as cluster:
        running = cluster.submit(subject.build(choice, options.replicas, config))
        done = running.wait_finished(10 * options.seconds + 60)
        stats = running.stats()
    latency = stats.complete_latency
    problem = "" if done and not stats.failed else f"{stats.failed} failed" if done else "not done"
    return [f"{1000 * latency.mean:,.0f}", f"{1000 * latency.p50:,.0f}", f"{1000 * latency.p99:,.0f}", f"{stats.acked:,}", problem]


def live_rows(subject: Subject, options: argparse.Namespace) -> list[list[str]]:
    """A row for each skew and grouping."""
    rows = []
    for skew in options.skews:
        for name, choice in CHOICES.items():
            if name == KNOWN:
                continue
            with tempfile.TemporaryDirectory() as directory:
                rows.append([f"{skew:g}", name, *live(subject, choice, options, skew, Path(directory))])
            print(" ".join(rows[-1]), file=sys.stderr)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each topology."""
    parser = argparse.ArgumentParser("python -m benchmarks.osg", description=__doc__)
    add = parser.add_argument
    add("--topology", choices=[*SUBJECTS], help="only this one")
    add("--skews", type=_numbers, default=SKEWS, metavar="A,B", help="of Zipf's law (default: 0,0.5,1,1.5,2,2.5)")
    add("--replicas", type=int, default=4, help="of the sensitive bolt (default: 4); there are two workers more than that")
    add("--utilisation", type=float, default=0.8, help="how busy they are (default: 0.8)")
    add("--events", type=int, default=50_000, help="of a simulated run (default: 50000)")
    add("--seeds", type=int, default=3, help="simulated runs of each kind (default: 3)")
    add("--live", action="store_true", help="run the real topologies instead; nothing else should run on the machine")
    add("--seconds", type=float, default=30.0, help="of a live run (default: 30)")
    add("--share", type=float, default=0.5, help="of the simulated rate in live runs, whose other bolts and processes take cores too")
    options = parser.parse_args(arguments)
    for name, subject in SUBJECTS.items():
        if options.topology not in (None, name):
            continue
        if options.live:
            heads = ["skew", "grouping", "mean ms", "p50", "p99", "events", "problem"]
            print(table(f"{name} sensitive, live, {options.replicas} replicas", heads, live_rows(subject, options)))
        else:
            title = (
                f"{name} sensitive, simulated: mean ms until an event is done, {options.replicas} replicas, {options.utilisation:.0%} busy"
            )
            print(table(title, ["skew", *CHOICES, "osg in RUN"], simulated_rows(subject, options)))
    return 0


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
