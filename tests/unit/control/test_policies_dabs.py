"""DABS-Storm's AUTOSCALE+: its equations on a worked example, what stands for threads and cores, and the window of rest."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pasps.control.plan import BoltPlan, Clamp, Plan
from pasps.control.policies.dabs import POLICY, Options, plan, usable_cpu
from pasps.control.policies.regression import Fit, best_fit
from pasps.control.situation import BoltSecond, ReplicaInterval, Second, Situation, WorkerInterval
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

O1 = [100, 110, 120, 130, 140, 150, 160, 170, 180, 190]
O2 = [60, 62, 61, 64, 66, 70, 73, 79, 86, 95]
CHAIN = shape(bolt("o1", "s", pool=40), bolt("o2", "o1", pool=40))
EXAMPLE = Options(reserved=0.4)


def seconds_of(**received: list[int]) -> tuple[Second, ...]:
    """The last seconds of the history, up to 100; by bolt, what it received."""
    (length,) = {len(counts) for counts in received.values()}
    bolts = [{name: BoltSecond(counts[at], counts[at], 0, 1) for name, counts in received.items()} for at in range(length)]
    return tuple(Second(100.0 - length + at + 1, 1.0, 0.0, each) for at, each in enumerate(bolts))


def example(k: int, **changes: Any) -> Situation:
    """O2 with k replicas, of which one shares its core with a thread that uses a fifth of it."""
    bolts = {"o1": did(1450, 0.001, queued=50), "o2": did(716, 0.008, queued=100, active=k)}
    now = interval({"s": due(1450)}, bolts, seconds=10.0, workers=k, cores=k)
    replicas = {
        "o1": {0: ReplicaInterval("w0", "ACTIVE", 1450, 2.0, 2.0, 50)},
        "o2": {index: ReplicaInterval(f"w{index}", "ACTIVE", 100, 5.0, 5.0, 20) for index in range(k)},
    }
    estimates = known(CHAIN, {"o1": 0.001, "o2": 0.008}, {"o2": {"o1": 0.8}})
    return situation(CHAIN, now, estimates, **{"history": seconds_of(o1=O1, o2=O2), "replicas": replicas, **changes})


def said(planned: BoltPlan, label: str) -> list[str]:
    return [reason.text for reason in planned.reasons if reason.label == label]


# ---- the worked example


def test_the_regressions_of_the_example() -> None:
    first, second = best_fit(O1), best_fit(O2)
    assert (first.kind, first.ahead(10)) == ("linear", pytest.approx(2450.0))
    assert (second.kind, round(second.ahead(10), 1)) == ("exponential", 1173.5)
    errors = {kind: round(best_fit(series, (kind,)).error, 1) for series in (O2,) for kind in ("linear", "logarithmic", "exponential")}  # type: ignore[arg-type]
    assert errors == {"linear": 136.9, "logarithmic": 423.8, "exponential": 96.5}
    assert [round(best_fit(O1, (kind,)).error, 1) for kind in ("logarithmic", "exponential")] == [778.3, 69.9]  # type: ignore[arg-type]


def test_the_input_that_is_estimated() -> None:
    found = plan(example(2), EXAMPLE)
    assert said(found.bolts["o1"], "input") == ["2,500 in the next 10 s: 2,450 by the linear regression of 10 s, + 50 pending"]
    assert said(found.bolts["o2"], "input") == [
        "2,100 in the next 10 s: max of 1,173.51 by the exponential regression of 10 s and 2,000 by its parents, + 100 pending"
    ]


def test_the_smaller_of_regression_and_parents_where_that_is_wanted() -> None:
    found = plan(example(2), replace(EXAMPLE, combine="min"))
    assert said(found.bolts["o2"], "input")[0].startswith("1,273.51 in the next 10 s: min of")


def test_usable_cpu_has_its_weight_on_the_maximum_alone() -> None:
    assert usable_cpu(example(2), EXAMPLE)["o2"] == pytest.approx(0.55)
    assert said(plan(example(2), EXAMPLE).bolts["o2"], "capacity") == ["10 s / 8 ms x 0.55 usable CPU = 687.5 a replica"]


@pytest.mark.parametrize(
    ("k", "alpha", "replicas", "headline"),
    [
        (2, 1.0, 5, "idealK 3.05, working interval 1.6 to 2: scale-out"),
        (3, 1.0, 5, "idealK 3.05, working interval 2.4 to 3: scale-out"),
        (4, 1.0, 4, "idealK 3.05, working interval 3.2 to 4: below it, but none can be spared"),
        (5, 1.0, 4, "idealK 3.05, working interval 4 to 5: scale-in"),
        (2, 0.3, 14, "idealK 3.05, working interval 1.6 to 2: scale-out"),
        (3, 0.3, 14, "idealK 3.05, working interval 2.4 to 3: scale-out"),
        (4, 0.3, 4, "idealK 3.05, working interval 3.2 to 4: below it, but none can be spared"),
        (5, 0.3, 4, "idealK 3.05, working interval 4 to 5: scale-in"),
    ],
)
def test_the_degree_of_the_example(k: int, alpha: float, replicas: int, headline: str) -> None:
    planned = plan(example(k), replace(EXAMPLE, alpha=alpha)).bolts["o2"]
    assert (planned.replicas, said(planned, "needs")[0]) == (replicas, headline)


def test_the_degree_after_a_change_is_that_of_what_is_reserved() -> None:
    assert said(plan(example(2), EXAMPLE).bolts["o2"], "needs")[1] == "k' = 5 on what each has reserved"
    assert said(plan(example(2), replace(EXAMPLE, alpha=0.3)).bolts["o2"], "needs")[1] == "k' = 14 on what each has reserved x 0.3"


def test_scale_in_goes_to_what_the_window_asks_for_and_no_lower() -> None:
    """A whole core reserved for each would do with two, by what they can have now three are not enough."""
    planned = plan(example(20), Options(reserved=1.0)).bolts["o2"]
    usable = usable_cpu(example(20), Options(reserved=1.0))["o2"]
    assert planned.replicas == math.ceil(2100 / (1250 * usable)) == 3
    assert said(planned, "needs")[1] == "k' = 2 on what each has reserved"


def test_no_more_than_the_pool() -> None:
    small = shape(bolt("o1", "s", pool=40), bolt("o2", "o1", pool=4))
    planned = plan(replace(example(2), shape=small), EXAMPLE).bolts["o2"]
    assert (planned.asked, planned.replicas, planned.clamps) == (5, 4, (Clamp.AT_POOL,))


# ---- AUTOSCALE, without the plus


def test_autoscale_knows_no_cpu_no_other_curves_and_no_working_interval() -> None:
    before = Options(variant="autoscale", reserved=0.4, alpha=0.3, beta=0.1)
    found = plan(example(2), before).bolts["o2"]
    assert said(found, "input")[0].startswith("2,100 in the next 10 s: max of 1,082.06 by the linear regression")
    assert said(found, "capacity") == ["10 s / 8 ms = 1,250 a replica"]
    assert (found.replicas, said(found, "needs")) == (2, ["idealK 1.68, working interval 2 to 2: below it, but none can be spared"])
    assert [plan(example(k), before).bolts["o2"].replicas for k in (1, 2, 3, 9)] == [2, 2, 2, 2]


# ---- what a thread and a core are here


def cpu_of(*used: float, process: float | None = None, cores: int | None = None, **options: Any) -> float:
    """Usable CPU of bolt `o1`, one thread of several in a worker that used so much of a core each."""
    of = shape(*(bolt(f"o{at + 1}", "s") for at in range(len(used))))
    now = interval({"s": due(0)}, {b.id: did(10, 0.01) for b in of.bolts}, seconds=10.0, cores=1)
    replicas = {f"o{at + 1}": {0: ReplicaInterval("w0", "ACTIVE", 10, 10 * use, 10 * use, 0)} for at, use in enumerate(used)}
    workers = {"w0": WorkerInterval("here", cores, None if process is None else 10 * process), "w1": WorkerInterval("here", cores, None)}
    found = situation(of, now, known(of, {b.id: 0.01 for b in of.bolts}), replicas=replicas, workers=workers)
    return usable_cpu(found, Options(**{"reserved": 0.4, **options}))["o1"]


def test_what_others_use_is_not_to_be_had() -> None:
    assert cpu_of(0.5, 0.2) == pytest.approx(0.3 * 0.5 + 0.8 / 2)
    assert cpu_of(0.1, 0.2, 0.3) == pytest.approx(0.3 * 0.4 + 0.5 / 3), "what is reserved where less is used"


def test_what_the_process_does_besides_its_replicas_is_used_too() -> None:
    assert cpu_of(0.5, 0.2, process=0.9) == pytest.approx(0.3 * 0.5 + 0.6 / 2)
    assert cpu_of(0.5, 0.2, process=0.1) == cpu_of(0.5, 0.2), "it was told a moment earlier"


def test_nobody_has_more_than_a_core_nor_than_its_part_of_one() -> None:
    assert cpu_of(0.9, reserved=1.0) == 1.0
    assert cpu_of(0.2, cores=1) == pytest.approx(0.5), "two workers share one core"
    assert cpu_of(0.1, 0.9, cores=1, weight=0.0) == 0.0


def test_the_worst_off_of_its_replicas_counts_and_only_those_that_are_active() -> None:
    now = example(3)
    replicas = {name: dict(each) for name, each in now.replicas.items()}
    replicas["o2"][2] = ReplicaInterval("w0", "PARKED", 0, 0.0, 0.0, 0)
    assert usable_cpu(replace(now, replicas=replicas), EXAMPLE)["o2"] == pytest.approx(0.55)
    replicas["o2"][2] = ReplicaInterval("w0", "ACTIVE", 0, 0.0, 0.0, 0)
    assert usable_cpu(replace(now, replicas=replicas), EXAMPLE)["o2"] == pytest.approx(0.3 * 0.4 + 0.3 / 3)


@pytest.mark.parametrize("waits", [{"waits": True}, {"waits": True, "concurrency": 2}, {}])
def test_a_bolt_that_waits_needs_no_cpu(waits: dict[str, Any]) -> None:
    """Of its CPU nothing is known, and nobody holds it up: a replica does what its time allows, one call at a time or several."""
    of = shape(bolt("o1", "s", pool=40), bolt("o2", "o1", pool=40, **waits))
    now = example(2)
    blocking = replace(now.interval, bolts={**now.interval.bolts, "o2": structs.replace(now.interval.bolts["o2"], blocks=not waits)})
    replicas = {**now.replicas, "o2": {index: structs.replace(each, cpu=None) for index, each in now.replicas["o2"].items()}}
    planned = plan(replace(now, shape=of, interval=blocking, replicas=replicas), EXAMPLE).bolts["o2"]
    at_a_time = waits.get("concurrency", 1)
    each = " x 2 at a time = 2,500" if at_a_time == 2 else " = 1,250"
    assert said(planned, "capacity") == [f"10 s / 8 ms{each} a replica"]
    assert planned.replicas == (2 if at_a_time == 1 else 1)


def test_what_a_spout_holds_back_waits_before_the_bolts_that_read_it() -> None:
    now = example(2)
    held = replace(now.interval, spouts={"s": due(1450, backlog=300)})
    assert said(plan(replace(now, interval=held), EXAMPLE).bolts["o1"], "input")[0].endswith("+ 350 pending")


# ---- the window of rest


def test_a_window_in_which_replicas_changed_is_not_looked_at() -> None:
    first = plan(example(2), EXAMPLE)
    assert first.memory == {"active": {"o1": 1, "o2": 2}}
    resting = plan(example(5, memory=first.memory), EXAMPLE)
    assert resting.changes == {}
    assert resting.bolts["o1"].reasons[0].text == "replicas have changed since the last decision: this window is not looked at"
    again = plan(example(5, memory=resting.memory), EXAMPLE)
    assert again.replicas["o2"] == 4


def test_a_change_that_did_not_come_about_is_tried_again() -> None:
    first = plan(example(2), EXAMPLE)
    assert plan(example(2, memory=first.memory), EXAMPLE).replicas == first.replicas


# ---- what else


def test_a_bolt_of_which_nothing_is_known_stays() -> None:
    now = example(2)
    planned = plan(replace(now, estimates=known(CHAIN, {"o1": 0.001, "o2": None})), EXAMPLE).bolts["o2"]
    assert (planned.replicas, planned.clamps) == (2, (Clamp.UNKNOWN,))


def test_without_a_measurement_queues_and_parents_are_all_there_is() -> None:
    found = plan(example(2, history=()), EXAMPLE)
    assert said(found.bolts["o1"], "input") == ["50 in the next 10 s: nothing measured yet, + 50 pending"]
    assert said(found.bolts["o2"], "input")[0].startswith("140 in the next 10 s: max of nothing measured yet and 40 by its parents")


def test_a_bolt_that_reads_a_spout_and_a_bolt_is_to_get_of_both() -> None:
    of = shape(bolt("a", "s"), bolt("b", "a", "s"))
    bolts = {"a": did(100, 0.01), "b": did(250, 0.01, received={"a": 100, "s": 150})}
    now = interval({"s": due(100)}, bolts, seconds=10.0)
    found = plan(situation(of, now, known(of, {"a": 0.01, "b": 0.01}), history=seconds_of(a=[10] * 10, b=[0] * 10)), Options())
    assert "and 250 by its parents" in said(found.bolts["b"], "input")[0]


def test_what_the_loop_gathers_for_it() -> None:
    needs = POLICY.needs
    assert (needs.interval_seconds, needs.history_seconds, needs.replicas, needs.corrects, POLICY.forecasts) == (
        10.0,
        60,
        True,
        False,
        False,
    )


def test_a_restart_is_asked_for_where_that_is_wanted() -> None:
    assert isinstance(found := plan(example(2), replace(EXAMPLE, reconfigure="restart")), Plan)
    assert found.reconfigure == "restart"
    assert plan(example(2), EXAMPLE).reconfigure == "pool"


# ---- regressions


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=60))
def test_the_best_fit_is_no_worse_than_a_line_of_least_squares(measured: list[float]) -> None:
    """Against the normal equations, solved directly."""
    n, ts = len(measured), list(range(1, len(measured) + 1))
    sums = (sum(ts), sum(measured), sum(t * t for t in ts), sum(t * y for t, y in zip(ts, measured, strict=True)))
    b = (n * sums[3] - sums[0] * sums[1]) / (n * sums[2] - sums[0] ** 2)
    a = (sums[1] - b * sums[0]) / n
    error = sum((a + b * t - y) ** 2 for t, y in zip(ts, measured, strict=True))
    scale = sum(y * y for y in measured)
    fit = best_fit(measured)
    assert fit.error <= error + 1e-6 * scale + 1e-9
    assert 0 <= fit.ahead(10.0) <= 1e15


@pytest.mark.parametrize(
    ("measured", "kind"),
    [([5.0], "linear"), ([5.0] * 10, "linear"), ([0.0] * 10, "linear"), ([7 * math.log(t) + 2 for t in range(1, 11)], "logarithmic")],
)
def test_a_series_without_a_curve_is_a_line(measured: list[float], kind: str) -> None:
    assert best_fit(measured).kind == kind


def test_half_a_second_more_counts_by_half() -> None:
    assert Fit("linear", 0.0, 1.0, 0.0, 10).ahead(2.5) == pytest.approx(11 + 12 + 13 / 2)
