"""Models that statsforecast searches for in the samples of a request, and carries on over later ones without searching again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from predictor_service.model import Model

NEWEST = 1_000
"""It searches in so many samples at most."""

_LIBRARY = "statsforecast"


@dataclass(frozen=True, slots=True)
class Search:
    """A class of `statsforecast.models`, which is loaded at the first call, and what it is made with."""

    name: str
    parameters: Mapping[str, object]

    def predict(self, samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
        """As a `Model`'s."""
        import numpy as np

        found: list[float] = self._found(samples[-NEWEST:]).predict(horizon)["mean"].astype(np.float64).tolist()
        return found

    def backtest(self, samples: Sequence[float], origins: Sequence[int], horizon: int, step_seconds: float) -> Sequence[Sequence[float]]:
        """As a `Model`'s: what was found in the samples before the first origin is carried on to the others."""
        import numpy as np

        first = max(0, origins[0] - NEWEST)
        found = self._found(samples[first : origins[0]])
        return [
            found.forward(np.asarray(samples[first:known], dtype=np.float64), horizon)["mean"].astype(np.float64).tolist()
            for known in origins
        ]

    def _found(self, samples: Sequence[float]) -> Any:
        import numpy as np
        from statsforecast import models

        return getattr(models, self.name)(**self.parameters).fit(np.asarray(samples, dtype=np.float64))


def searched_model(name: str, about: str, search: Search) -> Model:
    """The model of that search."""
    return Model(
        name=name,
        about=about,
        predict=search.predict,
        parameters={**search.parameters, "samples": NEWEST},
        least_samples=12,
        cost="heavy",
        backtest=search.backtest,
        library=_LIBRARY,
    )
