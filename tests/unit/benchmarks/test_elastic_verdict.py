"""The aim, judged, and the tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.elasticity.outcomes import Numbers
from benchmarks.elasticity.result_table import result_table, verdict_text
from benchmarks.elasticity.verdict import Row, latency_at, verdict_of

PLAIN = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, None, None, 0, 0, 0, 10, 12, 900.0, 0.4)


def row(name: str, saved: float | None, mean: float | None, **changes: float) -> Row:
    policy = "pasps" if name.startswith("pasps") else "pa-sps" if name.startswith("pa-sps") else name.partition("-")[0]
    return Row(name, policy, replace(PLAIN, saved=saved, mean=mean, **changes))


OURS = [row("pasps-0.6", 0.2, 0.1), row("pasps-0.8", 0.4, 0.2), row("pasps-1", 0.5, 0.4)]


def test_the_curve_goes_straight_from_point_to_point() -> None:
    curve = [(0.2, 0.1), (0.4, 0.2), (0.5, 0.4)]
    assert latency_at(curve, 0.3) == pytest.approx(0.15)
    assert latency_at(curve, 0.45) == pytest.approx(0.3)
    assert latency_at(curve, 0.5) == 0.4


def test_what_saves_less_is_judged_by_the_first_point_and_what_saves_more_cannot_be() -> None:
    curve = [(0.2, 0.1), (0.4, 0.2)]
    assert latency_at(curve, 0.1) == 0.1
    assert latency_at(curve, 0.41) is None
    assert latency_at([], 0.1) is None


def test_the_aim_is_reached_when_every_point_lies_above() -> None:
    verdict = verdict_of([*OURS, row("presps", 0.45, 0.31), row("pa-sps-lr", 0.1, 0.11), row("static-8", 0.0, 0.08)])
    assert verdict.reached is True
    assert [(one.name, one.below) for one in verdict.judged] == [("presps", True), ("pa-sps-lr", True)]
    assert verdict.ratios == pytest.approx({"pasps-0.6": 1.25, "pasps-0.8": 2.5, "pasps-1": 5.0})


@pytest.mark.parametrize("point", [(0.45, 0.29), (0.51, 9.0)])
def test_one_point_below_or_beyond_the_curve_spoils_it(point: tuple[float, float]) -> None:
    assert verdict_of([*OURS, row("presps", 0.45, 0.31), row("pa-sps-lr", *point)]).reached is False


@pytest.mark.parametrize("missed", [{"processed": 0.9999}, {"lost": 1}])
def test_an_event_that_was_not_processed_spoils_it(missed: dict[str, float]) -> None:
    verdict = verdict_of([*OURS, row("pasps-0.9", 0.45, 0.2, **missed), row("presps", 0.45, 0.5)])
    assert (verdict.reached, verdict.incomplete) == (False, ("pasps-0.9",))


def test_plain_storm_is_not_among_the_papers_policies() -> None:
    assert verdict_of([*OURS, row("presps", 0.3, 1.0), row("static-4", 0.9, 0.01)]).reached is True


@pytest.mark.parametrize("rows", [[], OURS, [row("presps", 0.3, 1.0)]])
def test_without_both_sides_there_is_no_verdict(rows: list[Row]) -> None:
    verdict = verdict_of(rows)
    assert verdict.reached is None
    assert verdict_text(verdict).startswith("No verdict")


def test_who_finds_the_utilisation_itself_is_no_point_of_the_curve() -> None:
    keeps = replace(row("pasps-latency-0.2", 0.3, 9.0), latency_target=0.2)
    verdict = verdict_of([*OURS, keeps, row("presps", 0.3, 0.2)])
    assert [one.curve for one in verdict.judged] == [pytest.approx(0.15)]
    assert "pasps-latency-0.2" in verdict.runs


def test_who_knows_what_comes_is_told_apart_by_mean_and_p99() -> None:
    knows = replace(row("pa-sps-clairvoyant@1s", 0.3, 0.12, p99=0.6), policy="clairvoyant")
    verdict = verdict_of([*OURS, knows, row("presps", 0.3, 0.2)])
    assert verdict.reached is True
    assert [(one.what, one.latency) for one in verdict.beside] == [("mean", 0.12), ("p99", 0.6)]
    assert [one.curve for one in verdict.beside] == pytest.approx([0.15, 0.3])
    text = verdict_text(verdict)
    assert "| mean | 120 | 150             | 1.25  |" in text
    assert "| p99  | 600 | 300             | 0.50  |" in text


def test_the_verdict_says_which_point_and_why() -> None:
    text = verdict_text(verdict_of([*OURS, row("presps", 0.3, 0.2), row("pa-sps-ann", 0.6, 0.9)]))
    assert "| presps     | 30.0% | 200     | 150             | yes   |" in text
    assert "| pa-sps-ann | 60.0% | 900     | saves less      | NO    |" in text
    assert "NOT reached" in text


def test_the_table_has_every_number_with_a_dash_for_what_is_not_known() -> None:
    text = result_table("wc", [row("static-8", 0.0, 0.0805), Row("presps", "presps", replace(PLAIN, input_error=0.125), 3)])
    assert "| static-8           | 0.0%  | 2.0%        | all       | 80      | 90  | 200 | 300 | -          | -             |" in text
    assert "| presps (mean of 3) | 50.0% | 2.0%        | all       | 100     | 90  | 200 | 300 | 12.5%      | -             |" in text


def test_a_few_unprocessed_events_are_not_rounded_away() -> None:
    assert "99.99%" in result_table("wc", [row("static-4", 0.5, 0.1, processed=0.999999)])
