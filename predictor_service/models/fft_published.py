"""`fft-published`: Darts' FFT as the published PA-SPS controller calls it, around a cubic trend."""

from __future__ import annotations

from collections.abc import Sequence

from predictor_service.model import Model

PARAMETERS: dict[str, object] = {"nr_freqs_to_keep": 10, "trend": "poly", "trend_poly_degree": 3}


def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
    """What is left around the trend is taken for a whole number of periods; the trend goes on, however steep it is."""
    import numpy as np
    from darts import TimeSeries
    from darts.models.forecasting.fft import FFT

    fitted = FFT(**PARAMETERS).fit(TimeSeries.from_values(np.asarray(samples, dtype=np.float64)))
    predictions: list[float] = fitted.predict(horizon).values(copy=False).ravel().tolist()
    return predictions


MODEL = Model(
    name="fft-published",
    about="Darts FFT around a cubic trend, as the published PA-SPS controller calls it",
    predict=predict,
    parameters=PARAMETERS,
    least_samples=4,
    cost="light",
)
