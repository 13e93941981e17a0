"""Recurrent networks: what their gradients are, what reading both ways changes, and that they learn."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from predictor_service.trained.examples import Examples
from predictor_service.trained.learning import Course, Epoch, learned
from predictor_service.trained.networks import Architecture, initial, loss_and_gradients

KINDS = [Architecture(cell, both, 5, layers, 3) for cell, both, layers in itertools.product(("lstm", "gru"), (False, True), (1, 2))]
each_kind = pytest.mark.parametrize("architecture", KINDS, ids=lambda each: f"{'bi' * each.both_ways}{each.cell}-{each.layers}")


def doubles(architecture: Architecture, seed: int = 1) -> dict[str, np.ndarray]:
    """Arrays precise enough to be differentiated by hand, with biases that are not 0."""
    source = np.random.default_rng(seed)
    return {name: values + source.normal(0, 0.1, values.shape) for name, values in initial(architecture, source).items()}


@each_kind
def test_gradients_are_what_small_changes_say(architecture: Architecture) -> None:
    source, arrays = np.random.default_rng(2), doubles(architecture)
    windows, targets = source.random((4, 6)), source.random((4, 3))
    _, gradients = loss_and_gradients(architecture, arrays, windows, targets)
    assert gradients.keys() == arrays.keys()
    for name, values in arrays.items():
        for at in itertools.islice(np.ndindex(values.shape), 0, values.size, max(1, values.size // 5)):
            kept, losses = values[at], []
            for change in (1e-5, -1e-5):
                values[at] = kept + change
                losses.append(loss_and_gradients(architecture, arrays, windows, targets)[0])
            values[at] = kept
            assert gradients[name][at] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4, abs=1e-9), (name, at)


@each_kind
def test_the_loss_is_the_mean_square_error_of_what_it_says(architecture: Architecture) -> None:
    source, arrays = np.random.default_rng(2), doubles(architecture)
    windows, targets = source.random((4, 6)), source.random((4, 3))
    said = architecture.predictions(arrays, windows)
    assert said.shape == (4, 3)
    assert loss_and_gradients(architecture, arrays, windows, targets)[0] == pytest.approx(np.square(said - targets).mean())


@each_kind
def test_windows_do_not_know_of_each_other(architecture: Architecture) -> None:
    arrays, windows = doubles(architecture), np.random.default_rng(2).random((4, 6))
    alone = np.concatenate([architecture.predictions(arrays, windows[at : at + 1]) for at in range(4)])
    assert architecture.predictions(arrays, windows) == pytest.approx(alone)


def test_both_ways_are_the_same_way_once_from_each_end() -> None:
    """With the same arrays for both directions, a window and its mirror image change only which half of the states is which."""
    architecture = Architecture("gru", True, 5, 1, 3)
    arrays = doubles(architecture)
    for name in list(arrays):
        if ".forward." in name:
            arrays[name.replace(".forward.", ".backward.")] = arrays[name]
    mirrored = {**arrays, "dense.weights": np.roll(arrays["dense.weights"], 5, axis=0)}
    windows = np.random.default_rng(2).random((4, 6))
    assert architecture.predictions(arrays, windows) == pytest.approx(architecture.predictions(mirrored, windows[:, ::-1]))


def test_one_way_is_what_is_left_when_the_other_does_not_count() -> None:
    both = Architecture("lstm", True, 5, 1, 3)
    arrays = doubles(both)
    arrays["dense.weights"][5:] = 0.0
    one = replace(both, both_ways=False)
    own = {name: values for name, values in arrays.items() if ".backward." not in name}
    own["dense.weights"] = arrays["dense.weights"][:5]
    windows = np.random.default_rng(2).random((4, 6))
    assert both.predictions(arrays, windows) == pytest.approx(one.predictions(own, windows))


@each_kind
def test_the_same_seed_begins_with_the_same_arrays(architecture: Architecture) -> None:
    first, again, other = (initial(architecture, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert {name: values.shape for name, values in first.items()} == architecture.shapes()
    assert all(values.dtype == np.float32 and np.array_equal(values, again[name]) for name, values in first.items())
    assert not np.array_equal(first["dense.weights"], other["dense.weights"])


def test_states_are_led_on_without_growing_or_shrinking() -> None:
    recurrent = initial(Architecture("gru", False, 8, 1, 1), np.random.default_rng(1))["layer0.forward.recurrent"]
    assert recurrent @ recurrent.T == pytest.approx(np.eye(8), abs=1e-5)


# ---- learning


def wave(first: int, last: int) -> Examples:
    values = (0.5 + 0.4 * np.sin(np.arange(300) / 4)).astype(np.float32)
    return Examples.within(values, first, last, 8, 3)


def taught(architecture: Architecture, course: Course, seed: int = 1) -> tuple[dict[str, np.ndarray], Epoch, list[Epoch]]:
    heard: list[Epoch] = []
    arrays, best = learned(architecture, wave(0, 200), wave(200, 300), course, np.random.default_rng(seed), heard.append)
    return dict(arrays), best, heard


@pytest.mark.parametrize("architecture", [Architecture(cell, both, 8, 1, 3) for cell in ("lstm", "gru") for both in (False, True)])
def test_a_wave_is_learned(architecture: Architecture) -> None:
    _, best, heard = taught(architecture, Course(epochs=12, batch=16, learning_rate=0.02))
    assert best.validation < 0.002  # its variance is 0.08
    assert best.validation == min(epoch.validation for epoch in heard)


def test_it_ends_when_the_validation_part_gets_no_better() -> None:
    """Of noise nothing can be learned but its mean."""
    values = np.random.default_rng(5).random(300).astype(np.float32)
    training, validation = Examples.within(values, 0, 200, 8, 3), Examples.within(values, 200, 300, 8, 3)
    heard: list[Epoch] = []
    course = Course(epochs=200, batch=16, learning_rate=0.02, patience=3)
    _, best = learned(Architecture("gru", False, 8, 1, 3), training, validation, course, np.random.default_rng(1), heard.append)
    assert len(heard) == best.number + 3 < 200


def test_the_arrays_of_the_best_epoch_are_kept() -> None:
    architecture = Architecture("gru", False, 4, 1, 3)
    arrays, best, _ = taught(architecture, Course(epochs=50, batch=16, learning_rate=0.5, patience=3))
    again, _, _ = taught(architecture, Course(epochs=best.number, batch=16, learning_rate=0.5, patience=3))
    assert all(np.array_equal(values, again[name]) for name, values in arrays.items())


def test_steps_that_explode_leave_nothing_learned_instead_of_nan() -> None:
    with np.errstate(all="ignore"):
        _, best, _ = taught(Architecture("gru", False, 4, 1, 3), Course(epochs=2, batch=64, learning_rate=1e38))
    assert best.number == 0
