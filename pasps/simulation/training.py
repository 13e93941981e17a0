"""Learns the table of policy `rlearning`: Q-learning over passes of a trace in the simulator, each bolt for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from pasps.control.plan import BoltPlan, Plan
from pasps.control.policies import policy_named
from pasps.control.policies.observed import busy_share
from pasps.control.policies.q_table import BUCKETS, STEPS, BoltTable, QTable, bucket_of, rates_of
from pasps.control.policies.reasoned import granted, kept
from pasps.control.situation import BoltShape, Situation
from pasps.errors import InvalidError
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph
from pasps.simulation.model import Detail
from pasps.simulation.run import Order, simulate

PASSES = 50
_LEARNING = 0.3
"""How much of what is new counts."""
_DISCOUNT = 0.8
"""How much counts what the next step is worth."""
_FIRST_EXPLORED, _LAST_EXPLORED = 1.0, 0.05
"""The share of steps that are taken at random, in the first pass and in the last."""
_NO_REST = 0.95
"""A bolt that waits and is busy for less of its time than that can do more than comes to it."""
_DETAIL = Detail(20.0, exact=False)
"""Rates of seconds are all that is learned of, so events may go by the parcel."""
_BEHIND, _CHANGED = 4.0, 0.1
"""What it costs to do nothing of what comes in, and to change, when all replicas of the pool cost 1."""


@dataclass(slots=True)
class BoltLearner:
    """Q of one bolt: what doing something is worth at a rate (its bucket) with so many replicas; what was never tried is not in it."""

    pool: int
    peak: float
    worth: dict[tuple[int, int, str], float] = field(default_factory=dict)
    last: tuple[int, int, str] | None = None
    """Where it was when it decided last, and what it did."""

    def possible(self, replicas: int) -> list[str]:
        """What the pool allows."""
        return [action for action, step in STEPS.items() if 1 <= replicas + step <= self.pool]

    def reward(self, replicas: int, share_done: float) -> float:
        """Of the interval since it decided, with so many replicas, in which that share was done of what came in."""
        changed = self.last is not None and STEPS[self.last[2]] != 0
        return -replicas / self.pool - _BEHIND * max(0.0, 1.0 - share_done) - _CHANGED * changed

    def learn(self, reward: float, bucket: int, replicas: int) -> None:
        """What it did last brought that reward, and has led here."""
        if self.last is None:
            return
        # what was never tried counts as nothing lost, so it will be
        ahead = max(self.worth.get((bucket, replicas, action), 0.0) for action in self.possible(replicas))
        now = reward + _DISCOUNT * ahead
        before = self.worth.get(self.last, now)
        self.worth[self.last] = before + _LEARNING * (now - before)

    def choose(self, bucket: int, replicas: int, explored: float, random: Random) -> str:
        """What to do: with that chance anything, else the best."""
        possible = self.possible(replicas)
        if random.random() < explored:
            return random.choice(possible)
        return max(possible, key=lambda action: self.worth.get((bucket, replicas, action), 0.0))

    def table(self) -> BoltTable:
        """What is best everywhere; where no pass was, what leads to where one was."""
        rows = {bucket: row for bucket in range(BUCKETS) if (row := self._row(bucket))}
        actions = tuple(rows[_nearest(rows, bucket)] if rows else "=" * self.pool for bucket in range(BUCKETS))
        return BoltTable(self.pool, self.peak, actions)

    def _row(self, bucket: int) -> str:
        """At a rate, a letter for each number of replicas; nothing when no pass had that rate."""
        best = {replicas: action for replicas in range(1, self.pool + 1) if (action := self._best(bucket, replicas))}
        letters = []
        for replicas in range(1, self.pool + 1) if best else ():
            towards = _nearest(best, replicas) - replicas
            letters.append(best[replicas] if towards == 0 else "+" if towards > 0 else "-")
        return "".join(letters)

    def _best(self, bucket: int, replicas: int) -> str:
        tried = [action for action in self.possible(replicas) if (bucket, replicas, action) in self.worth]
        return max(tried, key=lambda action: self.worth[bucket, replicas, action], default="")


def _nearest(known: Iterable[int], place: int) -> int:
    """Of those that are known the nearest; of two the lower."""
    return min(known, key=lambda other: (abs(other - place), other))


class Learner:
    """Decides in a simulation, and learns of each decision what it brought. Not pure: what it has learned stays between passes."""

    def __init__(self, graph: Graph, arrivals: Arrivals, seed: int) -> None:
        visits = graph.visits()
        self.bolts = {bolt.id: BoltLearner(bolt.pool, arrivals.peak_rate * visits[bolt.id]) for bolt in graph.shape.bolts}
        self.random = Random(seed)
        self._seconds = arrivals.seconds
        self.explored = _FIRST_EXPLORED

    def begin(self, explored: float) -> None:
        """Another pass, in which that share of the steps is taken at random."""
        self.explored = explored
        for learner in self.bolts.values():
            learner.last = None

    def plan(self, situation: Situation, options: Any) -> Plan:
        """One decision; see `Policy`."""
        rates = rates_of(situation)
        if rates is None or situation.interval.ended > self._seconds:
            # what is left over when the trace has ended teaches nothing
            return Plan({name: kept(bolt.active) for name, bolt in situation.interval.bolts.items()})
        return Plan({bolt.id: self._decided(situation, bolt, rates[bolt.id]) for bolt in situation.shape.bolts})

    def _decided(self, situation: Situation, bolt: BoltShape, rate: float) -> BoltPlan:
        interval, learner = situation.interval, self.bolts[bolt.id]
        did = interval.bolts[bolt.id]
        came = interval.due * situation.estimates.share[bolt.id]
        # under backpressure all bolts fall behind together, and only one that had no time to rest is to blame
        rested = bolt.waits and busy_share(bolt, did, interval) < _NO_REST
        bucket, active = bucket_of(rate, learner.peak), min(did.active, bolt.pool)
        learner.learn(learner.reward(active, 1.0 if rested or not came else did.processed / came), bucket, active)
        action = learner.choose(bucket, active, self.explored, self.random)
        learner.last = (bucket, active, action)
        return granted(bolt, did.active, active + STEPS[action])


def train(
    graph: Graph,
    arrivals: Arrivals,
    order: Order,
    passes: int = PASSES,
    progress: Callable[[int, float], None] = lambda number, share: None,
) -> QTable:
    """Go through the trace so many times, each time from other replicas, and learn. Blocks; the same for the same arguments.

    `order` says by its interval how often is decided, and by its seed what is random. `progress` is told which pass it is, from 0,
    and what share of it is over.

    Raises:
        InvalidError: no pass had two decisions, so that there is nothing to learn from.
    """
    learner = Learner(graph, arrivals, order.seed)
    policy = replace(policy_named("rlearning"), plan=learner.plan, check=None)
    for number in range(passes):
        part = number / (passes - 1) if passes > 1 else 1.0
        learner.begin(_FIRST_EXPLORED + part * (_LAST_EXPLORED - _FIRST_EXPLORED))
        simulate(
            _from_anywhere(graph, learner.random),
            arrivals,
            replace(order, policy=policy.name, options={}, seed=order.seed + number),
            progress=partial(progress, number),
            detail=_DETAIL,
            policy=policy,
        )
    if not any(each.worth for each in learner.bolts.values()):
        interval = order.settings.interval_seconds
        raise InvalidError(
            f"nothing was learned: a trace of {arrivals.seconds:g} s has no two decisions, one each {interval:g} s, from which one could "
            "tell what they bring; take a longer trace, or a smaller pasps.interval.secs"
        )
    tables = {name: each.table() for name, each in learner.bolts.items()}
    return QTable(graph.name, tables, passes, order.seed, order.settings.interval_seconds, arrivals.events, arrivals.seconds)


def _from_anywhere(graph: Graph, random: Random) -> Graph:
    """The same, with any number of replicas at the start: so all of them are met, which steps of one would hardly do."""
    return replace(graph, bolts=tuple(replace(bolt, par=random.randint(1, bolt.pool)) for bolt in graph.bolts))
