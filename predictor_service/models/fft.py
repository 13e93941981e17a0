"""`fft`: the strongest frequencies of the samples, continued. Darts' model with its defaults."""

from __future__ import annotations

from collections.abc import Sequence

from predictor_service.model import Model

PARAMETERS: dict[str, object] = {"nr_freqs_to_keep": 10, "required_matches": None, "trend": None, "trend_poly_degree": 3}


def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
    """Takes the samples for a whole number of periods: after a ramp it begins at the foot again."""
    import numpy as np
    from darts import TimeSeries
    from darts.models.forecasting.fft import FFT

    fitted = FFT().fit(TimeSeries.from_values(np.asarray(samples, dtype=np.float64)))
    predictions: list[float] = fitted.predict(horizon).values(copy=False).ravel().tolist()
    return predictions


MODEL = Model(
    name="fft",
    about="Darts FFT: the ten strongest frequencies, continued",
    predict=predict,
    parameters=PARAMETERS,
    least_samples=3,
    cost="light",
)
