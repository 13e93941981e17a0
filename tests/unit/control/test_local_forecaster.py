"""Forecasts beside the loop: what is learned of a count as it grows, and what is said of the time to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from pasps.control import local_forecaster as module
from pasps.control.local_forecaster import MOST_STEPS, LocalForecaster, PlayerScore, local_forecaster
from pasps.control.policies.policy import INTERVAL, Needs
from pasps.control.situation import INPUT, Forecast, Player, PolicySettings


@dataclass
class Score:
    name: str
    cost: float
    weight: float


class Learning:
    """Expects as much as in the last step, and is wrong by a tenth of it each step."""

    def __init__(self, step_seconds: float, horizons: Sequence[int], *, quantiles: Sequence[float]) -> None:
        self.made = (step_seconds, list(horizons), tuple(quantiles))
        self.samples: list[float] = []
        made.append(self)

    def update(self, sample: float) -> None:
        self.samples.append(sample)

    def means(self, horizon: int) -> list[float]:
        return [self.samples[-1]] * horizon

    def offsets(self, levels: Sequence[float], horizon: int) -> list[list[float]]:
        return [[(level - 0.5) * 0.2 * self.samples[-1] * step for step in range(1, horizon + 1)] for level in levels]

    def scores(self, horizon: int) -> Sequence[PlayerScore]:
        return [Score("naive", 1.23456, 0.961), Score("other", 9.0, 0.039)]


made: list[Learning] = []


@pytest.fixture(autouse=True)
def _none_made() -> None:
    made.clear()


def told(*words: tuple[float, float], step: float = 1.0, quantiles: Sequence[float] = ()) -> LocalForecaster:
    local = LocalForecaster(Learning, step, [step], quantiles=quantiles)
    for at, count in words:
        local.learn(INPUT, at, count)
    return local


def test_each_step_brings_what_the_count_grew_by() -> None:
    told((0.0, 100.0), (1.0, 110.0), (2.0, 110.0), (3.0, 140.0))
    assert made[0].samples == [10.0, 0.0, 30.0]


def test_what_came_between_two_words_came_evenly_and_late_words_make_up_for_the_steps_that_they_missed() -> None:
    told((0.5, 0.0), (1.7, 12.0), (4.5, 40.0))
    assert made[0].samples == pytest.approx([10.0, 10.0, 10.0, 10.0])


def test_a_hurried_word_in_between_changes_no_step() -> None:
    told((0.0, 0.0), (0.4, 30.0), (0.4, 31.0), (0.2, 5.0), (1.0, 36.0))
    assert made[0].samples == pytest.approx([36.0])


def test_before_a_step_is_over_nothing_is_known() -> None:
    assert told().forecast(INPUT, 5.0, 0.0) is None
    assert told((0.0, 0.0), (0.9, 9.0)).forecast(INPUT, 5.0, 0.9) is None


def test_it_speaks_of_the_time_after_now_although_the_last_step_ended_a_moment_ago() -> None:
    found = told((10.0, 0.0), (11.0, 8.0), (11.5, 11.0)).forecast(INPUT, 3.0, 61.5)
    assert isinstance(found, Forecast)
    assert (found.made_at, found.step_seconds, found.model, found.source, found.why) == (61.0, 1.0, "auto", "predictor", "")
    assert len(found.predictions) == 4
    assert found.total(61.5, 3.0) == pytest.approx(24.0)


def test_series_are_learned_apart() -> None:
    local = told((0.0, 0.0), (1.0, 5.0))
    for at, count in ((0.0, 0.0), (1.0, 50.0)):
        local.learn("lookup", at, count)
    found = [local.forecast(name, 1.0, 1.0) for name in (INPUT, "lookup", "unknown")]
    assert [each and each.predictions for each in found] == [(5.0,), (50.0,), None]


def test_quantiles_are_of_running_sums_which_never_shrink_and_are_made_for_who_asks() -> None:
    words = (0.0, 0.0), (1.0, 10.0)
    found = told(*words, quantiles=(0.0, 0.5, 1.0)).forecast(INPUT, 3.0, 1.0, (0.0, 0.5, 1.0))
    assert found is not None
    assert found.quantiles == {0.0: pytest.approx((9.0, 18.0, 27.0)), 0.5: (10.0, 20.0, 30.0), 1.0: pytest.approx((11.0, 22.0, 33.0))}
    without = told(*words).forecast(INPUT, 3.0, 1.0, (0.5,))
    assert without is not None
    assert not without.quantiles


def test_who_has_a_part_of_the_forecast_is_named() -> None:
    found = told((0.0, 0.0), (1.0, 10.0)).forecast(INPUT, 1.0, 1.0)
    assert found is not None
    assert found.players == (Player("naive", 1.2346, 0.96),)


def test_no_forecast_is_longer_than_can_be_written_down_with_each_record() -> None:
    found = told((0.0, 0.0), (1.0, 10.0)).forecast(INPUT, 1e6, 1.0)
    assert found is not None
    assert len(found.predictions) == MOST_STEPS
    assert found.total(1.0, 1e6) == pytest.approx(1e7)


SETTINGS = PolicySettings(interval_seconds=30.0, correction_seconds=0.25)


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (Needs(horizon_seconds=INTERVAL), (1.0, [1, 30], ())),
        (Needs(horizon_seconds=INTERVAL, corrects=True, correction_horizon_seconds=1.0), (0.25, [1, 4, 120], ())),
        (Needs(horizon_seconds=600.0, quantiles=(0.9,)), (1.0, [1, MOST_STEPS], (0.9,))),
    ],
)
def test_it_learns_a_step_a_decision_and_is_judged_where_it_is_asked(
    needs: Needs, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "tournament", lambda: Learning)
    local = local_forecaster(needs, SETTINGS)
    assert local is not None
    local.learn(INPUT, 0.0, 0.0)
    assert made[0].made == expected


def test_where_there_are_no_models_there_is_no_forecaster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WHERE", "predictor_service.nothing_of_that_name")
    assert local_forecaster(Needs(horizon_seconds=INTERVAL), SETTINGS) is None


def test_the_services_tournament_follows_what_it_is_told() -> None:
    needs = Needs(horizon_seconds=INTERVAL, corrects=True, correction_horizon_seconds=1.0, quantiles=(0.1, 0.9))
    local = local_forecaster(needs, SETTINGS)
    assert local is not None
    for step in range(4000):
        local.learn(INPUT, step * 0.25, step * 10.0 + (0.0, 3.0, -2.0, 1.0)[step % 4])
    found = local.forecast(INPUT, 10.0, 3999 * 0.25, (0.1, 0.9))
    assert found is not None
    assert found.total(found.made_at, 10.0) == pytest.approx(400.0, rel=0.02)
    low, high = (found.total_at(level, found.made_at, 10.0) for level in (0.1, 0.9))
    assert 385.0 < low <= high < 415.0
    assert sum(player.weight for player in found.players) > 0.5
