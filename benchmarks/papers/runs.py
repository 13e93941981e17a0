"""One system on one input, simulated at full length, and its course in samples of five seconds; kept as JSON, so that hours go on."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from benchmarks.papers.applications import APPLICATIONS, Application
from benchmarks.papers.curves import LAST, STEP, started
from benchmarks.papers.inputs import read_rows
from pasps.control.decision_log import Record
from pasps.control.forecaster import NONE
from pasps.control.model import rounded_up
from pasps.control.policies.q_table import written
from pasps.control.run_log import Sample
from pasps.control.settings import RestartSettings
from pasps.control.situation import PolicySettings
from pasps.metrics import Histogram
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph
from pasps.simulation.run import Order, simulate
from pasps.simulation.training import train

LATE_SECONDS = (1.0, 5.0, 10.0, 30.0)
_VERSION = 1
"""Of what is kept; another one is made again."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is simulated. `start`: the second of the first row.

    `benchmarked`: the controller knows the published et_i, and takes the larger of it and what it measures; else it measures alone.
    `slower`: all bolts take so many times as long, and et_i with them. `replicas` of each bolt at the start. `buffer`: as many tuples
    may wait before a replica, then its senders wait; None: any number. `restart`: changes are Storm's rebalance, with so many seconds
    of waiting and of silence, and what is on its way is lost; None: replicas of a pool. `grouping`: of the edges to a sensitive bolt,
    or of all where an application is simulated event by event.
    """

    trace: str
    policy: str
    predictor: str = NONE
    options: Mapping[str, Any] = field(default_factory=dict)
    start: int = 0
    interval_seconds: float = 30.0
    application: str = "linear"
    pool: int = 100
    replicas: int = 1
    benchmarked: bool = True
    seconds: int = LAST
    buffer: int | None = None
    slower: float = 1.0
    restart: tuple[float, float] | None = None
    grouping: str = ""

    @property
    def key(self) -> str:
        """The same for the same run, also when runs can be told more about."""
        usual = {each.name: each.default for each in fields(self)}
        said = {name: value for name, value in asdict(self).items() if value != usual[name]}
        text = json.dumps([_VERSION, said], sort_keys=True)
        return f"{self.trace}-{self.policy}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Course:
    """What came of it, in samples: `replicas` of all bolts right after each (the first at 0 s), and of each sample what became due,
    what was done, and the mean latency in seconds of what was done, None where nothing was.

    `forecasts` are pairs for the samples that were forecast, of what was said and what came; `needs` the same of replicas, one a
    decision: what was decided, and what the coming interval's input and the published et_i would have asked for.
    """

    replicas: tuple[int, ...]
    due: tuple[float, ...]
    done: tuple[float, ...]
    latency: tuple[float | None, ...]
    mean_latency: float
    p99_latency: float
    changes: int
    forecasts: tuple[tuple[float, float], ...] = ()
    needs: tuple[tuple[float, float], ...] = ()
    late: tuple[tuple[float, float], ...] = ()
    """For some times in seconds the share of the events that came and were not done within it."""

    def late_after(self, seconds: float) -> float:
        """The share of all events that was late by that measure, or never done."""
        return dict(self.late)[seconds]

    def saved(self, over: float) -> float:
        """1 - r / r_over, the mean of all samples from the first on."""
        return 1.0 - fmean(self.replicas) / over

    @property
    def degradation(self) -> float:
        """|in - out| / in, the mean of the samples in which something came."""
        return fmean(abs(came - went) / came for came, went in zip(self.due, self.done, strict=True) if came)

    @property
    def processed(self) -> float:
        """Of all events those that were done by the end."""
        return sum(self.done) / sum(self.due)

    @property
    def latency_ms(self) -> float:
        """The mean of the samples' means."""
        return 1000.0 * fmean(each for each in self.latency if each is not None)

    @property
    def input_error(self) -> float | None:
        """MAPE of the input, sample by sample; None: nobody forecast."""
        return _mape(self.forecasts)

    @property
    def replica_error(self) -> float | None:
        """MAPE of the replicas, interval by interval."""
        return _mape(self.needs)


def _mape(pairs: Sequence[tuple[float, float]]) -> float | None:
    found = [abs(said - was) / was for said, was in pairs if was]
    return fmean(found) if found else None


def simulated(run: Run, rows: Sequence[float]) -> Course:
    """Simulate it; takes half a second and longer, by its predictor."""
    application = application_of(run)
    seconds = started(rows, run.start)[: run.seconds + STEP]
    arrivals = Arrivals.of(seconds)
    samples, records = dict[int, Sample](), list[Record]()

    def keep(sample: Sample) -> None:
        samples[round(sample.uptime)] = sample

    order = Order(
        run.policy,
        run.predictor,
        PolicySettings(interval_seconds=run.interval_seconds),
        benchmark=application.et_seconds if run.benchmarked else {},
        options=run.options if run.restart is None else {**run.options, "reconfigure": "restart"},
        tail_seconds=STEP,
        restart=RestartSettings() if run.restart is None else RestartSettings(*run.restart),
    )
    graph = application.with_values(graph_for(run))
    found = simulate(graph, arrivals, order, keep, records.append, detail=application.detail(arrivals))
    course = course_of(samples, run)
    return replace(
        course,
        p99_latency=found.latency.p99,
        changes=found.changes,
        forecasts=tuple(_forecasts(records, seconds)),
        needs=tuple(_needs(records, seconds, run.interval_seconds, application.et_seconds)),
    )


def application_of(run: Run) -> Application:
    """With what its bolts take in that run."""
    found = APPLICATIONS[run.application]
    return replace(found, et_seconds={bolt: seconds * run.slower for bolt, seconds in found.et_seconds.items()})


def graph_for(run: Run, *, plain: bool = False) -> Graph:
    """Its application, as it is set up for it; events are all alike. `plain`: what computes waits instead, and queues are shared."""
    application = application_of(run)
    graph = (replace(application, computes=frozenset(), sensitive="", single=False) if plain else application).graph(
        run.trace, run.pool, run.replicas, run.grouping
    )
    graph = replace(graph, tracked=run.restart is None)
    return graph if run.buffer is None else replace(graph, buffer=run.buffer)


def course_of(samples: Mapping[int, Sample], run: Run) -> Course:
    """Of a run's samples, one a second, those of five seconds."""
    moments = range(STEP, run.seconds + 1, STEP)
    first = next(iter(samples.values()))
    begin = replace(first, uptime=0.0, due=0, latency={}, latency_total=0.0)
    pairs = [(_last(samples, second - STEP) if second > STEP else begin, _last(samples, second)) for second in moments]
    counts = [sum(bolt.active for bolt in _last(samples, second + 1).bolts.values()) for second in (0, *moments)]
    times, done = [], []
    for before, after in pairs:
        count = sum(after.latency.values()) - sum(before.latency.values())
        done.append(float(count))
        times.append((after.latency_total - before.latency_total) / count if count > 0 else None)
    end = _last(samples, run.seconds)
    latency = Histogram(end.latency, end.latency_total)
    in_time = {seconds: latency.count - latency.above(seconds) for seconds in LATE_SECONDS}
    return Course(
        tuple(counts),
        tuple(float(after.due - before.due) for before, after in pairs),
        tuple(done),
        tuple(times),
        latency.mean,
        math.nan,
        0,
        late=tuple((seconds, 1.0 - count / end.due) for seconds, count in in_time.items()) if end.due else (),
    )


def _last(samples: Mapping[int, Sample], second: int) -> Sample:
    """That of the second, or the nearest one: ticks may come a little late."""
    return samples[second] if second in samples else samples[min(samples, key=lambda each: abs(each - second))]


def _forecasts(records: Sequence[Record], seconds: Sequence[float]) -> list[tuple[float, float]]:
    """What was said of each coming sample, as far as the interval goes, and what came in it."""
    found = []
    for record in records:
        situation = record.situation
        if record.moment != "cycle" or situation is None or situation.forecast is None:
            continue
        now, forecast = situation.interval.ended, situation.forecast
        for step in range(int(situation.settings.interval_seconds / STEP)):
            begin = now + step * STEP
            came = seconds[round(begin) : round(begin) + STEP]
            if len(came) == STEP:
                found.append((forecast.total(begin, STEP), sum(came)))
    return found


def _needs(records: Sequence[Record], seconds: Sequence[float], td: float, et: Mapping[str, float]) -> list[tuple[float, float]]:
    found = []
    for record in records:
        situation = record.situation
        if record.moment != "cycle" or situation is None or not record.plan.bolts:
            continue
        begin = round(situation.interval.ended)
        came = sum(seconds[begin : begin + round(td)])
        share = situation.estimates.share
        needed = sum(rounded_up(came * share.get(bolt, 1.0) * each / td) for bolt, each in et.items())
        found.append((float(sum(bolt.allowed for bolt in record.plan.bolts.values())), float(needed)))
    return found


# ---- kept


class Laboratory:
    """Makes runs that were not made before, several at once, and tells how it goes on; the same run is made once."""

    def __init__(self, data: Path, cache: Path, processes: int = 2, seeds: int = 5) -> None:
        """`seeds`: how often what is random in a training is repeated."""
        self.data, self.cache, self.processes, self.seeds = data, cache, processes, seeds
        cache.mkdir(parents=True, exist_ok=True)

    def courses(self, runs: Sequence[Run], about: str = "") -> list[Course]:
        """One for each, in order. Blocks."""
        missing = {run.key: run for run in runs if not self._file(run).exists()}
        if missing:
            # many small arrays: threads wait for each other more than they work
            os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
            began = time.perf_counter()
            with get_context("spawn").Pool(min(self.processes, len(missing))) as pool:
                made = pool.imap_unordered(_made, [(self.data, self._file(run), run) for run in missing.values()])
                for number, name in enumerate(made, 1):
                    sys.stderr.write(f"{time.perf_counter() - began:6.0f} s  {about} {number} of {len(missing)}: {name}\n")
        return [self._read(run) for run in runs]

    def learned(self, run: Run) -> Run:
        """The same, with the table that `rlearning` learns on that very input beforehand; learned once. Blocks for a minute.

        It learns of rates, of the plain topology: bolts that compute with a core each do as much as others that wait, and each queue
        for itself is slow to simulate.
        """
        file = self.cache / f"{run.key}.table.json"
        if not file.exists():
            sys.stderr.write(f"        learning: {run.trace}, {run.application}\n")
            arrivals = Arrivals.of(started(read_rows(self.data, run.trace), run.start)[: run.seconds])
            order = Order(run.policy, settings=PolicySettings(interval_seconds=run.interval_seconds), tail_seconds=STEP)
            file.write_text(written(train(graph_for(run, plain=True), arrivals, order)))
        return replace(run, options={**run.options, "table": file.read_text()})

    def _file(self, run: Run) -> Path:
        return self.cache / f"{run.key}.json"

    def _read(self, run: Run) -> Course:
        return msgspec.convert(json.loads(self._file(run).read_text())["course"], Course)


def _made(work: tuple[Path, Path, Run]) -> str:
    data, file, run = work
    course = simulated(run, read_rows(data, run.trace))
    half = file.with_suffix(f".{os.getpid()}")
    half.write_text(json.dumps({"run": asdict(run), "course": asdict(course)}))
    half.rename(file)
    return f"{run.trace}, {run.policy} {run.predictor}, from {run.start} s"
