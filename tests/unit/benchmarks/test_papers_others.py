"""DABS-Storm's claims, groupings of the thesis, BGElasor's costs, and what is said of our own policy beside the papers' systems."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.bgelasor import PAPER, Outcome
from benchmarks.papers import bgelasor
from benchmarks.papers.__main__ import EXPERIMENTS
from benchmarks.papers.ahead import TARGETS, Offer, best, ours
from benchmarks.papers.applications import (
    APPLICATIONS,
    GROUPINGS,
    INSENSITIVE,
    INSENSITIVE_CPU,
    LINEAR_SINGLE,
    SENSITIVE,
    SENSITIVE_COMPLEX,
    Application,
)
from benchmarks.papers.bgelasor import (
    CBA,
    OPTIMAL,
    PRICES,
    SPEA,
    SREA,
    Played,
    changes_later,
    cheapest_first,
    errors_of,
    known,
    moves_more,
    played,
)
from benchmarks.papers.dabs import BESIDE, FIGURES, OSG, Claim, Figure, judged, plateau_latency, runs_of
from benchmarks.papers.drawings import draw
from benchmarks.papers.inputs import MADE_UP, PLATEAU, read_rows
from benchmarks.papers.pa_sps import DATASETS, MODELS, complex_runs, other_runs, run_of, storm_runs
from benchmarks.papers.report import Drawing
from benchmarks.papers.runs import Course, Laboratory, Run, graph_for, simulated
from benchmarks.papers.thesis import AWARE, GROUPING_FIGURE, grouping_columns, grouping_runs, pool_runs, predecessor, reactive_runs
from benchmarks.papers.thesis import complex_runs as reactive_complex_runs
from benchmarks.papers.verdict import Verdict
from pasps.api.groupings import Grouping
from pasps.control.policies import policy_named
from pasps.control.policies.epochs import cost
from pasps.control.situation import PolicySettings
from pasps.simulation.arrivals import Arrivals

# ---- claims


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"a": 10.0, "b": 16.0}, Verdict.REPRODUCED),
        ({"a": 10.0, "b": 10.5}, Verdict.IN_PART),
        ({"a": 10.0, "b": 9.0}, Verdict.NOT),
        ({"a": 10.0, "b": 200.0}, Verdict.IN_PART),
    ],
)
def test_a_claim_with_a_factor_is_judged_by_what_is_more_than_equal(values: dict[str, float], said: Verdict) -> None:
    assert judged(Claim("b uses 64 % more than a", "replicas", ["a"], ["b"], 1.64), values)[0] is said


def test_a_claim_without_one_is_judged_by_its_direction() -> None:
    claim = Claim("a is quickest", "latency", ["a"], ["b", "c"])
    assert judged(claim, {"a": 1.0, "b": 1.1, "c": 2.0})[0] is Verdict.REPRODUCED
    assert judged(claim, {"a": 1.0, "b": 1.0, "c": 2.0})[0] is Verdict.NOT


def test_two_must_each_have_less_than_all_others() -> None:
    claim = Claim("c uses most", "replicas", ["a", "b"], ["c"])
    assert judged(claim, {"a": 1.0, "b": 2.0, "c": 3.0})[0] is Verdict.REPRODUCED
    assert judged(claim, {"a": 1.0, "b": 3.5, "c": 3.0})[0] is Verdict.NOT


def test_what_is_said_to_be_alike_is_within_a_factor_of_ten() -> None:
    claim = Claim("all lose alike", "lost", ["a", "b"], [], alike=True)
    assert judged(claim, {"a": 0.02, "b": 0.15})[0] is Verdict.REPRODUCED
    assert judged(claim, {"a": 0.01, "b": 0.15})[0] is Verdict.NOT
    assert judged(claim, {"a": 0.0, "b": 0.15})[0] is Verdict.NOT


def test_latency_at_the_plateau_is_of_its_samples_alone() -> None:
    first, last = (second // 5 for second in PLATEAU)
    inside = Course((1,), (1.0,), (1.0,), tuple(2.0 if first <= step < last else 9.0 for step in range(240)), 0.0, 0.0, 0)
    assert plateau_latency(inside) == 2.0
    assert plateau_latency(Course((1,), (1.0,), (1.0,), (None,) * 240, 0.0, 0.0, 0)) == math.inf


class Learned(Laboratory):
    """A laboratory in which nothing needs to be learnt."""

    def __init__(self) -> None:
        pass

    def learned(self, run: Run) -> Run:
        return run


@pytest.mark.parametrize("figure", FIGURES, ids=[each.name for each in FIGURES])
def test_a_figure_names_systems_that_there_are(figure: Figure) -> None:
    runs = runs_of(figure, Learned())
    named = set(figure.lost).union(*({*claim.less, *claim.more} for claim in figure.claims))
    assert named <= set(runs)
    for run in runs.values():
        assert APPLICATIONS[run.application].graph("x", run.pool, 1, run.grouping).capacity() > max(MADE_UP[run.trace]())


def test_all_systems_have_osg_where_values_count_and_each_other_grouping_beside_it() -> None:
    (figure,) = (each for each in FIGURES if each.number == 14)
    runs = runs_of(figure, Learned())
    assert {run.grouping for name, run in runs.items() if "," not in name} == {OSG}
    assert {run.grouping for run in runs.values()} == {OSG, *BESIDE}
    assert len(runs) == 9


# ---- applications


@pytest.mark.parametrize("application", [SENSITIVE, SENSITIVE_COMPLEX])
def test_values_change_what_one_event_takes_and_not_what_all_take(application: Application) -> None:
    graph = application.graph("x", 4, 1, OSG)
    found = application.with_values(graph)
    before, after = ({bolt.id: bolt for bolt in each.bolts} for each in (graph, found))
    assert after[application.sensitive].et_seconds == pytest.approx(before[application.sensitive].et_seconds)
    dearest, cheapest = after[application.sensitive].et_by_class[-1], after[application.sensitive].et_by_class[0]
    assert dearest == pytest.approx(len(found.classes) * cheapest)
    assert {edge.grouping for bolt in found.bolts for edge in bolt.inputs if bolt.id != application.sensitive} == {Grouping.LOAD_AWARE}
    assert {edge.grouping for edge in after[application.sensitive].inputs} == {GROUPINGS[OSG]}
    assert application.detail(Arrivals.of([30.0, 60.0])).exact


def test_events_are_alike_where_no_bolt_looks_at_them() -> None:
    graph = INSENSITIVE.graph("x", 4, 1)
    assert INSENSITIVE.with_values(graph) is graph
    assert not INSENSITIVE.detail(Arrivals.of([30.0])).exact


def test_bolts_that_compute_share_the_cores_and_others_have_one_each() -> None:
    waiting, computing = INSENSITIVE.graph("x", 24, 1), INSENSITIVE_CPU.graph("x", 18, 1)
    assert [bolt.execution for bolt in waiting.bolts] == ["thread", "thread"]
    assert [bolt.execution for bolt in computing.bolts] == ["inline", "thread"]
    assert (computing.workers, computing.cores) == (18, 18)
    assert [shape.waits for shape in computing.shape.bolts] == [False, True]


@pytest.mark.parametrize("application", ["insensitive, computing", "simple sensitive"])
def test_what_computes_waits_as_long_where_rates_are_learned(application: str) -> None:
    run = Run("progressive", "rlearning", application=application, pool=18)
    graphs = graph_for(run), graph_for(run, plain=True)
    assert [[bolt.execution for bolt in graph.bolts] for graph in graphs] == [["inline", "thread"], ["thread", "thread"]]
    assert all(bolt.one_queue for bolt in graphs[1].bolts)
    assert [bolt.et_seconds for bolt in graphs[0].bolts] == [bolt.et_seconds for bolt in graphs[1].bolts]


def test_where_events_are_single_the_grouping_is_that_of_all_edges_and_replicas_have_their_own_queues() -> None:
    graph = LINEAR_SINGLE.graph("x", 4, 1, "load-aware, Storm's")
    assert {edge.grouping for bolt in graph.bolts for edge in bolt.inputs} == {Grouping.LOAD_AWARE_STORM}
    assert not any(bolt.one_queue for bolt in graph.bolts)
    assert LINEAR_SINGLE.with_values(graph) is graph
    assert LINEAR_SINGLE.detail(Arrivals.of([30.0, 60.0])).exact


# ---- groupings of the thesis


def test_groupings_are_compared_on_a_tenth_of_the_events_each_ten_times_as_dear() -> None:
    runs = grouping_runs(6)
    assert [run.grouping for run in runs.values()] == ["shuffle", *AWARE.values()]
    assert all(replace(run, grouping="shuffle") == runs["shuffle"] for run in runs.values())
    graph, usual = (graph_for(each) for each in (runs["shuffle"], predecessor(6)))
    assert [bolt.et_seconds for bolt in graph.bolts] == pytest.approx([10 * bolt.et_seconds for bolt in usual.bolts])
    assert (graph.buffer, {bolt.pool for bolt in graph.bolts}) == (10_000, {12})


def test_a_tenth_of_a_trace_is_a_tenth_of_each_row(tmp_path: Path) -> None:
    folder = tmp_path / "rates" / "pa-sps"
    folder.mkdir(parents=True)
    (folder / "sbac.csv").write_text("time,value\n0,20\n1,5\n")
    assert read_rows(tmp_path, "a-tenth:sbac") == [2.0, 0.5]


def test_groupings_are_judged_by_the_means_of_the_published_curves() -> None:
    figure = {"input": {5: 1.0}, "Latency (Shuffle)": {5: 100.0, 10: 300.0}, "Latency (Load-Aware)": {5: 40.0, 10: 60.0}}
    as_code, as_text, own = grouping_columns(
        figure, {"shuffle": 100.0, "load-aware, Storm's": 20.0, "load-aware, the paper's": 150.0, "load-aware": 10.0}
    )
    assert as_code.printed == as_text.printed == {"shuffle": 200.0, "load-aware": 50.0}
    assert (as_code.verdict, as_text.verdict) == (Verdict.REPRODUCED, Verdict.IN_PART)
    assert (own.printed, own.ours) == ({}, {"shuffle": 100.0, "load-aware": 10.0})


@pytest.mark.parametrize(("application", "different"), [("linear", 1), ("linear, event by event", 2)])
def test_groupings_can_differ_event_by_event_and_in_parcels_they_cannot(application: str, different: int) -> None:
    base = Run("made", "static", application=application, slower=10.0, seconds=20, replicas=4)
    courses = [simulated(replace(base, grouping=each), [120.0] * 30) for each in ("shuffle", "load-aware, Storm's")]
    assert [each.processed for each in courses] == pytest.approx([1.0, 1.0], abs=0.01)
    assert len({each.latency for each in courses}) == different


def test_the_experiment_with_groupings_tells_both_values_and_a_verdict_for_each_reading(tmp_path: Path) -> None:
    folder = tmp_path / "rates" / "pa-sps"
    folder.mkdir(parents=True)
    rows = [float(second * 37 % 101) for second in range(1300)]
    (folder / "sbac.csv").write_text("time,value\n" + "".join(f"{second},{rate}\n" for second, rate in enumerate(rows)))
    lines = [f"{second},input,{sum(rows[second - 5 : second])}" for second in range(5, 1201, 5)]
    lines += [f"{second},Latency ({name}),{value}" for name, value in (("Shuffle", 80), ("Load-Aware", 20)) for second in (5, 10)]
    (tmp_path / "paper-curves").mkdir()
    (tmp_path / "paper-curves" / f"{GROUPING_FIGURE}.csv").write_text("\n".join(["time_seconds,series,value", *lines]))
    lab = Laboratory(tmp_path, tmp_path / "cache", 1)
    for run, latency in zip(grouping_runs(0).values(), (0.1, 0.03, 0.15, 0.01), strict=True):
        (lab.cache / f"{run.key}.json").write_text(json.dumps({"course": asdict(course(4, latency))}))
    report = EXPERIMENTS["thesis-grouping"].make(lab)
    assert list(report.verdicts.values()) == [Verdict.REPRODUCED, Verdict.IN_PART]
    assert "80.0, 100.0" in report.parts[0]
    assert "20.0, 30.0" in report.parts[0]
    (drawing,) = report.drawings
    assert drawing.ours["shuffle"] == ([5.0, 10.0], [100.0, 100.0])
    assert (drawing.theirs["load-aware, Storm's"], "load-aware" in drawing.theirs) == (([5.0, 10.0], [20.0, 20.0]), False)


# ---- costs


def test_policies_are_played_epoch_by_epoch_as_the_worked_example_has_it() -> None:
    inputs = [250.0, 250.0, 330.0, 420.0, 380.0, 290.0, 310.0, 430.0, 200.0, 210.0, 390.0]
    game = played(inputs, known(inputs, 10), 100.0)
    assert game[SPEA].replicas == [3, 4, 5, 4, 3, 4, 5, 2, 3, 4] == game[SPEA].base
    assert game[SREA].replicas == [3, 3, 4, 5, 4, 3, 4, 5, 2, 3]
    assert (game[SPEA].cost, game[SREA].cost, game[SPEA].short, game[SREA].short) == (55_900, 42_800, 0, 6)
    assert game[CBA].replicas == [3, 4, 5, 4, 4, 4, 5, 3, 3, 4]
    assert game[CBA].cost == game[OPTIMAL].cost == cost([3, 4, 5, 4, 4, 4, 5, 3, 3, 4], game[CBA].base, PRICES) == 51_600
    assert (game[SPEA].changes, game[CBA].changes) == (9, 6)


def test_the_costs_of_all_epochs_are_the_cost() -> None:
    one = Played([3, 4, 4, 2], [3, 3, 4, 1])
    assert one.costs == [0, 8_000 + 5_100, 0, 8_000 + 10_100]
    assert sum(one.costs) == one.cost
    assert one.moves == [0, 1, 0, 2]


def game(srea: list[int], spea: list[int], cba: list[int], base: list[int]) -> dict[str, Played]:
    return {SREA: Played(srea, base), SPEA: Played(spea, base), CBA: Played(cba, base)}


def test_who_is_cheapest_at_first_is_told_of_two_epochs() -> None:
    found = game([3, 3, 9, 9], [3, 4, 4, 4], [4, 4, 4, 4], [3, 4, 4, 4])
    assert cheapest_first(found)
    assert not cheapest_first(found, 1)
    assert not cheapest_first(game([3, 3], [3, 3], [3, 4], [3, 3]))  # as cheap as another


@pytest.mark.parametrize(
    ("srea", "spea", "cba", "later"),
    [(3, 2, 2, True), (11, 10, 9, True), (99, 2, 10, True), (2, 2, 1, False), (2, 1, 3, False), (99, 11, 2, False), (99, 99, 99, False)],
)
def test_who_changes_later_is_told_of_the_first_ten_epochs(srea: int, spea: int, cba: int, later: bool) -> None:
    def changed(epoch: int) -> list[int]:
        return [3 if each < epoch else 4 for each in range(15)]

    assert changes_later(game(changed(srea), changed(spea), changed(cba), [3] * 15)) is later


def test_who_starts_and_stops_more_is_told_of_what_comes_after_the_tenth_epoch() -> None:
    flat, early, late, twice = [3] * 14, [3, 9, *[3] * 12], [*[3] * 11, 4, 4, 4], [*[3] * 11, 5, 3, 3]
    assert moves_more(game(twice, late, early, flat))
    assert not moves_more(game(early, late, flat, flat))
    assert not moves_more(game(late, late, flat, flat))


def test_figures_4_and_5_have_a_verdict_for_each_claim_and_ours_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = game([3] * 4 + [4] * 9 + [6], [4] * 2 + [3] * 11 + [4], [4] * 3 + [3] * 11, [3] * 14)
    monkeypatch.setattr(bgelasor, "_games", lambda lab: {"load, `svr`": {**found, OPTIMAL: found[CBA]}})
    lab = Laboratory(tmp_path, tmp_path)
    costs, changes = (EXPERIMENTS[f"bgelasor-figure-{number}"].make(lab) for number in (4, 5))
    assert [(name.rsplit(": ")[1], verdict) for name, verdict in {**costs.verdicts, **changes.verdicts}.items()] == [
        ("CBA costs less than SPEA", Verdict.REPRODUCED),
        ("SREA costs least in epochs 0 and 1", Verdict.REPRODUCED),
        ("CBA changes least", Verdict.REPRODUCED),
        ("SREA is short most often", Verdict.NOT),
        ("SREA changes later up to epoch 10", Verdict.REPRODUCED),
        ("SREA starts and stops more after epoch 10", Verdict.REPRODUCED),
    ]
    for report, name in ((costs, "bgelasor-figure-4-load-svr"), (changes, "bgelasor-figure-5-load-svr")):
        (drawing,) = report.drawings
        assert (set(drawing.ours), drawing.theirs, drawing.xlabel) == ({SREA, SPEA, CBA}, {}, "epoch")
        assert draw(drawing, tmp_path) == tmp_path / f"{name}.png"
    assert costs.drawings[0].ours[CBA][1][-1] == pytest.approx(found[CBA].cost / 1e6)


def test_curves_are_drawn_in_one_panel_or_each_in_its_own(tmp_path: Path) -> None:
    curves = {name: ([0.0, 1.0], [1.0, 2.0]) for name in ("a", "b", "c")}
    for together in (True, False):
        path = draw(Drawing(f"d{together}", "t", "y", curves, {"a": ([0.0], [1.0])}, together=together), tmp_path)
        assert path.read_bytes().startswith(b"\x89PNG")


def test_who_knows_what_comes_is_told_no_more_than_there_is() -> None:
    assert known([1.0, 2.0, 3.0, 4.0], 2) == [[2.0, 3.0], [3.0, 4.0], [4.0]]


def test_errors_are_means_over_the_seeds_on_the_scale_of_the_whole_load() -> None:
    def outcome(model: str, seed: int, error: float) -> Outcome:
        errors = {"z_rmse": error, "z_mae": error / 2, "rmse": 0.0, "mae": 0.0}
        return Outcome("periodic", model, seed, errors, errors, errors, 0.5, 1, 1.0, 1.0)

    rmse, mae = errors_of("periodic", PAPER["periodic"], [outcome(model, seed, seed) for model in PAPER["periodic"] for seed in (1, 2)])
    assert (rmse.ours["bigru"], mae.ours["bigru"], rmse.printed["bigru"]) == (0.75, 0.375, 0.490)


# ---- ours beside theirs


def course(replicas: float, latency: float, mean: float | None = None) -> Course:
    return Course((int(replicas),) * 3, (1.0,) * 2, (1.0,) * 2, (latency,) * 2, latency if mean is None else mean, math.nan, 0)


def test_the_one_that_saves_most_of_those_that_are_no_slower_counts() -> None:
    offers = [Offer(0.5, course(20, 0.1)), Offer(0.9, course(10, 0.2)), Offer(1.1, course(5, 0.3))]
    found = best(course(12, 0.2), offers, 32)
    assert found is not None
    assert found.target == 0.9
    assert best(course(12, 0.05), offers, 32) is None


def test_who_is_slower_in_either_mean_does_not_count() -> None:
    assert best(course(12, 0.2, 0.1), [Offer(0.9, course(10, 0.2, 0.15))], 32) is None


def test_ours_is_given_the_same_input_pool_and_time_and_nothing_else() -> None:
    run = Run("dns", "pa-sps", "lr", {"published": True}, start=23, application="complex", pool=6, seconds=60, slower=0.9)
    found = ours(run, 0.8)
    assert (found.trace, found.start, found.application, found.pool, found.seconds, found.slower) == ("dns", 23, "complex", 6, 60, 0.9)
    assert (found.policy, found.predictor, found.options, found.benchmarked) == ("pasps", "none", {"target": 0.8}, False)


# ---- what is run


def test_every_run_has_a_policy_that_takes_its_options() -> None:
    runs = [run_of(each.trace, model, 0) for each in DATASETS for model in each.rows]
    for group in (storm_runs(0), other_runs(0), complex_runs(0), reactive_complex_runs(0), reactive_runs(), pool_runs(), grouping_runs(0)):
        runs += group.values()
    runs += [ours(runs[0], target) for target in TARGETS]
    for run in runs:
        policy_named(run.policy).configured(PolicySettings(), run.options)


def test_all_twenty_curves_are_there() -> None:
    assert [(each.table, set(each.rows)) for each in DATASETS] == [(number, set(MODELS)) for number in (2, 6, 7, 8)]
    assert {figure.number for figure in FIGURES} <= set(range(12, 18))
