"""Recurrent networks: LSTM and GRU cells, one way or both ways, under a dense layer that says all coming steps at once. Numpy alone.

Training and serving share the pass forward, so what was validated is what is served. Within, arrays lie (steps, features, windows):
what belongs to a gate is in one piece of memory, which makes all of it a third quicker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from predictor_service.trained.form import Array, Arrays

Cell = Literal["lstm", "gru"]

WAYS = ("forward", "backward")
_GATES: dict[Cell, int] = {"lstm": 4, "gru": 3}


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a network looks like. `both_ways`: each layer reads the window from both ends, with arrays of its own for each.

    A layer that is not the last hands the state of each step on; of the last the state after its whole reading counts, of both ways
    side by side.
    """

    cell: Cell
    both_ways: bool
    units: int
    layers: int
    horizon: int

    @property
    def ways(self) -> tuple[str, ...]:
        """The directions in which each layer reads."""
        return WAYS if self.both_ways else WAYS[:1]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """See `Form`."""
        gates, units = _GATES[self.cell], self.units
        found: dict[str, tuple[int, ...]] = {}
        width = 1
        for layer in range(self.layers):
            for way in self.ways:
                name = f"layer{layer}.{way}"
                found[f"{name}.input"] = (width, gates * units)
                found[f"{name}.recurrent"] = (units, gates * units)
                # a GRU's candidate has a bias on either side of its reset gate, as cuDNN's and Keras' have
                found[f"{name}.bias"] = (gates * units,) if self.cell == "lstm" else (2, gates * units)
            width = units * len(self.ways)
        found["dense.weights"] = (width, self.horizon)
        found["dense.bias"] = (self.horizon,)
        return found

    def predictions(self, arrays: Arrays, windows: Array) -> Array:
        """See `Form`."""
        states = _first(windows)
        for layer in range(self.layers):
            states = _joined([_passed(self, arrays, states, layer, way)[0] for way in self.ways], last=layer == self.layers - 1)
        said: Array = states.T @ arrays["dense.weights"] + arrays["dense.bias"]
        return said


def initial(architecture: Architecture, generator: np.random.Generator) -> dict[str, Array]:
    """Arrays to begin with: Glorot's for inputs, orthogonal for states, and an LSTM that forgets little."""
    found: dict[str, Array] = {}
    for name, shape in architecture.shapes().items():
        if name.endswith("bias"):
            found[name] = np.zeros(shape, dtype=np.float32)
            if architecture.cell == "lstm" and name != "dense.bias":
                found[name][architecture.units : 2 * architecture.units] = 1.0
        elif name.endswith("recurrent"):
            found[name] = _orthogonal(shape, generator)
        else:
            bound = np.sqrt(6.0 / (shape[0] + shape[1]))
            found[name] = generator.uniform(-bound, bound, shape).astype(np.float32)
    return found


def _orthogonal(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    rows, columns = shape
    left, diagonal = np.linalg.qr(generator.standard_normal((columns, rows)))
    square: Array = np.ascontiguousarray((left * np.sign(np.diag(diagonal))).T, dtype=np.float32)
    return square


def loss_and_gradients(architecture: Architecture, arrays: Arrays, windows: Array, targets: Array) -> tuple[float, dict[str, Array]]:
    """The mean square error of these windows' predictions, and its derivative by each array."""
    inputs = [_first(windows)]
    memories: list[list[_Memory]] = []
    for layer in range(architecture.layers):
        passed = [_passed(architecture, arrays, inputs[-1], layer, way) for way in architecture.ways]
        memories.append([memory for _, memory in passed])
        inputs.append(_joined([states for states, _ in passed], last=layer == architecture.layers - 1))
    states, weights = inputs.pop(), arrays["dense.weights"]
    wrong = states.T @ weights + arrays["dense.bias"] - targets
    loss = float(np.mean(np.square(wrong)))
    wrong *= 2.0 / wrong.size
    found: dict[str, Array] = {"dense.weights": states @ wrong, "dense.bias": wrong.sum(axis=0)}
    slope: Array = weights @ wrong.T
    for layer in reversed(range(architecture.layers)):
        slope = _back(architecture, inputs[layer], memories[layer], slope, layer, found)
    return loss, found


def _first(windows: Array) -> Array:
    inputs: Array = np.ascontiguousarray(windows.T)[:, np.newaxis]
    return inputs


def _passed(architecture: Architecture, arrays: Arrays, inputs: Array, layer: int, way: str) -> tuple[Array, _Memory]:
    """The states of one layer in one direction, in the order in which it read, and what going back needs."""
    name = f"layer{layer}.{way}"
    own = inputs if way == "forward" else inputs[::-1]
    return _PASS[architecture.cell](own, *(arrays[f"{name}.{part}"] for part in ("input", "recurrent", "bias")))


def _joined(passed: list[Array], *, last: bool) -> Array:
    if last:
        return np.concatenate([states[-1] for states in passed])
    return np.concatenate([passed[0], passed[1][::-1]], axis=1) if len(passed) > 1 else passed[0]


def _back(architecture: Architecture, inputs: Array, memories: list[_Memory], slope: Array, layer: int, found: dict[str, Array]) -> Array:
    """Puts the derivatives of one layer into `found`; returns that by its inputs. `slope` is that by the layer's own output."""
    units, below = architecture.units, None
    for place, (way, memory) in enumerate(zip(architecture.ways, memories, strict=True)):
        own = slope[..., place * units : (place + 1) * units, :]
        if own.ndim == 3 and way == "backward":
            own = own[::-1]
        by_gates, by_recurrent, by_bias = _BACK[architecture.cell](memory, own)
        name = f"layer{layer}.{way}"
        read = inputs if way == "forward" else inputs[::-1]
        found[f"{name}.input"] = _summed(read, by_gates)
        found[f"{name}.recurrent"], found[f"{name}.bias"] = by_recurrent, by_bias
        if layer:
            by_input = memory.inputs @ by_gates
            by_input = by_input if way == "forward" else by_input[::-1]
            below = by_input if below is None else below + by_input
    return slope if below is None else below


@dataclass(slots=True)
class _Memory:
    """What a pass keeps for the way back: its arrays, the states with the one before the first, and what its gates said."""

    inputs: Array
    recurrent: Array
    states: Array
    gates: Array
    more: Array


_Pass = Callable[[Array, Array, Array, Array], tuple[Array, _Memory]]
_Back = Callable[[_Memory, Array], tuple[Array, Array, Array]]


def _projected(inputs: Array, weights: Array, bias: Array) -> Array:
    """What the inputs of all steps bring to the gates."""
    # a product with one column is quicker as what it is: a number times a row
    found: Array = weights.T * inputs if len(weights) == 1 else weights.T @ inputs
    found += bias[:, np.newaxis]
    return found


def _summed(these: Array, those: Array) -> Array:
    """The sum over all steps and windows of each row of these times each row of those."""
    found: Array = np.matmul(these, those.transpose(0, 2, 1)).sum(axis=0)
    return found


def _sigmoid(values: Array) -> None:
    """In place, without an overflow."""
    values *= 0.5
    np.tanh(values, out=values)
    values *= 0.5
    values += 0.5


def _lstm(inputs: Array, weights: Array, recurrent: Array, bias: Array) -> tuple[Array, _Memory]:
    """Gates in Keras' order: input, forget, candidate, output."""
    steps, _, count = inputs.shape
    units = len(recurrent)
    gates = _projected(inputs, weights, bias)
    states = np.zeros((steps + 1, units, count), dtype=gates.dtype)
    cells = np.zeros_like(states)
    turned = np.ascontiguousarray(recurrent.T)
    for step in range(steps):
        gate = gates[step]
        gate += turned @ states[step]
        _sigmoid(gate[: 2 * units])
        np.tanh(gate[2 * units : 3 * units], out=gate[2 * units : 3 * units])
        _sigmoid(gate[3 * units :])
        enters, keeps, candidate, shows = gate.reshape(4, units, count)
        np.multiply(keeps, cells[step], out=cells[step + 1])
        cells[step + 1] += enters * candidate
        np.multiply(shows, np.tanh(cells[step + 1]), out=states[step + 1])
    return states[1:], _Memory(weights, recurrent, states, gates, cells)


def _lstm_back(memory: _Memory, slope: Array) -> tuple[Array, Array, Array]:
    gates, cells, states = memory.gates, memory.more, memory.states
    steps, _, count = gates.shape
    units = states.shape[1]
    by_gates = np.empty_like(gates)
    by_state = np.array(slope) if slope.ndim == 2 else np.zeros((units, count), dtype=gates.dtype)
    by_cell = np.zeros_like(by_state)
    for step in reversed(range(steps)):
        if slope.ndim == 3:
            by_state += slope[step]
        enters, keeps, candidate, shows = gates[step].reshape(4, units, count)
        to_enter, to_keep, to_candidate, to_show = by_gates[step].reshape(4, units, count)
        shown = np.tanh(cells[step + 1])
        np.multiply(by_state * shown, shows * (1 - shows), out=to_show)
        by_cell += by_state * shows * (1 - shown * shown)
        np.multiply(by_cell * candidate, enters * (1 - enters), out=to_enter)
        np.multiply(by_cell * enters, 1 - candidate * candidate, out=to_candidate)
        np.multiply(by_cell * cells[step], keeps * (1 - keeps), out=to_keep)
        by_cell *= keeps
        by_state = memory.recurrent @ by_gates[step]
    return by_gates, _summed(states[:-1], by_gates), by_gates.sum(axis=(0, 2))


def _gru(inputs: Array, weights: Array, recurrent: Array, bias: Array) -> tuple[Array, _Memory]:
    """Gates in Keras' order: update, reset, candidate; the reset gate holds back what the state adds to the candidate."""
    steps, _, count = inputs.shape
    units = len(recurrent)
    gates = _projected(inputs, weights, bias[0])
    states = np.zeros((steps + 1, units, count), dtype=gates.dtype)
    held = np.empty((steps, units, count), dtype=gates.dtype)
    turned, own = np.ascontiguousarray(recurrent.T), bias[1][:, np.newaxis]
    for step in range(steps):
        gate, before = gates[step], states[step]
        from_state = turned @ before
        from_state += own
        both, candidate = gate[: 2 * units], gate[2 * units :]
        both += from_state[: 2 * units]
        _sigmoid(both)
        held[step] = from_state[2 * units :]
        candidate += both[units:] * held[step]
        np.tanh(candidate, out=candidate)
        after = states[step + 1]
        np.subtract(before, candidate, out=after)
        after *= both[:units]
        after += candidate
    return states[1:], _Memory(weights, recurrent, states, gates, held)


def _gru_back(memory: _Memory, slope: Array) -> tuple[Array, Array, Array]:
    gates, held, states = memory.gates, memory.more, memory.states
    steps, _, count = gates.shape
    units = states.shape[1]
    by_gates, by_own = np.empty_like(gates), np.empty_like(gates)
    by_state = np.array(slope) if slope.ndim == 2 else np.zeros((units, count), dtype=gates.dtype)
    for step in reversed(range(steps)):
        if slope.ndim == 3:
            by_state += slope[step]
        updates, resets, candidate = gates[step].reshape(3, units, count)
        to_update, to_reset, to_candidate = by_gates[step].reshape(3, units, count)
        own = by_own[step]
        np.multiply(by_state * (1 - updates), 1 - candidate * candidate, out=to_candidate)
        np.multiply(to_candidate * held[step], resets * (1 - resets), out=to_reset)
        np.multiply(by_state * (states[step] - candidate), updates * (1 - updates), out=to_update)
        own[: 2 * units] = by_gates[step, : 2 * units]
        np.multiply(to_candidate, resets, out=own[2 * units :])
        by_state = by_state * updates
        by_state += memory.recurrent @ own
    by_bias = np.stack([by_gates.sum(axis=(0, 2)), by_own.sum(axis=(0, 2))])
    return by_gates, _summed(states[:-1], by_own), by_bias


_PASS: dict[Cell, _Pass] = {"lstm": _lstm, "gru": _gru}
_BACK: dict[Cell, _Back] = {"lstm": _lstm_back, "gru": _gru_back}
