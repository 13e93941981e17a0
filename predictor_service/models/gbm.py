"""`gbm`: gradient boosting on lags, by scikit-learn's histogram trees."""

from __future__ import annotations

from collections.abc import Sequence

from predictor_service.model import Model

LAGS = 12
NEWEST = 2_000
"""It learns from so many samples at most."""

_STEPS_LEARNED = 6
PARAMETERS: dict[str, object] = {"max_iter": 60, "max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}


def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
    """How far each coming step lies from the newest sample, from the differences before it and from how far ahead the step is.

    One forest for all steps: it learns some of them, spread over the horizon, and is asked for each.
    """
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor

    values = np.asarray(samples[-NEWEST:], dtype=np.float64)
    count = len(values)
    lags = min(LAGS, count // 4)
    scale = float(values.std()) or 1.0
    origins = np.lib.stride_tricks.sliding_window_view(values, lags + 1)
    known = (origins[:, :-1] - origins[:, -1:]) / scale
    furthest = min(horizon, max(1, (count - lags) // 3))
    inputs, outputs = [], []
    for ahead in np.unique(np.geomspace(1, furthest, _STEPS_LEARNED).round().astype(int)):
        use = known[: len(known) - ahead]
        inputs.append(np.column_stack([use, np.full(len(use), ahead)]))
        outputs.append((values[lags + ahead :] - values[lags : count - ahead]) / scale)
    forest = HistGradientBoostingRegressor(**PARAMETERS).fit(np.concatenate(inputs), np.concatenate(outputs))
    asked = np.column_stack([np.repeat(known[-1:], horizon, axis=0), np.arange(1, horizon + 1)])
    predictions: list[float] = (forest.predict(asked) * scale + values[-1]).tolist()
    return predictions


MODEL = Model(
    name="gbm",
    about="scikit-learn HistGradientBoostingRegressor on the last 12 samples and how far ahead a step is",
    predict=predict,
    parameters={"lags": LAGS, **PARAMETERS},
    least_samples=8,
    cost="heavy",
)
