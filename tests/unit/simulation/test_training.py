"""What policy `rlearning` learns: by hand for one bolt, and over passes of a trace."""

from __future__ import annotations

from random import Random

import pytest

from pasps.control.policies import policy_named, q_table
from pasps.control.policies.q_table import BUCKETS
from pasps.control.situation import PolicySettings
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.model import Detail
from pasps.simulation.run import Order, Simulated, simulate
from pasps.simulation.training import BoltLearner, train
from tests.unit.simulation.graphs import bolt, graph

LINE = graph(bolt("a", "s", et=0.05, pool=4, par=1), workers=2)
WAVES = Arrivals(((10,) * 60 + (50,) * 60) * 2)
"""Half a replica's time, and two and a half replicas'."""
ORDER = Order("rlearning", settings=PolicySettings(interval_seconds=10.0))


# ---- one bolt, by hand


def test_a_reward_counts_replicas_what_is_not_done_and_changes() -> None:
    learner = BoltLearner(4, 100.0)
    assert learner.reward(2, 1.0) == -0.5
    assert learner.reward(2, 0.75) == pytest.approx(-0.5 - 4 * 0.25)
    assert learner.reward(2, 1.5) == -0.5, "what is done of what waited is nothing that counts"
    learner.last = (0, 1, "+")
    assert learner.reward(2, 1.0) == pytest.approx(-0.6)
    learner.last = (0, 2, "=")
    assert learner.reward(2, 1.0) == -0.5


def test_what_was_done_first_is_worth_what_it_brought_and_later_that_counts_by_three_tenths() -> None:
    learner = BoltLearner(4, 100.0)
    learner.last = (3, 2, "+")
    learner.learn(-1.0, 3, 3)
    assert learner.worth == {(3, 2, "+"): -1.0}, "what was never tried counts as nothing lost"
    learner.worth |= {(3, 3, "-"): -2.0, (3, 3, "="): -0.5, (3, 3, "+"): -3.0}
    learner.learn(-1.0, 3, 3)
    assert learner.worth[3, 2, "+"] == pytest.approx(-1.0 + 0.3 * ((-1.0 + 0.8 * -0.5) - -1.0))


def test_before_it_has_done_anything_it_learns_nothing() -> None:
    learner = BoltLearner(4, 100.0)
    learner.learn(-1.0, 0, 1)
    assert learner.worth == {}


def test_the_best_is_chosen_or_anything_and_never_what_the_pool_has_not() -> None:
    learner = BoltLearner(2, 100.0, {(0, 1, "="): -1.0, (0, 1, "+"): -0.5, (0, 2, "="): -1.0, (0, 2, "-"): -2.0})
    assert [learner.choose(0, replicas, 0.0, Random(1)) for replicas in (1, 2)] == ["+", "="]
    assert {learner.choose(0, 1, 1.0, Random(seed)) for seed in range(20)} == {"=", "+"}
    assert learner.choose(5, 2, 0.0, Random(1)) in ("-", "="), "where nothing is known anything will do"


def test_where_no_pass_was_it_goes_where_one_was() -> None:
    learner = BoltLearner(6, 100.0, {(2, 3, "="): -1.0, (2, 3, "+"): -2.0, (2, 4, "-"): -1.0, (9, 6, "="): -1.0})
    rows = learner.table().actions
    assert rows[2] == "++=---"
    assert rows[0] == rows[1] == rows[5] == rows[2]
    assert rows[6] == rows[11] == "+++++="


def test_who_learned_nothing_changes_nothing() -> None:
    assert BoltLearner(3, 100.0).table().actions == ("===",) * BUCKETS


# ---- over passes of a trace


@pytest.fixture(scope="module")
def learned() -> q_table.QTable:
    return train(LINE, WAVES, ORDER, 30)


def ran(table: q_table.QTable, seed: int = 1) -> Simulated:
    order = Order("rlearning", settings=ORDER.settings, options={"table": q_table.written(table)}, seed=seed)
    return simulate(LINE, WAVES, order, detail=Detail(20.0, exact=False))


def test_it_says_what_it_was_learned_by(learned: q_table.QTable) -> None:
    assert (learned.topology, learned.passes, learned.seed, learned.interval_seconds) == ("g", 30, 1, 10.0)
    assert (learned.events, learned.seconds) == (WAVES.events, 240.0)
    assert {name: (each.pool, each.peak) for name, each in learned.bolts.items()} == {"a": (4, 50.0)}
    assert q_table.read(q_table.written(learned)) == learned
    policy_named("rlearning").configured(PolicySettings(), {"table": q_table.written(learned)}, LINE.shape)


def test_what_was_learned_is_better_than_all_replicas_and_than_one(learned: q_table.QTable) -> None:
    found, everything, one = (
        ran(learned),
        *(simulate(LINE, WAVES, Order("static", settings=PolicySettings(static_replicas=n))) for n in (4, 1)),
    )
    assert found.done == found.events
    assert found.saved > everything.saved + 0.15
    assert found.latency.mean < one.latency.mean / 10


def test_the_same_order_learns_the_same_and_another_seed_something_else() -> None:
    first, again, other = (train(LINE, WAVES, order, 3) for order in (ORDER, ORDER, Order("rlearning", settings=ORDER.settings, seed=2)))
    assert first == again
    assert first.bolts != other.bolts


def test_progress_is_told_pass_by_pass() -> None:
    told: list[tuple[int, float]] = []
    train(LINE, Arrivals((10,) * 20), ORDER, 2, lambda number, share: told.append((number, share)))
    assert told == sorted(told)
    assert {number for number, _ in told} == {0, 1}
    assert told[-1] == (1, 1.0)
