"""Samples, records and a whole made-up run for the tests of this room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pasps.control import decision_log, run_log
from pasps.control.decision_log import Act, Outcome, Record
from pasps.control.model import rounded_up
from pasps.control.plan import BoltPlan, Clamp, Plan, Terms
from pasps.control.run_log import BoltSample, Sample
from pasps.control.situation import (
    BoltInterval,
    BoltShape,
    Estimates,
    ExecutionTime,
    Forecast,
    Interval,
    PolicySettings,
    Situation,
    SpoutInterval,
    TopologyShape,
)
from pasps.metrics import Histogram

EPOCH = 1_750_000_000.0
POOL = 8


def bolt_sample(active: int = 1, pool: int = POOL, **given: Any) -> BoltSample:
    return BoltSample(**{"active": active, "draining": 0, "pool": pool, "queued": 0, "executed": 0, "seconds": 0.0, **given})


def sample(uptime: float, bolts: Mapping[str, BoltSample] | None = None, **given: Any) -> Sample:
    counts = dict.fromkeys(("due", "emitted", "replayed", "acked", "failed", "pending", "backlog"), 0)
    fields = {"time": EPOCH + uptime, "complete": True, "version": 1, **counts, **given}
    return Sample(uptime=uptime, bolts=bolts if bolts is not None else {"count": bolt_sample()}, **fields)


def terms(events: float, seconds: float = 10.0, **given: Any) -> Terms:
    """Those of PA-SPS, for `events` of predicted input."""
    fields = {"share": 1.0, "from_queues": 0.0, "execution_seconds": 0.1, **given}
    waiting, each = fields["from_queues"], fields["execution_seconds"]
    total = events * fields["share"] + waiting
    return Terms(
        from_input=events * fields.pop("share_of_input", fields["share"]),
        total=total,
        replicas=None if each is None else total * each / seconds,
        seconds=seconds,
        **fields,
    )


def bolt_plan(active: int, needs: Terms | None, pool: int = POOL, **given: Any) -> BoltPlan:
    asked = rounded_up(needs.replicas) if needs is not None and needs.replicas is not None else active
    fields = {"asked": asked, "allowed": min(asked, pool), "replicas": min(asked, pool), **given}
    return BoltPlan(active=active, terms=needs, **fields)


def situation(ended: float, shape: TopologyShape, seconds: float = 10.0, **given: Any) -> Situation:
    """What a policy saw at `ended`; every bolt's share is 1 unless `shares` says otherwise."""
    shares = given.pop("shares", {bolt.id: 1.0 for bolt in shape.bolts})
    interval = Interval(
        number=1,
        began=ended - seconds,
        ended=ended,
        spouts={spout: SpoutInterval(100.0, 100) for spout in shape.spouts},
        bolts={bolt.id: BoltInterval({}, 100, 0, 1) for bolt in shape.bolts},
    )
    execution = {bolt.id: ExecutionTime(0.1, "live") for bolt in shape.bolts}
    fields = {"moment": "cycle", "forecast": None, "settings": PolicySettings(interval_seconds=seconds), **given}
    return Situation(shape=shape, interval=interval, estimates=Estimates(share=shares, execution=execution), **fields)


def record(number: int, uptime: float, plan: Plan, **given: Any) -> Record:
    fields = {"time": EPOCH + uptime, "moment": "cycle", "policy": "pa-sps", "situation": None, "version": number, **given}
    return Record(number=number, uptime=uptime, plan=plan, **fields)


def line_of(*names: str, pool: int = POOL) -> TopologyShape:
    """A spout and bolts behind each other."""
    sources = ("words", *names)
    return TopologyShape(("words",), tuple(BoltShape(name, pool, (source,)) for name, source in zip(names, sources, strict=False)))


def forecast(made_at: float, rate: float, seconds: int = 10, model: str = "ann") -> Forecast:
    return Forecast(made_at, (rate,) * seconds, model)


TIMES = {"parse": 0.004, "split": 0.006, "count": 0.003, "store": 0.008}
"""Seconds of an event in each bolt of the made-up run."""


@dataclass
class Fluid:
    """The made-up run's state: rates flow through replicas, queues are what does not fit."""

    active: dict[str, int]
    queues: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TIMES, 0.0))
    executed: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TIMES, 0.0))
    latency: Histogram = field(default_factory=Histogram)
    due: float = 0.0
    acked: float = 0.0

    def second(self, came: float) -> None:
        self.due += came
        flow, wait = came, 0.0
        for name, each in TIMES.items():
            self.queues[name] += flow
            flow = min(self.queues[name], self.active[name] / each)
            self.queues[name] -= flow
            self.executed[name] += flow
            wait += each * 1.3 + self.queues[name] / (self.active[name] / each)
        self.acked += flow
        for share, factor in ((0.5, 0.8), (0.4, 1.2), (0.08, 2.0), (0.02, 4.0)):
            self.latency.add(wait * factor, max(1, round(flow * share)))

    def sample(self, uptime: int, draining: Mapping[str, int], predicted: float | None) -> Sample:
        bolts = {}
        backlog = max(0, round(sum(self.queues.values()) - 1500))
        for name, each in TIMES.items():
            executed = self.executed[name]
            counts = {"draining": draining.get(name, 0), "queued": round(self.queues[name]), "executed": round(executed)}
            bolts[name] = bolt_sample(self.active[name], seconds=executed * each, **counts)
        return sample(
            uptime,
            bolts,
            due=round(self.due),
            emitted=round(self.due) - backlog,
            acked=round(self.acked),
            pending=round(self.due) - backlog - round(self.acked),
            backlog=backlog,
            latency=dict(self.latency.buckets),
            latency_total=self.latency.total,
            predicted=predicted,
        )


def made_up(seconds: int = 600, interval: int = 15, *, elastic: bool = True) -> tuple[list[Sample], list[Record]]:
    """A bursty run of four bolts with pools of 8; static: with four replicas each, and nobody to decide."""
    samples: list[Sample] = []
    records: list[Record] = []
    fluid = Fluid(dict.fromkeys(TIMES, 2 if elastic else 4))
    shape, expected = line_of(*TIMES), None
    for second in range(1, seconds + 1):
        draining: dict[str, int] = {}
        before = expected
        if elastic and second % interval == 0:
            expected = sum(_rate(second + 0.7 * ahead - 4) for ahead in range(interval)) / interval * (1 + 0.12 * math.sin(second))
            plan, acts = _plan(expected * interval, interval, fluid.active, fluid.queues)
            draining = {name: act.before - act.after for name, act in acts.items() if act.before > act.after}
            fluid.active |= {name: act.after for name, act in acts.items()}
            seen = situation(second, shape, interval, forecast=forecast(second, expected, interval))
            records.append(record(len(records) + 1, second, plan, situation=seen, acts=acts, notes=_notes(second)))
        fluid.second(_rate(second))
        samples.append(fluid.sample(second, draining, before))
    return samples, records


def _rate(second: float) -> float:
    """Events a second: a swell, two bursts, and some noise that is the same each time."""
    burst = 560 * math.exp(-(((second - 210) / 35) ** 2)) + 700 * math.exp(-(((second - 430) / 18) ** 2))
    return max(0.0, 300 + 130 * math.sin(second / 47) + burst + 22 * math.sin(second * 12.9898) * math.cos(second * 4.1))


def _plan(events: float, interval: int, active: Mapping[str, int], queues: Mapping[str, float]) -> tuple[Plan, dict[str, Act]]:
    bolts = {}
    for name, each in TIMES.items():
        needs = terms(events, interval, execution_seconds=each, from_queues=queues[name])
        clamps = (Clamp.AT_POOL,) if rounded_up(needs.replicas or 0) > POOL else ()
        bolts[name] = bolt_plan(active[name], needs, clamps=clamps)
    plan = Plan(bolts, events)
    return plan, {name: Act(active[name], plan.replicas[name], plan.replicas[name], Outcome.DONE) for name in plan.changes}


def _notes(second: int) -> tuple[str, ...]:
    return ("forecast: last good, the predictor did not answer in time",) if 300 <= second < 345 else ()


def write_run(directory: Path, samples: list[Sample], records: list[Record], **run: Any) -> Path:
    """A run directory as `pasps run` leaves it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "metrics.jsonl").write_bytes(b"".join(line + b"\n" for line in map(run_log.written, samples)))
    (directory / "decisions.jsonl").write_bytes(b"".join(line + b"\n" for line in map(decision_log.written, records)))
    about = {"name": "wordcount", "file": "/home/you/wordcount.py", "workers": 2, "started": EPOCH, "policy": "pa-sps", "config": {}, **run}
    (directory / "run.json").write_bytes(msgspec.json.encode(about))
    (directory / "summary.json").write_bytes(msgspec.json.encode({"ended": "finished", "exit_code": 0}))
    return directory


def lines(samples: list[Sample]) -> Iterator[bytes]:
    """As they stand in a file."""
    return (run_log.written(one) + b"\n" for one in samples)
