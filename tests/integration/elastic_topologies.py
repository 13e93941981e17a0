"""What the tests of elasticity run: a line of four bolts that wait, fed by a trace, and a record of what was decided about it."""

from __future__ import annotations

import time
from itertools import groupby
from pathlib import Path
from typing import Any

from pasps import Bolt, Topology, TopologyContext, Tuple
from pasps.control import decision_log, run_log
from pasps.control.decision_log import Record
from pasps.control.run_log import Sample
from pasps.control.settings import ElasticSettings
from pasps.spouts import TraceSpout
from pasps.topology.elastic import ElasticConfig
from tests.integration.running import config

WAIT_SECONDS = 0.01
SLOW_SECONDS = 0.05
POOL = 8
BOLTS = ("first", "second", "third", "sink")


class Step(Bolt):
    """Waits, then passes the event on."""

    outputs = ["id"]
    execution = "thread"
    seconds = WAIT_SECONDS

    def process(self, tup: Tuple) -> None:
        time.sleep(self.seconds)
        self.emit([tup.values[0]])


class Sink(Bolt):
    """Waits, then writes the event's id into a file of this instance."""

    execution = "thread"
    seconds = WAIT_SECONDS

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        name = f"{ctx.component_id}-{ctx.task_id}-{ctx.worker_id}-{time.time_ns()}.log"
        self.file = (Path(conf["test.dir"]) / name).open("a", buffering=1)

    def process(self, tup: Tuple) -> None:
        time.sleep(self.seconds)
        self.file.write(f"{tup.values[0]}\n")


class Line(Topology):
    events = TraceSpout.spec()
    first = Step.spec(inputs=[events], par=1, pool=POOL)
    second = Step.spec(inputs=[first], par=1, pool=POOL)
    third = Step.spec(inputs=[second], par=1, pool=POOL)
    sink = Sink.spec(inputs=[third], par=1, pool=POOL)


class SlowStep(Step):
    """Few events are much for it, so that many topologies of it go side by side on a small machine."""

    seconds = SLOW_SECONDS


class SlowSink(Sink):
    """As slow."""

    seconds = SLOW_SECONDS


class SlowLine(Topology):
    events = TraceSpout.spec()
    first = SlowStep.spec(inputs=[events], par=1, pool=POOL)
    sink = SlowSink.spec(inputs=[first], par=1, pool=POOL)


class Course:
    """Everything that a controlled run writes down, as it is written."""

    def __init__(self, directory: Path, rows: list[int], policy: str, **more: Any) -> None:
        self.records: list[Record] = []
        self.samples: list[Sample] = []
        self.conf = config(directory, **{"trace.rows": rows, "trace.step.seconds": 1, "pasps.interval.secs": 1, **more})
        self.total = sum(rows)
        self.control = ElasticConfig(
            ElasticSettings.from_config(self.conf),
            policy,
            samples=lambda line: self.samples.append(run_log.read(line)),
            decisions=lambda line: self.records.append(decision_log.read(line)),
            predictor_log=directory / "predictor.log",
        )

    def moves(self, bolt: str) -> int:
        """Activations and deactivations of a bolt's replicas."""
        return sum(abs(record.acts[bolt].after - record.acts[bolt].before) for record in self.records if bolt in record.acts)

    def turns(self, bolt: str) -> list[str]:
        """Whether a bolt was given "more" replicas or "fewer", by turns: what goes on in the same direction counts once."""
        acts = [record.acts[bolt] for record in self.records if bolt in record.acts]
        ways = ["more" if act.after > act.before else "fewer" for act in acts if act.after != act.before]
        return [way for way, _ in groupby(ways)]

    def sources(self) -> list[str]:
        """Where each decision's forecast came from."""
        forecasts = [record.situation.forecast for record in self.records if record.situation is not None]
        return [forecast.source for forecast in forecasts if forecast is not None]
