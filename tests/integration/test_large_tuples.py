"""Large tuples between real workers: too large ones fail alone, many of them do not fill the memory."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pasps import Bolt, EndOfInput, Grouping, LocalCluster, Spout, Topology, TopologyContext, Tuple
from tests.integration.running import children, finish, no_children, until

FRAME = 1 << 20


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.rest = list(range(conf["test.total"]))
        self.again: set[int] = set()

    def next_tuple(self) -> float | None:
        if not self.rest:
            raise EndOfInput
        number = self.rest.pop()
        self.emit([number], tup_id=number)
        return None


class Grow(Bolt):
    """Every tenth is larger than a frame, the first time it comes."""

    outputs = ["number", "text"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.size = conf["test.size"]

    def process(self, tup: Tuple) -> None:
        number = tup.values[0]
        self.emit([number, "x" * (2 * FRAME if number % 10 == 3 else self.size)])


class Keep(Bolt):
    outputs = ["number", "text"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class End(Bolt):
    def process(self, tup: Tuple) -> None:
        pass


class Grows(Topology):
    config = {"pasps.wire.max.frame.bytes": FRAME}
    numbers = Numbers.spec()
    grow = Grow.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)
    keep = Keep.spec(inputs={grow: Grouping.fields("number")}, par=2)
    end = End.spec(inputs={keep: Grouping.SHUFFLE}, par=2)


def test_tuples_larger_than_a_frame_fail_alone_and_the_topology_drains() -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Grows, config={"test.total": 200, "test.size": 10, "topology.message.timeout.secs": 300})
        finish(running)
        stats = running.stats()
        assert stats.failed > 0
        assert stats.acked + stats.failed == 200
        assert {name: component.queued for name, component in stats.components.items() if component.queued} == {}
        told = [error.text for error in running.errors if "a frame holds" in error.text]
        assert f"component 'grow', stream 'default': a tuple of {2 * FRAME}"[:-3] in told[0] or "component 'keep'" in told[0]
        assert f"a frame holds {FRAME} (pasps.wire.max.frame.bytes)" in told[0]
        running.drain(timeout=10)
    no_children()


class Gate(Bolt):
    """Lets nothing through until the test says so."""

    execution = "thread"

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.path = Path(conf["test.dir"]) / "open"
        self.wait = threading.Event()

    def process(self, tup: Tuple) -> None:
        while not self.path.exists():
            self.wait.wait(0.02)


class Held(Topology):
    config = {"pasps.receive.buffer.bytes": 8 << 20}
    numbers = Numbers.spec(par=2)
    grow = Grow.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)
    gate = Gate.spec(inputs={grow: Grouping.SHUFFLE}, par=2)


def test_large_tuples_before_a_bolt_that_does_not_get_on_do_not_fill_the_memory(tmp_path: Path) -> None:
    """400 of 1 MB each would fit into the inboxes by their number."""
    config = {"test.total": 200, "test.size": 1 << 20, "test.dir": str(tmp_path), "topology.message.timeout.secs": 300}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Held, config=config)

        def stuck() -> bool:
            before = running.stats().components["grow"].executed
            return before > 5 and running.stats().components["gate"].queued > 3

        until(stuck, "tuples in front of the gate")
        until(lambda: held_still(running), "everything to stand still")
        assert max(worker.memory_info().rss for worker in children()) < 150 << 20
        (tmp_path / "open").touch()
        finish(running)
        stats = running.stats()
        assert (stats.acked, stats.failed) == (400, 0)
    no_children()


def held_still(running: Any) -> bool:
    """Whether no bolt got on in a second of the workers' own clocks."""
    first = running.stats()
    until(lambda: running.stats().uptime_seconds > first.uptime_seconds + 1, "a second")
    return bool(running.stats().components["grow"].executed == first.components["grow"].executed)
