"""The monitor: seconds between snapshots at odd times, intervals, gaps, and counters that fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from pasps import Bolt, Grouping, Spout, StatefulFunction, Topology, Tuple
from pasps.control.monitor import SAMPLES, Machine, Monitor, shape_of
from pasps.control.situation import Interval, TopologyShape
from pasps.metrics import ReplicaStats, Stats
from tests.unit.control.situations import CHAIN, MACHINE, bolt, bolt_stats, shape, snapshot, spout_stats

TD = 30.0


def at(uptime: float, due: int, *, backlog: int | None = 0, complete: bool = True) -> Stats:
    return snapshot(uptime, spout_stats("s", due, backlog), bolt_stats("a", {"s": due}, due, 0.1), complete=complete)


def watching(*snapshots: Stats, of: TopologyShape = CHAIN) -> Monitor:
    monitor = Monitor(of)
    for stats in snapshots:
        monitor.take(stats, MACHINE, TD)
    return monitor


def last(monitor: Monitor, seconds: float = TD) -> Interval:
    found = monitor.interval(seconds)
    assert found is not None
    return found


# ---- seconds


def test_a_second_s_input_is_read_off_the_line_between_two_snapshots() -> None:
    monitor = watching(at(0.3, 0), at(1.1, 80), at(2.5, 220), at(3.0, 320))
    assert monitor.samples() == pytest.approx((100.0, 50 + 100)), "1 to 2, and 2 to 3, of which half came at twice the rate"
    monitor.take(at(3.4, 400), MACHINE, TD)
    assert monitor.samples() == pytest.approx((100.0, 100.0, 10 + 180)), "0.4 to 1.4, 1.4 to 2.4, 2.4 to 3.4"


def test_the_last_second_ends_with_the_newest_snapshot_however_late_the_first_one_was() -> None:
    """A forecast begins where the samples end; and the first cut takes longer than the others."""
    monitor = watching(at(0.9, 0), *(at(second + 0.01, 0) for second in range(1, 9)), at(9.01, 40))
    assert monitor.samples()[-1] == pytest.approx(40.0)
    assert sum(monitor.samples()) == pytest.approx(40.0)


def test_snapshots_on_the_dot_count_each_event_once() -> None:
    assert watching(*(at(second, second * second) for second in range(6))).samples() == (1.0, 3.0, 5.0, 7.0, 9.0)


def test_what_was_due_before_the_first_snapshot_is_no_input() -> None:
    assert watching(at(5.0, 1_000_000), at(6.0, 1_000_010)).samples() == (10.0,)


def test_a_late_snapshot_spreads_what_came() -> None:
    assert watching(at(0, 0), at(1, 10), at(5, 50)).samples() == (10.0,) * 5


def test_samples_add_up_to_what_became_due_at_whatever_times_it_is_looked() -> None:
    times = [0.0, 0.4, 1.7, 1.71, 3.99, 4.02, 9.3, 10.0]
    monitor = watching(*(at(time, round(1000 * time)) for time in times))
    assert monitor.samples() == pytest.approx((1000.0,) * 10)


def test_the_last_hundred_seconds_are_kept() -> None:
    monitor = watching(*(at(second, second) for second in range(250)))
    assert monitor.samples() == (1.0,) * SAMPLES


def test_there_are_none_before_a_second_is_over() -> None:
    assert Monitor(CHAIN).samples() == watching(at(0, 5)).samples() == watching(at(0, 5), at(0.9, 8)).samples() == ()


# ---- what is not whole


def test_an_incomplete_snapshot_is_not_used_and_is_bridged() -> None:
    monitor = watching(at(0, 0), at(1, 10))
    assert monitor.take(at(2, 7, complete=False), MACHINE, TD) == "the snapshot is incomplete: a live worker did not answer"
    assert monitor.samples() == (10.0,)
    assert last(monitor).ended == 1
    assert monitor.take(at(3, 30), MACHINE, TD) == ""
    assert monitor.samples() == (10.0, 10.0, 10.0)


def test_a_spout_that_suddenly_does_not_tell_its_backlog_makes_a_snapshot_incomplete() -> None:
    monitor = watching(at(0, 0), at(1, 100, backlog=60))
    missing = at(2, 50, backlog=None)
    assert monitor.take(missing, MACHINE, TD) == "the snapshot is incomplete: spout 's' did not tell its backlog"
    monitor.take(at(3, 300, backlog=200), MACHINE, TD)
    assert monitor.samples() == (100.0, 100.0, 100.0)


def test_one_that_never_tells_it_is_no_problem() -> None:
    assert watching(at(0, 0, backlog=None), at(1, 10, backlog=None)).samples() == (10.0,)


def test_one_that_has_stopped_telling_it_does_not_hold_the_loop_for_ever() -> None:
    monitor = watching(*(at(second, 100 * second, backlog=10 * second) for second in range(5)))
    silent = [at(second, 90 * second, backlog=None) for second in range(5, 30)]
    problems = [monitor.take(stats, MACHINE, TD) for stats in silent]
    assert problems[0]
    assert problems[-15:] == [""] * 15
    assert all(sample <= 100 for sample in monitor.samples())
    assert monitor.samples()[-10:] == pytest.approx((90.0,) * 10), "from then on what it emits is the input"


def test_a_backlog_that_becomes_known_did_not_become_due_now() -> None:
    silent = [at(second, 10 * second, backlog=None) for second in range(5)]
    telling = [at(second, 5000 + 10 * second, backlog=5000) for second in range(5, 8)]
    assert watching(*silent, *telling).samples() == pytest.approx((10.0,) * 7)


# ---- a spout that goes on after its worker ended


def restarted(uptime: float, due: int, *, backlog: int | None = 0, restarts: int = 1, state: str = "ACTIVE") -> Stats:
    lives = {0: ReplicaStats(0, "w0", state, 0, 0, 0, 0, 0, 0.0)}
    spout = spout_stats("s", due, backlog, restarts=restarts, replicas=lives)
    return snapshot(uptime, spout, bolt_stats("a", {"s": due}, due, 0.1))


def test_the_interval_in_which_a_spout_went_on_after_its_worker_died_is_left_out() -> None:
    """340 events are in its backlog again, and how many of the others became due meanwhile nobody knows."""
    monitor = watching(*(at(second, 100 * second, backlog=20) for second in range(4)))
    again = restarted(5, 300 + 340, backlog=360)
    assert monitor.take(again, MACHINE, TD) == (
        "the input since 3.0 s is left out: spout 's' goes on after its worker ended, and what it emits again is no new input"
    )
    assert monitor.samples() == (100.0,) * 3
    assert monitor.interval(TD) is None
    assert monitor.take(restarted(6, 740, backlog=460), MACHINE, TD) == ""
    assert monitor.samples() == (100.0,) * 4
    found = last(monitor)
    assert (found.began, found.ended, found.due, found.bolts["a"].processed) == (5, 6, 100, 100)
    assert found.left_out == "spout 's' goes on after its worker ended, and what it emits again is no new input"


def test_an_interval_that_is_whole_again_does_not_speak_of_it() -> None:
    monitor = watching(*(at(second, 100 * second) for second in range(4)))
    for second in range(4, 9):
        monitor.take(restarted(second, 100 * second), MACHINE, 3.0)
    assert [bool(last(monitor, seconds).left_out) for seconds in (1.0, 2.0, 3.0, 4.0, 100.0)] == [False] * 3 + [True] * 2


def test_what_was_in_flight_and_is_emitted_again_is_no_input_where_nobody_tells_a_backlog() -> None:
    """Of 300 that it had emitted 80 come again: they do not count as emitted once it has died, and not twice afterwards."""
    monitor = watching(*(at(second, 100 * second, backlog=None) for second in range(4)))
    monitor.take(restarted(4, 220, backlog=None), MACHINE, TD)
    for second, emitted in [(5, 300), (6, 400)]:
        monitor.take(restarted(second, emitted, backlog=None), MACHINE, TD)
    assert monitor.samples() == (100.0,) * 3 + (0.0, 100.0)


def test_it_is_left_out_of_every_spout_s_input() -> None:
    def two(uptime: float, s: int, t: int, restarts: int) -> Stats:
        spouts = spout_stats("s", s, 0, restarts=restarts), spout_stats("t", t, 0)
        return snapshot(uptime, *spouts, bolt_stats("a", {"s": s, "t": t}, s + t))

    monitor = watching(two(0, 0, 0, 0), two(1, 100, 10, 0), two(2, 500, 20, 1), two(3, 600, 30, 1), of=TWO)
    assert monitor.samples() == (110.0, 110.0)
    assert {name: spout.due for name, spout in last(monitor).spouts.items()} == {"s": 100, "t": 10}


def test_while_a_task_of_a_spout_lives_nowhere_no_snapshot_is_whole_for_a_while() -> None:
    monitor = watching(*(at(second, 100 * second, backlog=None) for second in range(3)))
    gone = [restarted(second, 200, backlog=None, restarts=0, state="LOST") for second in range(3, 20)]
    problems = [monitor.take(stats, MACHINE, TD) for stats in gone]
    assert problems == ["the snapshot is incomplete: the worker of spout 's' died"] * 9 + [""] * 8
    assert monitor.samples()[:2] == (100.0, 100.0)


# ---- counters that fall, as when a worker dies


def test_a_fall_gives_no_negative_rate_and_no_jump_afterwards() -> None:
    fallen = watching(at(0, 0), at(1, 100), at(2, 150), at(3, 300), at(4, 400))
    assert watching(at(0, 0), at(1, 100), at(2, 60), at(3, 300), at(4, 400)).samples() == (100.0, 0.0, 200.0, 100.0)
    assert sum(fallen.samples()) == 400
    monitor = watching(at(0, 0), at(1, 100), at(2, 60), at(3, 110))
    assert monitor.samples() == (100.0, 0.0, 10.0)
    assert last(monitor).due == 110


def test_intervals_agree_with_the_samples_when_one_begins_or_ends_in_a_fall() -> None:
    monitor = watching(at(0, 0), at(1, 100), at(2, 60), at(3, 300))
    assert last(monitor, 1.0).due == 200, "not 240: 40 of those had been seen before"
    monitor.take(at(4, 250), MACHINE, TD)
    assert last(monitor, 1.0).due == 0
    assert last(monitor, 4.0).due == sum(monitor.samples()) == 300


TWO = shape(bolt("a", "s", "t"), spouts=("s", "t"))


def both(uptime: float, s: int, t: int) -> Stats:
    spouts = spout_stats("s", s, None), spout_stats("t", t, None)
    return snapshot(uptime, *spouts, bolt_stats("a", {"s": s, "t": t}, s + t))


def test_the_fall_of_one_spout_hides_nothing_of_the_others() -> None:
    monitor = watching(both(0, 0, 0), both(1, 100, 100), both(2, 40, 200), both(3, 300, 300), of=TWO)
    assert monitor.samples() == (200.0, 100.0, 300.0)
    found = last(monitor, 1.0)
    assert {name: spout.due for name, spout in found.spouts.items()} == {"s": 200, "t": 100}
    assert {name: spout.due for name, spout in last(monitor, 3.0).spouts.items()} == {"s": 300, "t": 300}


def test_no_count_of_a_bolt_is_negative() -> None:
    before = bolt_stats("a", {"s": 100}, 100, 0.1, queued=9)
    after = bolt_stats("a", {"s": 70}, 60, 0.1, queued=2)
    found = last(watching(snapshot(0, spout_stats("s", 100, 0), before), snapshot(1, spout_stats("s", 90, 0), after))).bolts["a"]
    assert (found.received, found.processed, found.seconds, found.queued, found.replicas) == ({"s": 0}, 0, 0.0, 2, {})


# ---- intervals


def test_an_interval_is_the_difference_of_two_snapshots() -> None:
    then = bolt_stats("a", {"s": 100}, 90, 0.2)
    now = bolt_stats("a", {"s": 160}, 140, 0.25, queued=20, active=3)
    monitor = watching(
        snapshot(10, spout_stats("s", 120, 20), then, version=4), snapshot(40, spout_stats("s", 200, 30, replayed=5), now, version=6)
    )
    found = last(monitor)
    assert (found.began, found.ended, found.seconds, found.versions, found.workers, found.cores) == (10, 40, 30, (4, 6), 2, 2)
    assert (found.due, found.spouts["s"].emitted, found.spouts["s"].backlog) == (80, 70 + 5, 30)
    a = found.bolts["a"]
    assert (a.received, a.processed, a.queued, a.active) == ({"s": 60}, 50, 20, 3)
    assert a.seconds == pytest.approx(140 * 0.25 - 90 * 0.2)
    assert a.replicas == {0: (50, pytest.approx(17.0))}


def test_streams_of_one_source_are_one_edge_of_the_model() -> None:
    counters = [bolt_stats("a", {"s": 10}, 30), bolt_stats("a", {"s": 25}, 60)]
    twice = [structs.replace(stats, edges=stats.edges * 2) for stats in counters]
    doubled = [snapshot(i, spout_stats("s", 50 * i), stats) for i, stats in enumerate(twice)]
    assert last(watching(*doubled)).bolts["a"].received == {"s": 30}


def test_a_replica_that_is_new_counts_in_full_and_an_idle_one_not_at_all() -> None:
    old = {0: ReplicaStats(0, "w0", "ACTIVE", 0, 10, 0, 0, 0, 0.1), 1: ReplicaStats(1, "w0", "ACTIVE", 0, 4, 0, 0, 0, 0.1)}
    new = {**old, 0: ReplicaStats(0, "w0", "ACTIVE", 0, 15, 0, 0, 0, 0.2), 2: ReplicaStats(2, "w1", "ACTIVE", 0, 5, 0, 0, 0, 0.3)}
    then = snapshot(0, spout_stats("s", 0), bolt_stats("a", {"s": 0}, 14, replicas=old))
    now = snapshot(1, spout_stats("s", 9), bolt_stats("a", {"s": 9}, 24, replicas=new))
    assert last(watching(then, now)).bolts["a"].replicas == {0: (5, pytest.approx(2.0)), 2: (5, pytest.approx(1.5))}


def test_there_is_no_interval_before_the_second_snapshot() -> None:
    assert Monitor(CHAIN).interval(TD) is None
    assert watching(at(0, 0)).interval(TD) is None


@pytest.mark.parametrize(("seconds", "began"), [(1.0, 9.05), (2.0, 7.9), (1.5, 7.9), (100.0, 0.0)])
def test_an_interval_is_at_least_as_long_as_asked_but_for_a_moment(seconds: float, began: float) -> None:
    times = [0.0, 1.0, 2.1, 3.0, 4.0, 5.0, 6.0, 7.9, 9.05, 10.0]
    assert last(watching(*(at(time, 0) for time in times)), seconds).began == began


def test_old_snapshots_are_dropped_but_never_the_one_that_an_interval_begins_with() -> None:
    monitor = Monitor(CHAIN)
    for second in range(500):
        monitor.take(at(second, second), MACHINE, 5.0)
    assert monitor.kept <= 8
    assert last(monitor, 5.0).seconds == 5
    monitor.take(at(600, 600), MACHINE, 5.0)
    assert last(monitor, 5.0).due == 101


def test_a_long_interval_does_not_keep_a_snapshot_for_each_of_its_seconds() -> None:
    monitor = Monitor(CHAIN)
    for second in range(4000):
        monitor.take(at(second, 2 * second), MACHINE, 1800.0)
    assert monitor.kept <= 110
    found = last(monitor, 1800.0)
    assert 1800 <= found.seconds <= 1800 * 1.02
    assert found.due == 2 * found.seconds
    assert monitor.samples() == (2.0,) * 100


# ---- flags


@pytest.mark.parametrize(("backlog", "held_back", "expected"), [(None, 1, True), (None, 0, False), (7, 1, False)])
def test_the_input_is_a_lower_bound_when_a_spout_was_held_back_and_cannot_tell(backlog: int | None, held_back: int, expected: bool) -> None:
    then = snapshot(0, spout_stats("s", 0, backlog), bolt_stats("a", {"s": 0}, 0))
    now = snapshot(1, spout_stats("s", 10, backlog, held_back=held_back), bolt_stats("a", {"s": 0}, 0))
    assert last(watching(then, now)).lower_bound is expected


def test_the_busy_share_is_of_all_cores_and_unknown_where_the_system_does_not_tell() -> None:
    def busy(then: Machine, now: Machine) -> float | None:
        monitor = Monitor(CHAIN)
        monitor.take(at(0, 0), then, TD)
        monitor.take(at(1, 0), now, TD)
        return last(monitor).busy

    assert busy(Machine(2, 2, 10.0, 100.0), Machine(2, 2, 11.5, 102.0)) == 0.75
    assert busy(Machine(2, 2, 10.0, 100.0), Machine(2, 2, 13.0, 102.0)) == 1.0
    assert busy(Machine(2, 2, 10.0, 100.0), Machine(2, 2, 9.0, 102.0)) == 0.0
    assert busy(Machine(2, 2), Machine(2, 2, 1.0, 2.0)) is None
    assert busy(Machine(2, 2, 1.0, 2.0), Machine(2, 2, 1.0, 2.0)) is None


# ---- shapes


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self) -> float | None:
        return None


class Keep(Bolt):
    outputs = ["n"]

    def process(self, tup: Tuple) -> None:
        pass


class Waits(Keep):
    execution = "thread"


class Alone(Keep):
    @classmethod
    def useful_replicas(cls, conf: Mapping[str, Any]) -> Any:
        return conf["alone.most"]


class AloneStateful(StatefulFunction):
    useful_replicas = Alone.useful_replicas

    def __call__(self, number: int) -> None: ...


class Pair(Topology):
    config = {"alone.most": None}
    numbers = Numbers.spec()
    alone = Alone.spec(inputs=[numbers], pool=5)
    stateful = AloneStateful.spec(inputs=[numbers], pool=5)


@pytest.mark.parametrize(("most", "pool"), [(None, 5), (1, 1), (0, 1), (3, 3), (8, 5)])
def test_a_bolt_that_has_no_use_for_its_pool_gets_none_of_it(most: int | None, pool: int) -> None:
    bolts = shape_of(Pair.blueprint(config={"alone.most": most})).bolts
    assert bolts == (bolt("alone", "numbers", pool=pool), bolt("stateful", "numbers", pool=pool))


class Four(Topology):
    numbers = Numbers.spec()
    waits = Waits.spec(inputs=[numbers], pool=5)
    keep = Keep.spec(inputs={waits: Grouping.fields("n")}, par=2)


def test_a_blueprint_s_shape_has_what_the_model_needs() -> None:
    assert shape_of(Four.blueprint()) == TopologyShape(
        ("numbers",), (bolt("waits", "numbers", pool=5, waits=True), bolt("keep", "waits", pool=2, keyed=True))
    )
