"""A blocking call in an inline bolt is told, counted and shown; what only waits its turn is not taken for one."""

from __future__ import annotations

import logging
import time

import pytest

from pasps import Bolt, EndOfInput, LocalCluster, Spout, Topology, Tuple
from pasps.cli.frame import Frames
from pasps.cli.summary import blocking_lines
from pasps.topology.status import shapes
from tests.integration.running import until

_CALL = 0.02


class Many(Spout):
    outputs = ("n",)

    def initialize(self, conf: object, ctx: object) -> None:
        self.n = 0

    def next_tuple(self) -> None:
        self.n += 1
        if self.n > 1_000_000:
            raise EndOfInput
        self.emit([self.n])


class Sleeps(Bolt):
    def process(self, tup: Tuple) -> None:
        time.sleep(_CALL)


class SleepsOnAThread(Sleeps):
    execution = "thread"


class Computes(Bolt):
    def process(self, tup: Tuple) -> None:
        end = time.thread_time() + _CALL / 10
        while time.thread_time() < end:
            pass


class Waiting(Topology):
    many = Many.spec()
    sleeps = Sleeps.spec(inputs=[many])
    on_thread = SleepsOnAThread.spec(inputs=[many])
    computes = Computes.spec(inputs=[many], par=2, pool=2)


def test_a_blocking_call_is_told_once_with_its_cure_and_counted_by_wall_time(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), LocalCluster(workers=2) as cluster:
        running = cluster.submit(Waiting, config={"topology.executor.receive.buffer.size": 64})
        until(lambda: running.stats().components["sleeps"].blocks, "the bolt that sleeps to be found out", 60)
        stats = running.stats()
        assert {name for name, component in stats.components.items() if component.blocks} == {"sleeps"}
        # each call sleeps that long and uses next to nothing; what was counted before it was found out is in it
        assert stats.components["sleeps"].execute_seconds > _CALL / 2
        lines = blocking_lines(Frames(shapes(Waiting.blueprint()), 2).next(stats, 2, ()))
        assert len(lines) == 1
        assert "sleeps" in lines[0]
        running.kill(0)
    told = [record.getMessage() for record in caplog.records if "wait instead of computing" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("component 'sleeps': ")
    assert 'execution = "thread"' in told[0]
