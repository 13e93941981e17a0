"""Statistics: sums over incarnations, tuples on the way, and what counts as a complete snapshot."""

from __future__ import annotations

from pasps import Bolt, Spout, Topology, Tuple
from pasps.activation import first_table
from pasps.assignment import Need, place
from pasps.control.statistics import left_over, on_the_way, stats_of
from pasps.metrics import LinkCounts, ReplicaCounts, SpoutProgress, WorkerCounts


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self) -> float | None:
        return None


class Keep(Bolt):
    def process(self, tup: Tuple) -> None:
        pass


class Two(Topology):
    numbers = Numbers.spec()
    keep = Keep.spec(inputs=[numbers], par=2)


BLUEPRINT = Two.blueprint()
NEEDS = {name: Need(plan.pool, plan.par, plan.keyed, plan.pinned) for name, plan in BLUEPRINT.components.items()}
TABLE = first_table(place(NEEDS, ["w0", "w1"]), {"w0": 1, "w1": 1})


def counts(worker: str, incarnation: int = 1, **changes: object) -> WorkerCounts:
    made = WorkerCounts(worker, incarnation, 1, [], [], {}, [], {}, 0.0)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def keep(replica: int, worker: str, executed: int, **changes: object) -> ReplicaCounts:
    made = ReplicaCounts("keep", replica, worker, executed={0: executed}, received={0: executed}, seconds=executed * 0.5)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_counters_are_summed_over_replicas_and_incarnations() -> None:
    spout = ReplicaCounts("numbers", 0, "w0", emitted={"default": 12}, acked=7, failed=2, replayed=2)
    living = {"w0": counts("w0", replicas=[spout, keep(0, "w0", 5)]), "w1": counts("w1", 2, replicas=[keep(1, "w1", 3)])}
    dead = [counts("w1", 1, replicas=[keep(1, "w1", 4, queued=99)])]
    stats = stats_of(BLUEPRINT, TABLE, living, dead, 1.0)
    bolt = stats.components["keep"]
    assert (bolt.executed, bolt.queued, bolt.execute_seconds) == (12, 0, 0.5)
    assert {index: replica.executed for index, replica in bolt.replicas.items()} == {0: 5, 1: 7}
    assert [(edge.source, edge.executed) for edge in bolt.edges] == [("numbers", 12)]
    assert (stats.emitted_first, stats.replayed, stats.acked, stats.failed) == (10, 2, 7, 2)


def test_a_snapshot_without_a_live_worker_s_present_incarnation_is_not_complete() -> None:
    both = {"w0": counts("w0"), "w1": counts("w1")}
    assert stats_of(BLUEPRINT, TABLE, both, [], 1.0).complete
    assert not stats_of(BLUEPRINT, TABLE, {"w0": counts("w0")}, [], 1.0).complete
    assert not stats_of(BLUEPRINT, TABLE, {**both, "w1": counts("w1", 2)}, [], 1.0).complete


def test_what_was_sent_and_has_not_arrived_is_on_the_way() -> None:
    living = {
        "w0": counts("w0", parked={0: 2}, links=[LinkCounts("w1", 1, {0: 10}, {}, {0: 3})]),
        "w1": counts("w1", links=[LinkCounts("w0", 1, {}, {0: 6}, {})]),
    }
    assert on_the_way(living) == {0: 2 + 3 + 4}
    assert stats_of(BLUEPRINT, TABLE, living, [], 1.0).components["keep"].queued == 9


def test_what_was_sent_to_another_incarnation_is_not() -> None:
    living = {
        "w0": counts("w0", links=[LinkCounts("w1", 1, {0: 10}, {}, {})]),
        "w1": counts("w1", 2, links=[LinkCounts("w0", 1, {}, {0: 6}, {})]),
    }
    assert on_the_way(living) == {}


def test_what_is_left_is_named() -> None:
    living = {"w0": counts("w0", replicas=[keep(0, "w0", 5, queued=3, busy=1)], spouts=[SpoutProgress(1, 6)]), "w1": counts("w1")}
    assert left_over(stats_of(BLUEPRINT, TABLE, living, [], 1.0)) == {"keep": 4, "tracked tuples in flight": 6}
