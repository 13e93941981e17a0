"""All workers started anew for a plan, as Storm's rebalance does it: what is kept, what is lost, and who comes in between."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pasps import LocalCluster, RunningTopology
from pasps.control.decision_log import Act, Outcome, Restarted, Restarts, replayed
from pasps.control.explain import explained
from pasps.control.policies import policy_named
from pasps.errors import ClosedError
from pasps.topology.controller import TopologyController
from tests.integration.elastic_topologies import BOLTS, Course, Line
from tests.integration.flow_topologies import Everything
from tests.integration.restart_topologies import Lives, Queueing
from tests.integration.running import children, config, finish, kill, no_children, rows, spout_worker, until, written
from tests.integration.test_kill import check_complete, flowing
from tests.integration.topologies import Chain

TOTAL = 20_000
AT_ONCE = {"pasps.restart.wait.secs": 0}

Outcomes = tuple[dict[str, Act], int, Restarted | None]


def restart(running: RunningTopology, wanted: Mapping[str, int]) -> Outcomes:
    """As the loop asks for it."""
    return running.on_controller(lambda controller: controller.restart(wanted))


def took(running: RunningTopology, wanted: Mapping[str, int]) -> Restarted:
    """One that is carried out: every bolt has what was wanted then."""
    before = {worker.id: worker for worker in running.workers}
    acts, version, found = restart(running, wanted)
    assert found is not None, acts
    assert {name: (act.outcome, act.after) for name, act in acts.items()} == {name: (Outcome.DONE, count) for name, count in wanted.items()}
    after = {worker.id: worker for worker in running.workers}
    assert after.keys() == before.keys()
    assert all(after[name].incarnation == before[name].incarnation + 1 for name in after), "each worker ended once, and began once"
    stats = running.stats()
    assert (stats.complete, stats.table_version) == (True, version)
    assert {name: stats.components[name].active for name in wanted} == dict(wanted)
    return found


@contextmanager
def restarting(running: RunningTopology, wanted: Mapping[str, int]) -> Iterator[Future[Outcomes]]:
    """One that is under way."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(restart, running, wanted)
        until(lambda: under_way(running) or future.done(), "the restart's begin")
        yield future


def under_way(running: RunningTopology) -> str:
    async def said(controller: TopologyController) -> str:
        return controller.restarts.under_way

    return running.on_controller(said)


def so_far(running: RunningTopology) -> tuple[Restarts, int]:
    """All restarts, and how many workers were lost."""

    async def said(controller: TopologyController) -> tuple[Restarts, int]:
        return controller.restarts.so_far, controller.lost

    return running.on_controller(said)


# ---- exactness


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_that_is_tracked_is_missing_whenever_all_workers_are_started_anew(tmp_path: Path, workers: int) -> None:
    draw = random.Random(workers)
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000, **AT_ONCE))
        made = []
        for number in range(5):
            flowing(running, tmp_path, 1500 * (number + 1))
            active = {name: component.active for name, component in running.stats().components.items()}
            wanted = {name: 1 + (active[name] + draw.randrange(1, pool)) % pool for name, pool in (("work", 6), ("keyed", 6), ("sink", 4))}
            made.append(took(running, {name: count for name, count in wanted.items() if count != active[name]}))
        stats = check_complete(running, tmp_path)
        totals, lost = so_far(running)
        assert (totals.count, totals.replayed, lost) == (5, sum(one.replayed for one in made), 0)
        assert (stats.failed, running.errors, running.troubles) == (0, [], []), "who was ended on purpose has not died"
        assert stats.replayed == totals.replayed, "what was in flight is emitted for the first time when it comes again"
        assert stats.components["numbers"].restarts == 5
        assert len(rows(tmp_path)) <= stats.components["numbers"].emitted, "no tuple was made by anybody but the spout"


def test_what_the_wait_is_long_enough_for_comes_once(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=4000, rate=1000, **{"pasps.restart.wait.secs": 3}))
        flowing(running, tmp_path, 500)
        found = took(running, {"work": 5, "keyed": 2})
        assert (found.replayed, found.dropped) == (0, 0)
        assert found.waited >= 3.0
        stats = check_complete(running, tmp_path, 4000)
        assert (stats.emitted_first, stats.acked, stats.replayed) == (4000, 4000, 0)
    assert Counter(row[0] for row in rows(tmp_path)) == Counter(range(4000))


@pytest.mark.parametrize("workers", [1, 2])
def test_of_what_is_not_tracked_exactly_that_is_lost_which_was_under_way(tmp_path: Path, workers: int) -> None:
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Queueing, config=config(tmp_path, total=6000, rate=3000, **AT_ONCE, **{"topology.acker.executors": 0}))
        flowing(running, tmp_path, 300)
        until(lambda: running.stats().components["slowly"].queued > 20, "a queue")
        found = took(running, {"work": 4, "slowly": 3})
        assert (found.replayed, found.dropped > 0) == (0, True)
        until(lambda: under_way(running) == "" and running.wait_finished(100), "the end")
        stats = running.stats()
        totals, _ = so_far(running)
        assert totals.lost == found.dropped
        assert stats.emitted_first == 6000, "it went on where it was"
    assert Counter(Counter(row[0] for row in rows(tmp_path)).values()) == {1: 6000 - found.dropped}


def test_every_kind_of_bolt_and_several_spouts_come_through_it(tmp_path: Path) -> None:
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Everything, config=config(tmp_path, total=6000, rate=1000, cut_at=[], **AT_ONCE))
        for number, wanted in enumerate(({"cuts": 3, "thread": 6, "keyed": 5}, {"awaits": 4, "thread": 2}, {"keyed": 1, "sink": 3})):
            flowing(running, tmp_path, 1000 * (number + 1))
            took(running, wanted)
        finish(running)
        assert running.stats().pending == 0
        assert running.errors == []
    assert {(row[0], row[1]) for row in rows(tmp_path)} == {(n, n % 13) for n in range(6000)}


def test_bolts_begin_anew_with_nothing_and_close_before(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Lives, config=config(tmp_path, total=1000, **AT_ONCE))
        finish(running)
        took(running, {"life": 2})
        finish(running)
    lives = [path.read_text().splitlines() for path in sorted(tmp_path.glob("life-*.log"), key=lambda path: path.stat().st_mtime_ns)]
    before, after = ([life for life in lives if life[0] == f"begins {restarted}"] for restarted in (0, 1))
    assert len(before) == len(after) == 2
    assert sum(int(life[-2].split()[1]) for life in before) == 1000
    assert all(life[-1].split()[0] == "closes" for life in before)
    assert [life[1:] for life in after] == [["closes 0"]] * 2, "its keys' state is gone, as Storm's"


def test_many_restarts_are_no_crash_loop(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Lives, config=config(tmp_path, total=10, **AT_ONCE))
        finish(running)
        for number in range(13):
            took(running, {"life": 2 - number % 2})
        assert (running.troubles, running.errors, so_far(running)[1]) == ([], [], 0)
        finish(running)
        assert len(running.workers) == 2


# ---- who dies meanwhile


@pytest.mark.parametrize("wait", [1.5, 0.1])
@pytest.mark.parametrize("whose", ["spout", "other"])
def test_a_worker_that_is_killed_while_it_waits_is_repaired_and_those_that_live_are_started_anew(
    tmp_path: Path, whose: str, wait: float
) -> None:
    """After the longer wait it lives again, after the shorter one it is just being started."""
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000, **{"pasps.restart.wait.secs": wait}))
        flowing(running, tmp_path, 2000)
        with restarting(running, {"work": 6, "keyed": 1}) as future:
            host = spout_worker(running)
            kill(host if whose == "spout" else next(info for info in running.workers if info.id != host.id))
            acts, _, found = future.result()
        assert found is not None
        assert {act.outcome for act in acts.values()} == {Outcome.DONE}
        check_complete(running, tmp_path)
        until(lambda: len(running.workers) == 2, "two workers")
        assert so_far(running)[1] == 1
        stats = running.stats()
        assert (stats.components["work"].active, stats.components["keyed"].active) == (6, 1)


@pytest.mark.parametrize("seed", range(4))
def test_new_processes_that_are_killed_as_they_start_are_repaired(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000, **AT_ONCE))
        flowing(running, tmp_path, 2000)
        before = {process.pid for process in children()}
        with restarting(running, {"work": 1, "keyed": 4}) as future:
            born = until(lambda: [each for each in children() if each.pid not in before] or future.done(), "a new process")
            for process in born if isinstance(born, list) else []:
                if draw.random() < 0.7:
                    process.send_signal(signal.SIGKILL)
            future.result()
        check_complete(running, tmp_path)
        until(lambda: len(running.workers) == 3, "three workers")
        stats = until(lambda: found if (found := running.stats()).complete else None, "a whole snapshot")
        assert (stats.components["work"].active, stats.components["keyed"].active) == (1, 4)


def test_a_worker_that_is_killed_as_it_ends_ends_no_more_than_that(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000, **AT_ONCE))
        for number in range(4):
            flowing(running, tmp_path, 2000 * (number + 1))
            victim = running.workers[number % 2]
            with restarting(running, {"work": 2 + number}) as future:
                with suppress(ProcessLookupError):
                    kill(victim)
                future.result()
            until(lambda: len(running.workers) == 2, "two workers")
        check_complete(running, tmp_path)


def test_a_worker_that_does_not_close_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Lives, config=config(tmp_path, total=1000, closes=3600, **AT_ONCE))
        finish(running)
        took(running, {"life": 2})
        finish(running)


def test_a_bolt_that_cannot_begin_keeps_its_worker_back_until_it_can(tmp_path: Path) -> None:
    refuse = tmp_path / "refuse"
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Lives, config=config(tmp_path, total=2000, rate=1000, **AT_ONCE))
        until(lambda: running.stats().acked > 100, "tuples")
        refuse.touch()
        acts, _, found = restart(running, {"life": 2})
        assert found is not None
        assert acts["life"].outcome is Outcome.FAILED
        assert "no worker has come back yet" in acts["life"].error
        assert so_far(running)[0].count == 1
        until(lambda: any("no database here" in error.text for error in running.errors), "its own words")
        refuse.unlink()
        finish(running)
        assert running.stats().components["life"].active == 2
        until(lambda: len(running.workers) == 2, "two workers")


# ---- who asks for something meanwhile


def test_a_drain_calls_it_off_while_it_waits(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=2000))
        flowing(running, tmp_path, 500)
        before = [worker.pid for worker in running.workers]
        with restarting(running, {"work": 6}) as future:
            assert "before that the spouts are silent for 300 s" in under_way(running), "Storm's default: the message time-out"
            running.drain(60)
            acts, _, found = future.result()
        assert found is None
        assert (acts["work"].outcome, acts["work"].error, acts["work"].after) == (Outcome.FAILED, "the topology is drained", 3)
        assert [worker.pid for worker in running.workers] == before
        assert under_way(running) == ""
        running.activate()
        check_complete(running, tmp_path)


def test_none_begins_while_it_is_drained(tmp_path: Path) -> None:
    """Nothing comes in then, so a policy may want fewer; workers that ended would take along what is being waited for."""

    async def drained(controller: TopologyController) -> Outcomes:
        draining = asyncio.ensure_future(controller.drain(60.0))
        await asyncio.sleep(0)
        found = await controller.restart({"slowly": 4})
        assert not draining.done(), "the queue was too short for this test"
        await draining
        return found

    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Queueing, config=config(tmp_path, total=6000, **AT_ONCE, **{"topology.acker.executors": 0}))
        until(lambda: running.stats().components["slowly"].queued > 500, "a queue")
        before = {worker.pid for worker in running.workers}
        acts, _, found = running.on_controller(drained)
        assert (found, acts["slowly"].error) == (None, "the topology is drained")
        assert {worker.pid for worker in running.workers} == before
        assert took(running, {"slowly": 4}).dropped == 0, "afterwards it may be"
        running.activate()
        until(lambda: running.wait_finished(100), "the end")
    assert Counter(row[0] for row in rows(tmp_path)) == Counter(range(6000))


def test_a_topology_that_is_deactivated_is_so_after_it(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=8000, rate=4000, **AT_ONCE))
        flowing(running, tmp_path, 500)
        running.deactivate()
        until(lambda: running.stats().pending == 0, "all that was under way")
        emitted = running.stats().emitted_first
        assert took(running, {"work": 6}).replayed == 0
        assert running.stats().emitted_first == emitted
        running.activate()
        check_complete(running, tmp_path, 8000)


@pytest.mark.parametrize("wait", [0.0, 10.0])
@pytest.mark.parametrize("moment", ["waits", "silent", "up again"])
def test_a_kill_ends_it_wherever_it_is(tmp_path: Path, wait: float, moment: str) -> None:
    conf = {"pasps.restart.wait.secs": 300 if moment == "waits" else 0, "pasps.restart.silence.secs": 300 if moment == "up again" else 0}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=10**9, rate=2000, **conf))
        flowing(running, tmp_path, 500)
        before = {worker.pid for worker in running.workers}
        with restarting(running, {"work": 6}) as future:
            if moment == "silent":
                until(lambda: not before & {process.pid for process in children()}, "the end of the workers")
            elif moment == "up again":
                until(lambda: len({worker.pid for worker in running.workers} - before) == 2, "new workers")
            running.kill(wait=wait)
            with suppress(ClosedError):  # whoever waits for it may find the topology closed first
                acts, _, _ = future.result()
                # once the workers have ended it is a race who is first
                possible = {Outcome.FAILED} if moment == "waits" else {Outcome.FAILED, Outcome.DONE}
                assert {act.outcome for act in acts.values()} <= possible
        no_children()


def test_who_deactivated_meanwhile_finds_it_asleep_and_who_activated_awake(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=8000, rate=4000, **{"pasps.restart.wait.secs": 1}))
        flowing(running, tmp_path, 500)
        with restarting(running, {"work": 6}) as future:
            running.activate()  # as it is already: it must not wake the spouts
            emitted = running.stats().emitted_first
            running.deactivate()
            found = future.result()[2]
        assert found is not None
        stats = running.stats()
        assert stats.emitted_first + stats.pending <= emitted + found.replayed
        assert stats.acked <= emitted
        with restarting(running, {"work": 5}) as future:
            running.activate()
            future.result()
        check_complete(running, tmp_path, 8000)


@pytest.mark.parametrize("wait", [1.0, 0.0])
def test_who_scales_by_hand_meanwhile_has_the_last_word(tmp_path: Path, wait: float) -> None:
    conf = {"pasps.restart.wait.secs": wait, "pasps.restart.silence.secs": 1}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000, **conf))
        flowing(running, tmp_path, 1000)
        with restarting(running, {"work": 6}) as future:
            running.set_active("keyed", 5)
            running.set_active("sink", 1)
            future.result()
        stats = running.stats()
        assert {name: stats.components[name].active for name in ("work", "keyed", "sink")} == {"work": 6, "keyed": 5, "sink": 1}
        check_complete(running, tmp_path)


def test_a_second_one_meanwhile_is_refused(tmp_path: Path) -> None:
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Lives, config=config(tmp_path, total=10, **{"pasps.restart.wait.secs": 1}))
        with restarting(running, {"life": 2}) as future:
            acts, _, found = restart(running, {"life": 2})
            assert (found, acts["life"].outcome) == (None, Outcome.FAILED)
            assert acts["life"].error.startswith("a restart is under way: all workers are to be started anew (life 1 -> 2)")
            assert future.result()[2] is not None


def test_who_gives_up_waiting_for_it_leaves_a_topology_that_is_repaired(tmp_path: Path) -> None:
    async def given_up(controller: TopologyController) -> None:
        task = asyncio.ensure_future(controller.restart({"work": 6}))
        while controller.publisher.table.workers:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])

    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000, **AT_ONCE))
        flowing(running, tmp_path, 1000)
        running.on_controller(given_up)
        check_complete(running, tmp_path)
        until(lambda: len(running.workers) == 2, "two workers")


def test_a_wait_for_the_end_goes_on_through_it(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=8000, rate=4000, **AT_ONCE))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(running.wait_finished, 100.0)
            flowing(running, tmp_path, 1000)
            took(running, {"work": 6})
            assert waiting.result()
        check_complete(running, tmp_path, 8000)


# ---- by a policy


def test_plans_of_any_policy_are_carried_out_by_restarts_where_that_is_configured(tmp_path: Path) -> None:
    conf = {**AT_ONCE, "pasps.predictor": "basic", "pasps.reconfigure": "restart", "pasps.interval.secs": 2}
    course = Course(tmp_path, [60, 250, 300, 300, 60, 60, 60, 280, 300, 60, 60], "pa-sps", **conf)
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        finish(running)
        assert so_far(running)[0].count > 1
        assert so_far(running)[1] == 0
        assert running.errors == []
    missing = set(range(course.total)) - {row[0] for row in rows(tmp_path)}
    assert not missing, f"{len(missing)} missing, for example {sorted(missing)[:5]}"
    made = [record for record in course.records if record.restart is not None]
    assert made
    for record in made:
        assert {act.outcome for act in record.acts.values()} == {Outcome.DONE}
    assert all(replayed(record, policy_named("pa-sps")) == record.plan for record in course.records)
    assert "all workers were started anew: the spouts were silent for" in "\n".join(explained(course.records, bolt) for bolt in BOLTS)
    later = [record.situation.interval for record in course.records if record.situation is not None]
    assert any("goes on after its worker ended" in interval.left_out for interval in later)
    assert all(0 <= interval.due <= 300 * (interval.seconds + 1.1) for interval in later), "what waited is not taken for what came"
    assert [sample for sample in course.samples if sample.complete][-1].due >= course.total


def test_the_silence_of_another_system_can_be_kept(tmp_path: Path) -> None:
    conf = {**AT_ONCE, "pasps.reconfigure": "restart", "pasps.restart.silence.secs": 4, "pasps.policy.options.replicas": 4}
    course = Course(tmp_path, [40] * 5, "static", **conf)
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        until(lambda: course.records and course.records[0].restart, "the restart")
        finish(running)
        stats = running.stats()
    found = course.records[0].restart
    assert found is not None
    assert found.silent >= 4.0
    assert {stats.components[bolt].active for bolt in BOLTS} == {4}
    assert set(range(course.total)) <= {row[0] for row in rows(tmp_path)}
    assert course.records[0].acts.keys() == set(BOLTS)
    assert written(tmp_path) >= course.total
