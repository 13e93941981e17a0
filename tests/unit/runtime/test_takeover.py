"""What is made anew while the topology runs, because a worker died."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

import pytest

from pasps import Bolt, EndOfInput, Grouping, GroupingSpec, Spout, Topology, TopologyContext, Tuple
from pasps.testing import PAUSE, StepOptions, StepRun
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


class Reluctant(Bolt):
    """Does not start while something is away, except at the start of the topology."""

    outputs = ["number"]
    away: ClassVar[bool] = False
    tries: ClassVar[int] = 0

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        Reluctant.tries += 1
        if ctx.restarted and Reluctant.away:
            raise ConnectionError("it is away")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class OnThread(Reluctant):
    execution = "thread"


def reluctant(kind: type[Bolt], grouping: GroupingSpec) -> type[Topology]:
    class Held(Topology):
        numbers = Numbers.spec()
        other = Noting.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)
        late = kind.spec(inputs={numbers: grouping}, par=2)

    return Held


KINDS = [(kind, grouping) for kind in (Reluctant, OnThread) for grouping in (Grouping.SHUFFLE, Grouping.fields("number"))]


@pytest.mark.parametrize(("kind", "grouping"), KINDS)
def test_a_bolt_that_cannot_be_started_anew_keeps_what_comes_until_it_can(kind: type[Bolt], grouping: GroupingSpec) -> None:
    Reluctant.away, Reluctant.tries = True, 0
    rows: list[Any] = [PAUSE(1), *([number] for number in range(100))]
    with StepRun(reluctant(kind, grouping), 2, inputs={"numbers": rows}) as run:
        run.run_until_idle()
        first = Reluctant.tries
        run.kill("w1")
        run.settle()
        run.advance(10.0)
        assert 8 <= Reluctant.tries - first <= 12, "not one try a second"
        done = len(run.verdicts.acked["numbers"])
        # a replica beside it takes what it would have taken, unless a key names it
        assert done == 100 if grouping is Grouping.SHUFFLE else done < 100
        Reluctant.away = False
        run.run_to_end()
        assert (len(run.verdicts.acked["numbers"]), run.verdicts.failed["numbers"]) == (100, [])
        assert sorted(run.emitted["late"]["default"]) == [(number,) for number in range(100)]
        assert run.journal.of("error")[0].text.endswith("ConnectionError: it is away")


@pytest.mark.parametrize(("kind", "grouping"), KINDS)
def test_replicas_may_change_while_a_bolt_cannot_be_started_anew(kind: type[Bolt], grouping: GroupingSpec) -> None:
    Reluctant.away = True
    rows: list[Any] = [row for part in range(5) for row in (PAUSE(3), *([number] for number in range(20 * part, 20 * part + 20)))]
    with StepRun(reluctant(kind, grouping), 2, inputs={"numbers": rows}, options=StepOptions(replays=100)) as run:
        run.run_until_idle()
        run.kill("w1")
        run.settle()
        run.advance(2.0)
        for count in (1, 2, 1):
            run.set_active("late", count, wait=False)
            run.advance(3.0)
        Reluctant.away = False
        run.run_to_end()
        assert len(set(run.verdicts.acked["numbers"])) == 100
        assert {number for (number,) in run.emitted["late"]["default"]} == set(range(100))


class Source(Spout):
    """Counts to twenty, from what it saved."""

    outputs = ["number"]
    tries: ClassVar[int] = 0

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        Source.tries += 1
        if ctx.restarted and Reluctant.away:
            raise ConnectionError("it is away")
        self.next = 0

    def next_tuple(self) -> float | None:
        if self.next == 20:
            raise EndOfInput
        self.emit([self.next], self.next)
        self.next += 1
        return 1.0


class Counting(Topology):
    source = Source.spec()
    noting = Noting.spec(inputs={source: Grouping.SHUFFLE}, par=2)


def test_a_spout_that_cannot_be_started_anew_is_tried_again() -> None:
    Reluctant.away, Source.tries = True, 0
    with StepRun(Counting, 2) as run:
        run.advance(2.5)
        home = run.controller.table.components["source"].places[0]
        run.kill(home)
        run.settle()
        run.advance(10.0)
        assert 10 <= Source.tries <= 13
        (survivor,) = run.workers.values()
        assert survivor.residents.spouts == {}
        Reluctant.away = False
        run.advance(30.0)
        run.run_to_end()
        (spout,) = survivor.residents.spouts.values()
        assert spout.finished
        assert run.journal.of("error")[0].text.endswith("ConnectionError: it is away")


def test_a_worker_that_comes_back_does_not_come_up_without_what_it_hosts() -> None:
    Reluctant.away = True
    with StepRun(reluctant(Reluctant, Grouping.SHUFFLE), 1, inputs={"numbers": [[1]]}) as run:
        run.run_until_idle()
        run.kill("w0")
        with pytest.raises(ConnectionError):
            run.restart("w0")


class Unsure(Bolt):
    """Starts anew three times out of ten, while `chance` is there."""

    outputs = ["number"]
    chance: ClassVar[Random | None] = None

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        if ctx.restarted and Unsure.chance is not None and Unsure.chance.random() < 0.7:
            raise ConnectionError("it is away")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class TwoUnsure(Topology):
    numbers = Numbers.spec(par=2)
    keyed = Unsure.spec(inputs={numbers: Grouping.fields("number")}, par=2, pool=4)
    plain = Unsure.spec(inputs={keyed: Grouping.SHUFFLE}, par=2, pool=3)


def disturb(run: StepRun, random: Random, dead: list[str]) -> None:
    what = random.random()
    if what < 0.35 and len(run.workers) > 1:
        dead.append(random.choice(sorted(run.workers)))
        run.kill(dead[-1])
    elif what < 0.6 and dead:
        chance, Unsure.chance = Unsure.chance, None  # else the worker would not come up
        worker = dead.pop(0)
        run.restart(worker)
        while run.workers[worker].keeper.table is None:
            run.step()
        Unsure.chance = chance
    elif what < 0.85:
        component, pool = random.choice([("keyed", 4), ("plain", 3)])
        run.set_active(component, random.randint(1, pool), wait=False)
    if random.random() < 0.3:
        run.step()
    else:
        run.advance(3.0 * random.random())


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_whatever_moves_while_bolts_start_late(seed: int) -> None:
    random, Unsure.chance = Random(seed), Random(seed)
    dead: list[str] = []
    rows: list[Any] = [row for part in range(6) for row in (*([number] for number in range(20 * part, 20 * part + 20)), PAUSE(2))]
    options = StepOptions(replays=10_000, seed=seed, delays=bool(seed % 2))
    with StepRun(TwoUnsure, 3, inputs={"numbers": rows}, options=options) as run:
        for _ in range(random.randint(3, 8)):
            disturb(run, random, dead)
        Unsure.chance = None
        run.run_to_end()
        assert set(run.verdicts.acked["numbers"]) == set(range(120))
        assert {number for (number,) in run.emitted["plain"]["default"]} == set(range(120))
