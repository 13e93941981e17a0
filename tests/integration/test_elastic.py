"""The whole loop, live: a trace that comes and goes, real workers, a real predictor, and what is killed in the middle."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pasps import LocalCluster, RunningTopology
from pasps.control import policies
from pasps.control.decision_log import replayed
from pasps.control.explain import explained, replay
from pasps.control.plan import BoltPlan, Plan
from pasps.control.policies import Needs, Policy, policy_named
from pasps.control.situation import Situation
from tests.integration.elastic_topologies import BOLTS, POOL, Course, Line
from tests.integration.running import finish, kill, no_children, rows, spout_worker, until, until_replaced

BURSTY = [60, 500, 650, 90, 400, 60, 60, 620, 300, 80, 500, 640, 70, 330, 60, 600, 90, 420, 60, 640, 200, 60]


def predictor_pid() -> int | None:
    """The predictor that this process started, once it is there."""
    for process in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # also one that was killed, and is not waited for yet
            if "predictor_service" in process.cmdline():
                return process.pid
    return None


def check_everything_is_there(running: RunningTopology, course: Course, directory: Path) -> None:
    finish(running)
    missing = set(range(course.total)) - {row[0] for row in rows(directory)}
    assert not missing, f"{len(missing)} missing, for example {sorted(missing)[:5]}"


def missed_after_a_kill(course: Course) -> bool:
    """Whether the newest decision was made without the predictor; kills it, and again when it is back before it was missed."""
    pid = predictor_pid()
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return course.sources()[-1] != "predictor"


def test_replicas_follow_a_bursty_trace_while_the_predictor_dies_and_comes_back(tmp_path: Path) -> None:
    course = Course(tmp_path, BURSTY, "pa-sps", **{"pasps.predictor": "lr"})
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        until(lambda: "predictor" in course.sources(), lambda: f"a forecast of the predictor's; there were {course.sources()}")
        until(predictor_pid, "the predictor's process")
        until(lambda: missed_after_a_kill(course), "a decision without the predictor")
        until(lambda: course.sources()[-1] == "predictor", lambda: f"the predictor's return; {course.sources()}")
        check_everything_is_there(running, course, tmp_path)
        stats = running.stats()
    no_children()
    assert predictor_pid() is None
    assert (stats.failed, stats.replayed, stats.acked) == (0, 0, course.total)
    assert len(rows(tmp_path)) == course.total, "an event came twice, though nothing failed"
    turns = {bolt: course.turns(bolt) for bolt in BOLTS}
    assert all(turns[bolt].count("more") >= 2 and turns[bolt].count("fewer") >= 2 for bolt in BOLTS), f"not with one burst alone: {turns}"
    assert all(1 <= bolt.active <= POOL for sample in course.samples for bolt in sample.bolts.values())
    policy = policy_named("pa-sps")
    assert all(replayed(record, policy) == record.plan for record in course.records)


def test_a_policy_gets_what_it_asks_for_and_its_decisions_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second of each bolt, the CPU time of workers, and what it remembers."""

    def plan(situation: Situation, options: object) -> Plan:
        seconds = [second.bolts["first"].processed for second in situation.history]
        now = {bolt.id: situation.interval.bolts[bolt.id].active for bolt in situation.shape.bolts}
        return Plan({name: BoltPlan(count, count, count, count) for name, count in now.items()}, memory=[seconds, situation.memory][:1])

    looking = Policy("looking", "a test's own", plan, needs=Needs(history_seconds=4, replicas=True))
    monkeypatch.setitem(policies.BUILT_IN, "looking", looking)
    course = Course(tmp_path, [60] * 8, "looking")
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        check_everything_is_there(running, course, tmp_path)
        workers = {worker.id for worker in running.workers}
    seen = [record.situation for record in course.records if record.situation is not None]
    assert {worker for situation in seen for worker in situation.workers} == workers
    assert all(worker.cpu is not None and worker.cpu >= 0 for situation in seen for worker in situation.workers.values())
    assert all(worker.host is not None and (worker.cores or 0) > 0 for situation in seen for worker in situation.workers.values())
    assert {replica.worker for situation in seen for replica in situation.replicas["sink"].values()} <= workers
    assert sum(second.bolts["first"].processed for situation in seen for second in situation.history) > 300
    lines, same = replay(course.records, lambda name: looking)
    assert same, lines


def test_a_queue_that_grows_is_seen_to_long_before_the_next_correction(tmp_path: Path) -> None:
    conf = {"pasps.predictor": "none", "pasps.interval.secs": 1000, "pasps.correction.secs": 500}
    course = Course(tmp_path, [5] * 4 + [120] * 6, "pasps", **conf)
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        until(lambda: course.moves("first"), "a change that no pace asked for")
        check_everything_is_there(running, course, tmp_path)
    corrections = [record.uptime for record in course.records if record.moment == "correction"]
    assert corrections, "only the first plan was made"
    assert corrections[0] < 30


@pytest.mark.parametrize("policy", ["pasps", "presps"])
def test_after_a_worker_was_killed_control_goes_on_with_the_right_input(tmp_path: Path, policy: str) -> None:
    """The spout's own worker: its rows come again, which must not look like input."""
    course = Course(tmp_path, BURSTY[:10], policy, **{"pasps.predictor": "basic"})
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        until(lambda: len(course.samples) > 5, "five seconds of the trace")
        victim = spout_worker(running, "events")
        decided = len(course.records)
        kill(victim)
        until_replaced(running, victim)
        check_everything_is_there(running, course, tmp_path)
    most = max(BURSTY)
    assert [sample for sample in course.samples if sample.complete][-1].due >= course.total
    said = [text for record in course.records[decided:] for text in (record.plan.held, *record.notes)]
    assert any("is left out: spout 'events' goes on after its worker ended" in text for text in said), said
    later = [record.situation.interval for record in course.records[decided:] if record.situation is not None]
    assert later, "nothing was decided after the death"
    assert all(0 <= interval.due <= most * (interval.seconds + 1.1) for interval in later)
    assert all(flow >= 0 for interval in later for bolt in interval.bolts.values() for flow in (bolt.processed, bolt.queued, bolt.seconds))


@pytest.mark.parametrize("policy", ["pasps", "pa-sps"])
def test_without_a_predictor_nobody_forecasts(tmp_path: Path, policy: str) -> None:
    course = Course(tmp_path, [30, 30, 300, 300, 300, 30], policy, **{"pasps.predictor": "none"})
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        check_everything_is_there(running, course, tmp_path)
        assert predictor_pid() is None
    seen = [record for record in course.records if record.situation is not None]
    assert seen, "nothing was decided"
    assert {record.situation.forecast for record in seen if record.situation is not None} == {None}
    moved = {bolt for bolt in BOLTS if course.moves(bolt)}
    if policy == "pasps":
        assert moved == set(BOLTS), "it goes on by what it sees"
    else:
        assert {record.plan.held for record in seen} == {"there is no forecast"}
        assert not moved, "it has nothing else to plan from"


def test_a_bolt_that_was_set_by_hand_is_left_alone(tmp_path: Path) -> None:
    course = Course(tmp_path, [180] * 5, "pasps", **{"pasps.predictor": "basic"})
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        until(lambda: len(course.samples) > 1, "the loop's first second")
        running.set_active("second", 4)
        until(lambda: course.moves("first"), "the loop's change of another bolt")
        assert running.stats().components["second"].active == 4
        running.release("second")
        check_everything_is_there(running, course, tmp_path)
        until(lambda: running.stats().components["second"].active == 1, "the loop's change of the bolt, now that there is no input")


def test_what_was_set_by_hand_is_explained_before_the_next_decision(tmp_path: Path) -> None:
    course = Course(tmp_path, [50] * 100, "pa-sps", **{"pasps.predictor": "basic", "pasps.interval.secs": 1000})
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Line, config=course.conf, control=course.control)
        until(lambda: len(course.samples) > 1, "the loop's first second")
        before = running.stats().components["second"].active
        running.set_active("second", 4)
        shown = explained(course.records, "second")
        assert shown.startswith("second has 4 "), shown
        assert f", set by hand: {before} -> 4 (table {running.stats().table_version})." in shown
        told = len(course.records)
        running.set_active("second", 4)
        assert len(course.records) == told, "nothing has changed"
        running.kill(wait=0)


def test_who_keeps_the_samples_may_fail_and_leaves_no_process(tmp_path: Path) -> None:
    course = Course(tmp_path, [20] * 3, "pasps", **{"pasps.predictor": "basic"})

    def refuse(line: bytes) -> None:
        raise OSError("no room")

    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Line, config=course.conf, control=replace(course.control, samples=refuse))
        finish(running)
        with pytest.raises(OSError, match="no room"):
            running.kill(wait=0)
        no_children()
