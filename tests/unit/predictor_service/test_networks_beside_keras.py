"""Our networks beside those of Keras, with the same arrays; runs where Keras and JAX are installed, which the project does not need."""

from __future__ import annotations

import os

import numpy as np
import pytest

from predictor_service.trained.networks import Architecture, initial, loss_and_gradients

os.environ.setdefault("KERAS_BACKEND", "jax")
why = "Keras and JAX are not installed: pip install keras jax, in an environment of its own"
pytest.importorskip("jax", reason=why)
keras = pytest.importorskip("keras", reason=why)


def theirs(architecture: Architecture, arrays: dict[str, np.ndarray], window: int) -> keras.Model:
    cell = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[architecture.cell]
    layers = [keras.Input((window, 1))]
    for layer in range(architecture.layers):
        own = cell(architecture.units, return_sequences=layer < architecture.layers - 1)
        layers.append(keras.layers.Bidirectional(own) if architecture.both_ways else own)
    model = keras.Sequential([*layers, keras.layers.Dense(architecture.horizon)])
    model.set_weights(list(arrays.values()))
    return model


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Keras, about numpy
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
def test_they_say_the_same_and_learn_the_same(cell: str, both_ways: bool, layers: int) -> None:
    architecture = Architecture(cell, both_ways, 6, layers, 3)  # type: ignore[arg-type]
    source = np.random.default_rng(1)
    arrays = {
        name: (values + source.normal(0, 0.1, values.shape)).astype(np.float32) for name, values in initial(architecture, source).items()
    }
    windows, targets = source.random((5, 9)).astype(np.float32), source.random((5, 3)).astype(np.float32)
    model = theirs(architecture, arrays, 9)
    said = architecture.predictions(arrays, windows)
    assert said == pytest.approx(np.asarray(model(windows[..., np.newaxis])), abs=1e-5)
    model.compile(keras.optimizers.SGD(1.0), "mse")
    model.train_on_batch(windows[..., np.newaxis], targets)
    _, gradients = loss_and_gradients(architecture, arrays, windows, targets)
    for (name, values), after in zip(arrays.items(), model.get_weights(), strict=True):
        assert values - after == pytest.approx(gradients[name], abs=1e-5), name
