"""DS2: true rates by useful time, one step for all bolts from the sources' rate, a band, and what there is to catch up on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.control.plan import Clamp
from pasps.control.policies.ds2 import POLICY, Options, plan
from pasps.control.situation import BoltInterval, Situation
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

CHAIN = shape(bolt("a", "s", pool=40), bolt("b", "a", pool=40), bolt("c", "b", pool=40))
SELECTIVITY = {"a": {"s": 1.0}, "b": {"a": 2.0}, "c": {"b": 0.25}}
BARE = Options(target=1.0, band=0.0, catch_up_seconds=0.0)
"""As the paper has it."""


def deciding(rate: float = 100.0, backlog: int = 0, **bolts: BoltInterval) -> Situation:
    """At the end of ten seconds: a, b and c take 10, 20 and 40 ms."""
    ets = {"a": 0.01, "b": 0.02, "c": 0.04}
    did_ = {name: bolts.get(name, did(500, et)) for name, et in ets.items()}
    now = interval({"s": due(rate * 10, backlog=backlog)}, did_, seconds=10.0)
    return situation(CHAIN, now, known(CHAIN, dict(ets), SELECTIVITY))


def test_all_bolts_get_in_one_step_what_the_sources_rate_needs() -> None:
    """a takes 100 events a second for 10 ms each, b twice as many for 20 ms, c half of that for 40 ms: though none of them saw as many."""
    assert plan(deciding(), BARE).replicas == {"a": 1, "b": 4, "c": 2}
    assert plan(deciding(1000.0), BARE).replicas == {"a": 10, "b": 40, "c": 20}


def test_a_true_rate_is_by_useful_time_however_little_of_it_there_was() -> None:
    idle = deciding(b=did(10, 0.02), a=did(10_000, 0.01, active=20))
    assert plan(idle, BARE).replicas == {"a": 1, "b": 4, "c": 2}
    assert plan(deciding(b=did(500, 0.04)), BARE).replicas["b"] == 8


def test_several_calls_at_a_time_are_several_times_the_rate() -> None:
    of = replace(CHAIN, bolts=(CHAIN.bolts[0], replace(CHAIN.bolts[1], concurrency=4, waits=True), CHAIN.bolts[2]))
    assert plan(replace(deciding(), shape=of), BARE).replicas["b"] == 1


def test_replicas_have_room_by_the_target() -> None:
    assert plan(deciding(), replace(BARE, target=0.8)).replicas == {"a": 2, "b": 5, "c": 3}


def test_what_waits_is_caught_up_on_by_all_that_it_passes() -> None:
    """200 events in the spout and 300 before b, within ten seconds: 20 a second more for a, 2 · 20 + 30 for b, a quarter of that for c."""
    behind = deciding(backlog=200, b=did(500, 0.02, queued=300))
    found = plan(behind, replace(BARE, catch_up_seconds=10.0))
    assert found.replicas == {"a": math.ceil(1.2), "b": math.ceil(5.4), "c": math.ceil((50 + 17.5) * 0.04)}
    assert plan(behind, BARE).replicas == {"a": 1, "b": 4, "c": 2}


def test_inside_of_the_band_nothing_changes() -> None:
    enough = {"a": did(500, 0.01, active=1), "b": did(500, 0.02, active=5), "c": did(500, 0.04, active=3)}
    banded = Options(target=0.7, band=0.3, catch_up_seconds=0.0)
    found = plan(deciding(**enough), banded)
    assert found.changes == {}
    assert found.bolts["b"].reasons[0].text == "busy 80% of their time; no bolt that could change is beyond 40% to 100%"


def test_one_bolt_outside_of_it_moves_all_to_their_targets() -> None:
    enough = {"a": did(500, 0.01, active=1), "b": did(500, 0.02, active=3), "c": did(500, 0.04, active=3)}
    found = plan(deciding(**enough), Options(target=0.7, band=0.3, catch_up_seconds=0.0))
    assert found.replicas == {"a": 2, "b": 6, "c": 3}


def test_a_single_replica_without_work_moves_nobody() -> None:
    quiet = deciding(a=did(500, 0.0001, active=1), b=did(500, 0.02, active=5), c=did(500, 0.04, active=3))
    assert plan(quiet, Options(catch_up_seconds=0.0)).changes == {}


def test_no_more_than_the_pool() -> None:
    planned = plan(deciding(1200.0), BARE).bolts["b"]
    assert (planned.asked, planned.replicas, planned.clamps) == (48, 40, (Clamp.AT_POOL,))


def test_who_did_nothing_now_has_the_rate_that_it_had_and_who_never_did_stays() -> None:
    assert plan(deciding(b=did(0)), BARE).replicas["b"] == 4
    unknown = replace(deciding(b=did(0, active=3)), estimates=known(CHAIN, {"a": 0.01, "b": None, "c": 0.04}, SELECTIVITY))
    planned = plan(unknown, BARE).bolts["b"]
    assert (planned.replicas, planned.clamps) == (3, (Clamp.UNKNOWN,))


@given(
    st.floats(0, 2000),
    st.lists(st.floats(0.0001, 0.1), min_size=3, max_size=3),
    st.lists(st.floats(0, 3), min_size=3, max_size=3),
    st.floats(0.1, 1),
)
def test_it_does_what_the_paper_says(rate: float, ets: list[float], thetas: list[float], target: float) -> None:
    """Spelled out: an operator's rate is the true output of those before it, its parallelism that by the true rate of one."""
    names = "abc"
    estimates = known(CHAIN, dict(zip(names, ets, strict=True)), {n: {s: t} for n, s, t in zip(names, "sab", thetas, strict=True)})
    bolts = {name: did(1000, et) for name, et in zip(names, ets, strict=True)}
    now = situation(CHAIN, interval({"s": due(rate * 10)}, bolts, seconds=10.0), estimates)
    found = plan(now, replace(BARE, target=target))
    flow = rate
    for name, et, theta in zip(names, ets, thetas, strict=True):
        flow *= theta
        exactly = flow / target / (1000 / bolts[name].seconds)
        asked = found.bolts[name].asked
        assert asked == max(1, math.ceil(exactly - 1e-6)) or asked == max(1, math.ceil(exactly - 1e-12)), (name, et)


def test_what_the_loop_gathers_for_it() -> None:
    assert (POLICY.needs.interval_seconds, POLICY.needs.history_seconds, POLICY.forecasts) == (None, 0, False)


@pytest.mark.parametrize("how", ["pool", "restart"])
def test_how_the_change_is_made_is_an_option(how: str) -> None:
    assert plan(deciding(), Options(reconfigure=how)).reconfigure == how  # type: ignore[arg-type]
