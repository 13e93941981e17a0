"""Events at a steady rate while a bolt goes from two to four replicas: by the pool, or by starting all workers anew."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.board import wait_for
from pasps import BatchBolt, Bolt, LocalCluster, RunningTopology, Topology, Tuple
from pasps.api import TopologyContext
from pasps.control.decision_log import Restarted
from pasps.spouts import TraceSpout

BEFORE, AFTER = 2, 4
LATE_SECONDS = 0.05
_WAIT_SECONDS = 0.001
_WARM_UP_SECONDS = 3.0
_SETTLE_SECONDS = 5.0
_DRAIN_SECONDS = 120.0
_DIRECTORY = "restarting.directory"


class Step(Bolt):
    """Waits, and passes on."""

    execution = "thread"
    outputs = ("id", "due")

    def process(self, tup: Tuple) -> None:
        time.sleep(_WAIT_SECONDS)
        self.emit(tup.values)


class Kept(BatchBolt):
    """Appends when each event was due and when it came, with one system call for a batch: what was written outlives the worker."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        name = Path(conf[_DIRECTORY]) / f"{ctx.task_index}-{os.getpid()}-{time.monotonic_ns()}.kept"
        self.file = os.open(name, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def process_batch(self, tuples: list[Tuple]) -> None:
        now = time.time()
        os.write(self.file, "".join(f"{tup.values[0]} {tup.values[1]:.6f} {now:.6f}\n" for tup in tuples).encode())


class Restarting(Topology):
    """Events that are due whether or not anybody works, a bolt that waits, and a sink."""

    events = TraceSpout.spec()
    step = Step.spec(inputs=[events], par=BEFORE, pool=AFTER)
    kept = Kept.spec(inputs=[step], par=1)


@dataclass(frozen=True, slots=True)
class Way:
    """How the change is made. `wait` None: by the pool."""

    name: str
    wait: float | None = None
    silence: float = 0.0
    tracked: bool = True


@dataclass(frozen=True, slots=True)
class Measured:
    """One change: until it was done, what it took by its own account, and what the sink saw of it. Seconds."""

    way: Way
    returned: float
    took: Restarted | None
    longest_silence: float
    worst_latency: float
    late: int
    lost: int
    twice: int


def measure(way: Way, rate: int, workers: int, directory: Path) -> Measured:
    """One run with one change in it; `directory` is empty."""
    config = {
        "trace.rows": [rate], "trace.repeat": True, "pasps.restart.silence.secs": way.silence, "pasps.restart.wait.secs": way.wait or 0.0,
        "topology.acker.executors": None if way.tracked else 0, _DIRECTORY: str(directory),
    }  # fmt: skip
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Restarting, config=config)
        time.sleep(_WARM_UP_SECONDS)
        began = time.time()
        took = changed(running, way)
        returned = time.time() - began
        time.sleep(_SETTLE_SECONDS)
        # what became due meanwhile is late, all of it
        wait_for(lambda: (running.stats().components["events"].backlog or 0) < rate * LATE_SECONDS, _DRAIN_SECONDS, look_every=0.1)
        running.drain(_DRAIN_SECONDS)
    return seen(way, began, returned, took, arrivals_in(directory))


def arrivals_in(directory: Path) -> Iterator[tuple[int, float, float]]:
    """What the sinks wrote: of each event its number, when it was due, and when it came."""
    for path in directory.glob("*.kept"):
        for line in path.read_text().splitlines():
            number, due, came = line.split()
            yield int(number), float(due), float(came)


def changed(running: RunningTopology, way: Way) -> Restarted | None:
    """Make the change.

    Raises:
        RuntimeError: it was not made.
    """
    if way.wait is None:
        running.set_active("step", AFTER)
        return None
    acts, _, took = running.on_controller(lambda controller: controller.restart({"step": AFTER}))
    if took is None:
        raise RuntimeError(f"the workers were not started anew: {acts}")
    return took


def seen(way: Way, began: float, returned: float, took: Restarted | None, arrivals: Iterable[tuple[int, float, float]]) -> Measured:
    """What the sink saw from the change on."""
    times: Counter[int] = Counter()
    first: dict[int, tuple[float, float]] = {}
    for number, due, at in arrivals:
        times[number] += 1
        first[number] = min(first.get(number, (at, due)), (at, due))
    came = sorted(at for at, _ in first.values())
    # from the last one before the change to those after it
    around = came[max(0, bisect_left(came, began) - 1) : bisect_left(came, began + returned + _SETTLE_SECONDS)]
    latencies = [at - due for at, due in first.values() if at >= began]
    return Measured(
        way,
        returned,
        took,
        max((later - earlier for earlier, later in pairwise(around)), default=0.0),
        max(latencies, default=0.0),
        sum(latency > LATE_SECONDS for latency in latencies),
        max(times, default=-1) + 1 - len(times),
        times.total() - len(times),
    )
