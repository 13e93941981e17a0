"""Statistics: sums over incarnations, tuples on the way, and what counts as a complete snapshot."""

from __future__ import annotations

from pasps import Bolt, Spout, Topology, Tuple
from pasps.activation import first_table
from pasps.assignment import Need, place
from pasps.control.statistics import left_over, next_to_finish, on_the_way, stats_of
from pasps.metrics import ComponentStats, LinkCounts, ReplicaCounts, Stats, WorkerCounts


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


def numbers(pending: int) -> ReplicaCounts:
    return ReplicaCounts("numbers", 0, "w0", pending=pending)


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
    living = {"w0": counts("w0", replicas=[keep(0, "w0", 5, queued=3, busy=1), numbers(6)]), "w1": counts("w1")}
    assert left_over(stats_of(BLUEPRINT, TABLE, living, [], 1.0)) == {"keep": 4, "tracked tuples in flight": 6}


def test_what_bolts_keep_is_named_while_it_is_waited_for_and_is_no_reason_to_wait() -> None:
    """Nobody can tell a tuple that is kept for later from one that was forgotten, but for the spout whose tuple it is."""
    replicas = [keep(0, "w0", 5, kept=4)]
    waited = {"w0": counts("w0", replicas=[*replicas, numbers(3)]), "w1": counts("w1")}
    assert left_over(stats_of(BLUEPRINT, TABLE, waited, [], 1.0)) == {"tracked tuples in flight": 3, "kept by keep for a later ack": 4}
    settled = {"w0": counts("w0", replicas=replicas), "w1": counts("w1")}
    stats = stats_of(BLUEPRINT, TABLE, settled, [], 1.0)
    assert (left_over(stats), stats.components["keep"].queued, stats.components["keep"].kept) == ({}, 0, 4)


def test_what_a_replica_did_before_it_lived_elsewhere_stays_counted() -> None:
    living = {
        "w0": counts("w0", replicas=[keep(0, "w0", 5), keep(1, "w0", 3, state="GONE")]),
        "w1": counts("w1", replicas=[keep(1, "w1", 2, state="INACTIVE", kept=1)]),
    }
    found = stats_of(BLUEPRINT, TABLE, living, [], 1.0).components["keep"]
    assert (found.executed, found.replicas[1].executed) == (10, 5)
    assert (found.replicas[1].worker, found.replicas[1].state, found.replicas[1].kept) == ("w1", "INACTIVE", 1)


# ---- whose `finish` is due


class Three(Topology):
    numbers = Numbers.spec()
    first = Keep.spec(inputs=[numbers])
    second = Keep.spec(inputs=[numbers])


THREE = Three.blueprint()
THREE_TABLE = first_table(place({name: Need(1, 1, False, False) for name in THREE.components}, ["w0"]), {"w0": 1})


def three(pending: int = 0, first: dict[str, int] | None = None, second: dict[str, int] | None = None) -> Stats:
    replicas = [ReplicaCounts("first", 0, "w0", **(first or {})), ReplicaCounts("second", 0, "w0", **(second or {}))]  # type: ignore[arg-type]
    living = {"w0": counts("w0", replicas=[*replicas, numbers(pending)])}
    return stats_of(THREE, THREE_TABLE, living, [], 1.0)


def test_bolts_finish_in_topological_order_once_nothing_queues() -> None:
    assert next_to_finish(three()) is None
    assert next_to_finish(three(first={"unfinished": 1}, second={"unfinished": 2})) == "first"
    assert next_to_finish(three(second={"unfinished": 2})) == "second"
    assert next_to_finish(three(first={"unfinished": 1}, second={"queued": 1})) is None
    assert next_to_finish(three(first={"unfinished": 1}, second={"busy": 1})) is None


def test_a_finish_that_goes_on_is_left_over_and_the_next_waits_for_it() -> None:
    stats = three(first={"finishing": 2}, second={"unfinished": 1})
    assert next_to_finish(stats) is None
    assert left_over(stats) == {"first.finish()": 2}


def test_what_is_in_flight_is_waited_for_unless_bolts_keep_it_that_have_to_finish() -> None:
    assert next_to_finish(three(5, first={"unfinished": 1})) is None
    assert next_to_finish(three(5, first={"unfinished": 1, "kept": 1})) == "first"
    assert next_to_finish(three(5, first={"unfinished": 1}, second={"unfinished": 1, "kept": 1})) == "first"
    # the other may still ack it, or emit something that comes of it
    assert next_to_finish(three(5, first={"unfinished": 1, "kept": 1}, second={"kept": 1})) is None
    assert next_to_finish(three(5, first={"kept": 1}, second={"unfinished": 1}), patient=False) == "second"


# ---- what became due


class Logs(Topology):
    logs = Numbers.spec(par=2)
    keep = Keep.spec(inputs=[logs])


LOGS = Logs.blueprint()
LOG_NEEDS = {name: Need(plan.pool, plan.par, plan.keyed, plan.pinned) for name, plan in LOGS.components.items()}
LOG_TABLE = first_table(place(LOG_NEEDS, ["w0", "w1"]), {"w0": 1, "w1": 1})


def task(index: int, worker: str, emitted: int, **changes: object) -> ReplicaCounts:
    made = ReplicaCounts("logs", index, worker, emitted={"default": emitted})
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def logs(living: list[ReplicaCounts], dead: list[ReplicaCounts]) -> ComponentStats:
    found = {one.worker: counts(one.worker, replicas=[one]) for one in living}
    return stats_of(LOGS, LOG_TABLE, found, [counts(one.worker, 0, replicas=[one]) for one in dead], 1.0).components["logs"]


def due(living: list[ReplicaCounts], dead: list[ReplicaCounts]) -> int:
    return logs(living, dead).due


def test_due_is_what_was_emitted_first_and_the_backlog() -> None:
    spout = logs([task(0, "w0", 30, replayed=4, backlog=7), task(1, "w1", 50, backlog=0, queued=2)], [])
    assert (spout.emitted_first, spout.replayed, spout.due, spout.backlog, spout.knows_backlog) == (76, 4, 76 + 7 + 2, 7, True)
    whole = stats_of(LOGS, LOG_TABLE, {"w0": counts("w0", replicas=[task(0, "w0", 30, backlog=7)])}, [], 1.0)
    assert whole.due == 37


def test_what_was_in_flight_with_a_dead_worker_counts_as_emitted_first_when_it_comes_again() -> None:
    last = counts("w0", 0, replicas=[task(0, "w0", 500, replayed=10, acked=400, pending=90)])
    last.died()
    found = {"w1": counts("w1", replicas=[task(0, "w1", 0, backlog=300)])}
    again = {"w1": counts("w1", replicas=[task(0, "w1", 90, backlog=210)])}
    for living in (found, again):
        stats = stats_of(LOGS, LOG_TABLE, living, [last], 1.0)
        assert (stats.due, stats.replayed) == (400 + 300, 100)
    assert stats_of(LOGS, LOG_TABLE, again, [last], 1.0).emitted_first == 400 + 90


def test_how_often_a_spout_s_tasks_went_on_elsewhere_is_told() -> None:
    both = [task(0, "w0", 5), task(1, "w1", 5)]
    gone = [task(0, "w0", 9), task(1, "w1", 3), task(0, "w0", 2)]
    assert [logs(both, gone[:count]).restarts for count in range(4)] == [0, 1, 2, 3]
    assert logs(both[:1], both[1:]).restarts == 0, "nobody has taken over yet"


def test_the_backlog_is_known_when_every_task_lives_and_tells_it() -> None:
    both = [task(0, "w0", 5, backlog=1), task(1, "w1", 5, backlog=1)]
    assert logs(both, []).knows_backlog
    assert not logs(both[:1], [both[1]]).knows_backlog
    assert not logs([both[0], task(1, "w1", 5)], []).knows_backlog
    assert logs([], both).due == 10
    assert not stats_of(LOGS, LOG_TABLE, {}, [], 1.0).components["keep"].knows_backlog


def test_steps_that_were_held_back_are_summed_over_incarnations() -> None:
    assert logs([task(0, "w0", 1, held_back=2), task(1, "w1", 1, held_back=3)], [task(0, "w0", 1, held_back=4)]).held_back == 9


def test_the_histogram_of_all_workers_comes_with_the_statistics() -> None:
    living = {"w0": counts("w0", latency={5: 2}, latency_total=1.0), "w1": counts("w1", latency={5: 1, 9: 1}, latency_total=0.5)}
    stats = stats_of(BLUEPRINT, TABLE, living, [counts("w1", 0, latency={9: 3}, latency_total=0.25)], 1.0)
    assert (stats.latency.buckets, stats.latency.total, stats.latency.count) == ({5: 3, 9: 4}, 1.75, 7)
    assert stats.complete_latency.count == 7
