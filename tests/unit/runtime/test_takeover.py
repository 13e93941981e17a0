"""What is made anew while the topology runs, because a worker died."""

from __future__ import annotations

from typing import Any

from pasps import Bolt, Grouping, Topology, TopologyContext, Tuple
from pasps.testing import PAUSE, StepRun
from tests.unit.runtime.parts import Numbers

MADE: list[tuple[str, int, str, bool]] = []
"""Component, task index, worker, and whether it was told that it makes up for a loss."""


def note(ctx: TopologyContext) -> None:
    MADE.append((ctx.component_id, ctx.task_index, ctx.worker_id, ctx.restarted))


class Noting(Bolt):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        note(ctx)

    def process(self, tup: Tuple) -> None: ...


class Noted(Topology):
    numbers = Numbers.spec()
    keyed = Noting.spec(inputs={numbers: Grouping.fields("number")}, par=2)
    plain = Noting.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)


def test_an_instance_knows_whether_it_makes_up_for_a_loss() -> None:
    MADE.clear()
    with StepRun(Noted, 2, inputs={"numbers": [[1], PAUSE(60), [2]]}) as run:
        run.run_until_idle()
        assert {restarted for *_, restarted in MADE} == {False}
        first = len(MADE)
        assert first == 4
        run.kill("w1")
        run.settle()
        assert {(worker, restarted) for *_, worker, restarted in MADE[first:]} == {("w0", True)}
        second = len(MADE)
        assert {component for component, *_ in MADE[first:]} == {"keyed", "plain"}
        run.restart("w1")
        run.kill("w0")
        run.settle()
        assert {(worker, restarted) for *_, worker, restarted in MADE[second:]} == {("w1", True)}
