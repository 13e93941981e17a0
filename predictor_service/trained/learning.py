"""How a network learns: Adam on shuffled batches, until the validation part gets no better. The same for the same generator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from predictor_service.trained.examples import Examples, errors
from predictor_service.trained.form import Array, Arrays
from predictor_service.trained.networks import Architecture, initial, loss_and_gradients

_MOMENTUM, _MEMORY, _LEAST = 0.9, 0.999, 1e-7
_STEEPEST = 1.0
"""Gradients that are longer are cut to this: one burst must not undo what was learned."""


@dataclass(frozen=True, slots=True)
class Course:
    """How to learn. After `patience` epochs without a better one it is over, and after half as many the steps are halved."""

    epochs: int = 100
    batch: int = 128
    learning_rate: float = 3e-3
    patience: int = 10


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one pass over the training part came to: mean square errors."""

    number: int
    training: float
    validation: float
    best: int


def learned(
    architecture: Architecture,
    training: Examples,
    validation: Examples,
    course: Course,
    generator: np.random.Generator,
    tell: Callable[[Epoch], None],
) -> tuple[dict[str, Array], Epoch]:
    """The arrays of the epoch that was best on the validation part, and that epoch; `tell` hears of each. Blocks for minutes."""
    arrays = initial(architecture, generator)
    steps = _Adam(arrays, course.learning_rate)
    best = Epoch(0, math.inf, math.inf, 0)
    kept = arrays
    for number in range(1, course.epochs + 1):
        order = generator.permutation(len(training))
        total = 0.0
        for begin in range(0, len(order), course.batch):
            chosen = order[begin : begin + course.batch]
            loss, gradients = loss_and_gradients(architecture, arrays, training.inputs(chosen), training.targets(chosen))
            total += loss * len(chosen)
            steps.take(arrays, gradients)
        wrong = float(np.square(errors(architecture, arrays, validation)).mean())
        if wrong < best.validation:
            best = Epoch(number, total / len(order), wrong, number)
            kept = {name: values.copy() for name, values in arrays.items()}
        tell(Epoch(number, total / len(order), wrong, best.number))
        waited = number - best.number
        if waited >= course.patience:
            break
        if waited and waited % max(1, course.patience // 2) == 0:
            steps.rate /= 2
    return kept, best


class _Adam:
    """Kingma's and Ba's steps: each array's mean gradient, as a share of how large its gradients are."""

    def __init__(self, arrays: Arrays, rate: float) -> None:
        self.rate = rate
        self._means = {name: np.zeros_like(values) for name, values in arrays.items()}
        self._squares = {name: np.zeros_like(values) for name, values in arrays.items()}
        self._taken = 0

    def take(self, arrays: dict[str, Array], gradients: Arrays) -> None:
        """One step down, in place."""
        self._taken += 1
        length = math.sqrt(sum(float(np.square(values).sum()) for values in gradients.values()))
        share = min(1.0, _STEEPEST / length) if length > 0 else 1.0
        far = self.rate * math.sqrt(1 - _MEMORY**self._taken) / (1 - _MOMENTUM**self._taken)
        for name, values in arrays.items():
            gradient, mean, square = gradients[name] * share, self._means[name], self._squares[name]
            mean += (1 - _MOMENTUM) * (gradient - mean)
            square += (1 - _MEMORY) * (np.square(gradient) - square)
            values -= far * mean / (np.sqrt(square) + _LEAST)
