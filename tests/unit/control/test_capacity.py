"""Σ CPU ≤ cores: who is capped, by how much, and what that leaves undone."""

from __future__ import annotations

import pytest

from pasps.control.capacity import within_the_cores
from pasps.control.model import Reading, terms
from pasps.control.plan import BoltPlan, Clamp
from pasps.control.policies.policy import as_asked
from pasps.control.situation import BoltShape
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

SPAN = 2.0


def planned(
    *bolts: BoltShape,
    et: dict[str, float | None],
    events: float,
    cores: int = 2,
    workers: int = 2,
    target: float = 0.8,
    queued: int = 0,
    blocks: str = "",
) -> dict[str, BoltPlan]:
    """What the cores leave of the plan for `events` in two seconds, in a chain of these bolts, of which those in `blocks` block."""
    of = shape(*bolts)
    done = {b.id: did(queued=queued, blocks=b.id in blocks) for b in bolts}
    now = interval({"s": due(events)}, done, seconds=SPAN, cores=cores, workers=workers)
    what = situation(of, now, known(of, et))
    asked = as_asked(what, terms(what, events, Reading(SPAN, "own", target, 1.0)), events)
    return dict(within_the_cores(what, asked).bolts)


def test_what_fits_is_left_as_it_is() -> None:
    found = planned(bolt("a", "s"), bolt("b", "a"), et={"a": 0.1, "b": 0.1}, events=10)
    assert {name: (plan.allowed, plan.clamps, plan.unmet) for name, plan in found.items()} == {"a": (1, (), 0.0), "b": (1, (), 0.0)}


@pytest.mark.parametrize(("cores", "workers", "most"), [(2, 4, 2), (4, 2, 2), (1, 1, 1), (3, 3, 3)])
def test_a_computing_bolt_gets_no_more_replicas_than_cores_or_workers(cores: int, workers: int, most: int) -> None:
    found = planned(bolt("a", "s"), et={"a": 0.1}, events=80 * 2, cores=cores, workers=workers)["a"]
    assert (found.asked, found.allowed, found.replicas) == (10, most, most)
    assert found.clamps == (Clamp.AT_POOL, Clamp.CAPPED)


def test_what_is_unmet_is_what_the_cores_cannot_compute() -> None:
    """160 events of 0.1 s in two seconds are 8 cores' work: two cores do a quarter of it."""
    found = planned(bolt("a", "s"), et={"a": 0.1}, events=160)["a"]
    assert found.unmet == pytest.approx(120)


def test_when_only_the_room_is_missing_nothing_is_unmet() -> None:
    """1.8 cores' work asks for 3 replicas at 80%; two cores carry it all the same."""
    found = planned(bolt("a", "s"), et={"a": 0.1}, events=36)["a"]
    assert (found.asked, found.allowed, found.clamps) == (3, 2, (Clamp.CAPPED,))
    assert found.unmet == pytest.approx(0.0)


def test_bolts_share_the_cores_in_proportion_and_so_does_what_is_unmet() -> None:
    found = planned(bolt("a", "s"), bolt("b", "a"), et={"a": 0.3, "b": 0.1}, events=40, cores=4, workers=4)
    assert {name: plan.unmet for name, plan in found.items()} == {"a": pytest.approx(20), "b": pytest.approx(20)}
    assert found["a"].allowed > found["b"].allowed
    assert all(Clamp.CAPPED in plan.clamps for plan in found.values())


def test_a_queue_is_work_in_full_whatever_the_target() -> None:
    """20 events of 0.1 s to be gone in a second are two cores' work, and just fit; 30 do not."""
    assert planned(bolt("a", "s"), et={"a": 0.1}, events=0, queued=20)["a"].clamps == ()
    assert planned(bolt("a", "s"), et={"a": 0.1}, events=0, queued=30)["a"].unmet == pytest.approx(10)
    two = planned(bolt("a", "s"), bolt("b", "s"), et={"a": 0.1, "b": 0.1}, events=0, queued=12)
    assert [plan.unmet for plan in two.values()] == [pytest.approx(2), pytest.approx(2)]


def test_waiting_bolts_need_no_core() -> None:
    found = planned(bolt("a", "s", waits=True), bolt("b", "a"), et={"a": 0.1, "b": 0.001}, events=80 * 2, target=1.0)
    assert (found["a"].allowed, found["a"].clamps, found["a"].unmet) == (8, (), 0.0)
    assert (found["b"].allowed, found["b"].clamps, found["b"].unmet) == (1, (), 0.0)


def test_what_a_pool_cannot_use_is_not_taken_from_the_others() -> None:
    """`a` has one replica and could keep ten cores busy; the other three are left for `b`."""
    found = planned(bolt("a", "s", pool=1), bolt("b", "a"), et={"a": 0.5, "b": 0.1}, events=40, cores=4, workers=4)
    assert (found["b"].allowed, found["b"].clamps, found["b"].unmet) == (3, (), 0.0)
    assert found["a"].allowed == 1


def test_a_bolt_of_which_nothing_is_known_keeps_its_replicas() -> None:
    found = planned(bolt("a", "s"), bolt("b", "a"), et={"a": 0.5, "b": None}, events=100)
    assert (found["b"].replicas, found["b"].clamps) == (1, (Clamp.UNKNOWN,))


def test_everyone_keeps_a_replica_on_a_machine_that_is_too_small() -> None:
    found = planned(*(bolt(name, "s") for name in "abcd"), et=dict.fromkeys("abcd", 0.5), events=100, cores=1, workers=1)
    assert [plan.replicas for plan in found.values()] == [1, 1, 1, 1]


# ---- bolts that block their workers


@pytest.mark.parametrize(("cores", "workers", "most"), [(2, 4, 4), (4, 2, 2), (1, 3, 3)])
def test_a_bolt_that_blocks_gets_a_replica_for_each_worker_and_needs_no_core(cores: int, workers: int, most: int) -> None:
    found = planned(bolt("a", "s"), et={"a": 0.1}, events=80 * 2, cores=cores, workers=workers, blocks="a")["a"]
    assert (found.asked, found.allowed, found.replicas) == (10, most, most)
    assert Clamp.CAPPED in found.clamps


def test_what_is_unmet_of_it_is_what_the_workers_cannot_wait_for() -> None:
    """160 events of 0.1 s in two seconds keep eight loops: four do half of it."""
    found = planned(bolt("a", "s"), et={"a": 0.1}, events=160, cores=1, workers=4, blocks="a")["a"]
    assert found.unmet == pytest.approx(80)


def test_it_leaves_the_cores_to_those_who_compute_as_far_as_their_loops_have_time() -> None:
    """`a` waits one of four loops' time; `b` computes as much as two cores can."""
    found = planned(bolt("a", "s"), bolt("b", "s"), et={"a": 0.1, "b": 0.2}, events=20, cores=2, workers=4, target=1.0, blocks="a")
    assert {name: (plan.allowed, plan.clamps, plan.unmet) for name, plan in found.items()} == {"a": (1, (), 0.0), "b": (2, (), 0.0)}


def test_both_share_the_loops_when_there_are_too_few() -> None:
    """`a` would keep four loops, `b` two; two loops do a third of either."""
    found = planned(bolt("a", "s"), bolt("b", "s"), et={"a": 0.4, "b": 0.2}, events=20, cores=2, workers=2, target=1.0, blocks="a")
    assert {name: plan.unmet for name, plan in found.items()} == {"a": pytest.approx(40 / 3), "b": pytest.approx(40 / 3)}
