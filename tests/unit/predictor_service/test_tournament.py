"""The tournament: who wins, how weights move, and what it costs to be wrong."""

from __future__ import annotations

import math
import random

import pytest

from predictor_service.beside import beside
from predictor_service.conformal import Track, offsets
from predictor_service.online import Line
from predictor_service.tournament import Tournament, players, tournament

_random = random.Random(3)
NOISE = [max(0.0, 100 + 20 * _random.gauss(0, 1)) for _ in range(500)]
RAMP = [10.0 + 3 * step for step in range(300)]


class Says(Line):
    """Expects the same of every step, whatever comes."""

    def __init__(self, level: float) -> None:
        super().__init__()
        self.level = level

    def update(self, sample: float) -> None:
        pass


class SaysNext(Line):
    """Knows the series: what it expects of a step is what comes, times `factor`."""

    def __init__(self, samples: list[float], factor: float) -> None:
        super().__init__()
        self._samples, self._factor, self._at = samples, factor, 0

    def update(self, sample: float) -> None:
        self._at += 1
        self.level = self._factor * self._samples[min(self._at, len(self._samples) - 1)]


def taught(model: Tournament, samples: list[float]) -> Tournament:
    for sample in samples:
        model.update(sample)
    return model


def weights(model: Tournament, horizon: int) -> dict[str, float]:
    return {score.name: score.weight for score in model.scoreboard() if score.horizon == horizon}


def test_who_was_right_of_late_has_the_weight() -> None:
    model = taught(Tournament({"right": Says(100), "wrong": Says(200)}, [1, 5]), NOISE[:100])
    for horizon in (1, 5):
        assert weights(model, horizon)["right"] > 0.99
        assert model.leader(horizon) == "right"
    assert model.means(5) == pytest.approx([100] * 5, rel=0.01)


def test_until_a_forecast_has_come_true_all_weigh_the_same() -> None:
    model = taught(Tournament({"one": Says(10), "other": Says(20)}, [5]), [10.0] * 5)
    assert model.means(2) == [15.0, 15.0]
    model.update(10.0)
    assert model.means(1)[0] < 15


def test_each_horizon_has_its_own_winner() -> None:
    """As now for the next second of a walk that returns, the level for the next half minute."""
    samples = [100.0 + 40 * math.sin(2 * math.pi * step / 30) for step in range(600)]
    model = taught(Tournament({"trend": players(1.0)["trend"], "level": Says(100)}, [1, 30]), samples)
    assert model.leader(1) == "trend"
    assert model.leader(30) == "level"


def test_a_winner_of_yesterday_is_forgotten() -> None:
    model = Tournament({"low": Says(10), "high": Says(50)}, [1])
    taught(model, [10.0] * 400)
    assert model.leader(1) == "low"
    taught(model, [50.0] * 20)
    assert model.leader(1) == "low"
    taught(model, [50.0] * 400)
    assert model.leader(1) == "high"
    assert model.means(1)[0] == pytest.approx(50, rel=0.05)


def test_one_odd_sample_does_not_turn_the_weights_over() -> None:
    model = taught(Tournament({"low": Says(10), "high": Says(5_000)}, [1]), [10.0 + step % 3 for step in range(300)])
    before = weights(model, 1)["low"]
    model.update(5_000.0)
    assert before - weights(model, 1)["low"] <= 0.1
    assert model.leader(1) == "low"


def test_the_leader_does_not_change_between_equals() -> None:
    model = Tournament({"over": SaysNext(NOISE, 1.1), "under": SaysNext(NOISE, 0.9)}, [1])
    leaders = []
    for sample in NOISE:
        model.update(sample)
        leaders.append(model.leader(1))
    assert len(set(leaders)) == 1


def test_costs_that_are_unlike_prefer_who_is_wrong_on_the_cheap_side() -> None:
    """Too few by half the time is nine times as dear as too many: each is charged for its quantile, not for its mean."""
    samples = [100.0 if step % 10 else 200.0 for step in range(900)]
    dear = taught(Tournament({"mean": Says(110), "mostly": Says(100)}, [1], quantile=0.95), samples)
    # with their offsets both find the same quantile, so both are charged alike
    costs = {score.name: score.cost for score in dear.scoreboard()}
    assert costs["mean"] == pytest.approx(costs["mostly"], rel=0.25)
    even = taught(Tournament({"mean": Says(110), "mostly": Says(100)}, [1]), samples)
    assert even.leader(1) == "mostly"


def test_who_plans_for_one_quantile_has_the_players_judged_at_it() -> None:
    """In nine steps of ten 100 come, in the tenth 200: "as now" is off by 100 twice, and nowhere near the quantile in between."""
    samples = [100.0 if step % 10 else 200.0 for step in range(900)]

    def costs(*quantiles: float) -> dict[str, float]:
        play = beside(1.0, [1], quantiles=quantiles)
        for sample in samples:
            play.update(sample)
        return {score.name: score.cost for score in play.scores(1)}

    assert costs() == costs(0.5) == costs(0.5, 0.9)
    assert costs(0.95) != costs()


def test_the_scoreboard_is_by_horizon_and_the_heaviest_first() -> None:
    board = taught(tournament(1.0, [1, 5]), NOISE[:200]).scoreboard()
    assert [score.horizon for score in board] == [1] * 10 + [5] * 10
    for horizon in (1, 5):
        shares = [score.weight for score in board if score.horizon == horizon]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)
        assert sum(score.leads for score in board if score.horizon == horizon) == 1
    assert all(score.cost >= 0 for score in board)


def test_the_total_is_the_sum_of_the_means() -> None:
    model = taught(tournament(1.0, [1, 5, 30]), NOISE)
    for horizon in (1, 5, 30):
        assert model.total(horizon) == pytest.approx(math.fsum(model.means(horizon)), rel=1e-9)


def test_another_horizon_takes_the_weights_of_the_nearest() -> None:
    model = taught(Tournament({"right": Says(100), "wrong": Says(300)}, [1, 30]), NOISE[:100])
    assert len(model.means(45)) == 45
    assert model.total(40) == pytest.approx(4_000, rel=0.05)


def test_of_noise_it_expects_the_level_and_of_a_ramp_that_it_goes_on() -> None:
    assert taught(tournament(1.0, [30]), NOISE).total(30) == pytest.approx(3_000, rel=0.1)
    coming = [10.0 + 3 * step for step in range(300, 305)]
    assert taught(tournament(1.0, [5]), RAMP).means(5) == pytest.approx(coming, rel=0.02)


def test_it_is_hardly_worse_than_the_best_of_its_players() -> None:
    horizon = 5
    for samples in (NOISE, RAMP, [100 + 60 * math.sin(step / 9) + 10 * _random.gauss(0, 1) for step in range(500)]):
        track = Track(tournament(1.0, [horizon]), [horizon])
        alone = {name: Track(model, [horizon]) for name, model in players(1.0).items()}
        for sample in samples:
            for one in (track, *alone.values()):
                one.update(sample)

        def wrong(one: Track) -> float:
            return math.fsum(map(abs, list(one.errors()[horizon])[150:]))

        assert wrong(track) < 1.08 * min(map(wrong, alone.values())) + 1e-6


def test_without_the_autoregression_no_library_is_needed() -> None:
    model = taught(Tournament(players(1.0, autoregression=False), [1, 30]), NOISE[:80])
    assert model.total(30) == pytest.approx(3_000, rel=0.2)


def test_its_own_errors_give_its_quantiles() -> None:
    track = Track(tournament(1.0, [5]), [5])
    for sample in NOISE:
        track.update(sample)
    low, high = offsets(track.errors()[5], [0.1, 0.9], 5)
    assert low < 0 < high
    assert high - low == pytest.approx(2 * 1.28 * 20 * math.sqrt(5), rel=0.4)


@pytest.mark.parametrize(
    ("given", "horizons", "quantile"),
    [({}, [1], 0.5), ({"one": Says(1)}, [], 0.5), ({"one": Says(1)}, [0], 0.5), ({"one": Says(1)}, [1], 1.0)],
)
def test_what_cannot_be_played_is_refused(given: dict[str, Line], horizons: list[int], quantile: float) -> None:
    with pytest.raises(ValueError, match="tournament: expected"):
        Tournament(given, horizons, quantile=quantile)  # type: ignore[arg-type]
