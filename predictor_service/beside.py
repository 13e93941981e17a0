"""The tournament as somebody's loop keeps it: told one sample after the other, in the loop's own process. Pure.

`pasps` looks it up here by name, and needs nothing else of this package; docs/decisions/0025 says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from predictor_service.conformal import Track, spread
from predictor_service.tournament import Score, Tournament, players


class Beside:
    """A tournament, and what it was wrong by of late where quantiles are wanted."""

    def __init__(self, plays: Tournament, horizons: Sequence[int], *, quantiles: bool) -> None:
        self._plays = plays
        self._track = Track(plays, horizons) if quantiles else None
        self.update = plays.update if self._track is None else self._track.update
        self.means = plays.means

    def offsets(self, levels: Sequence[float], horizon: int) -> list[list[float]]:
        """For each level how far above what is expected that quantile of the sum of the first 1, 2, ... `horizon` steps lies.

        All 0 while nothing is known of its errors, or where no quantiles were wanted.
        """
        errors = {} if self._track is None else self._track.errors()
        if not any(errors.values()):
            return [[0.0] * horizon for _ in levels]
        return spread(errors, levels, horizon)[0]

    def scores(self, horizon: int) -> list[Score]:
        """Of all players at about that horizon, the heaviest first."""
        return self._plays.scores(horizon)


def beside(step_seconds: float, horizons: Sequence[int], *, quantiles: Sequence[float] = ()) -> Beside:
    """The usual players, without the autoregression where its library is not there; `quantiles` are those that will be asked for.

    Who plans for one of them pays by it, so players are judged at that one, and else at the median.
    """
    given = players(step_seconds, autoregression=find_spec("numpy") is not None)
    judged_at = quantiles[0] if len(quantiles) == 1 else 0.5
    return Beside(Tournament(given, horizons, quantile=judged_at), horizons, quantiles=bool(quantiles))
