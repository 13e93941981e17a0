"""The third step: a class and a score for each message, by a linear model; batches, with numpy.

The model is the JSON that `python -m topologies.dns.train` writes, not a pickle: it can be read, compared and reviewed, and a worker
needs no scikit-learn to apply it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pasps import BatchBolt, TopologyContext, Tuple
from pasps.errors import InvalidError
from topologies.dns.flow_features import FEATURES

SCHEMA = "pasps.dns-model/1"
MODEL_FILE = Path(__file__).with_name("model.json")
MALFORMED = "malformed"

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """Multinomial logistic regression on standardized features.

    Attributes:
        classes: Their names, one for each row of `coefficients` and each of `intercepts`.
        features: Names of the columns; `means` and `scales` standardize them.
        origin: What it was trained on, and how good it was on what it had not seen.
    """

    features: tuple[str, ...]
    classes: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]
    origin: dict[str, Any]

    def write(self, path: Path) -> None:
        """As JSON, to be read by `read_model`."""
        path.write_text(json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n", encoding="utf-8")


def read_model(path: Path) -> Model:
    """The model in a file.

    Raises:
        InvalidError: it cannot be read, is none, or was trained on other features than there are now.
    """
    cure = "train one with python -m topologies.dns.train"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found.pop("schema") != SCHEMA:
            raise InvalidError(f"model {str(path)!r}: expected the schema {SCHEMA!r}; {cure}")
        rows = tuple(tuple(map(float, row)) for row in found["coefficients"])
        vectors = {name: tuple(map(float, found[name])) for name in ("means", "scales", "intercepts")}
        names = {name: tuple(map(str, found[name])) for name in ("features", "classes")}
        model = Model(**names, **vectors, coefficients=rows, origin=dict(found["origin"]))  # type: ignore[arg-type]
    except OSError as error:
        raise InvalidError(f"model {str(path)!r} cannot be read: {error.strerror or error}; {cure}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidError(f"model {str(path)!r} is none: {type(error).__name__}: {error}; {cure}") from error
    if model.features != FEATURES:
        raise InvalidError(f"model {str(path)!r} was trained on other features than {', '.join(FEATURES)}; {cure}")
    wide, high = len(model.features), len(model.classes)
    lengths = {"means": (len(model.means), wide), "scales": (len(model.scales), wide), "intercepts": (len(model.intercepts), high)}
    lengths |= {"coefficients": (len(rows), high)} | {f"coefficients, row {at}": (len(row), wide) for at, row in enumerate(rows, 1)}
    for name, (got, expected) in lengths.items():
        if got != expected:
            raise InvalidError(f"model {str(path)!r}: expected {expected} numbers in {name}, got {got}; {cure}")
    return model


class Classifier:
    """A model, ready to be applied to many vectors at once."""

    def __init__(self, model: Model) -> None:
        self.classes = model.classes
        self._weights: Matrix = np.array(model.coefficients).T / np.array(model.scales)[:, None]
        self._offsets: Matrix = np.array(model.intercepts) - np.array(model.means) @ self._weights

    def probabilities(self, vectors: Sequence[Sequence[float]]) -> Matrix:
        """One row a vector, one column a class."""
        scores = np.array(vectors) @ self._weights + self._offsets
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Matrix = powers / powers.sum(axis=1, keepdims=True)
        return found

    def classify(self, vectors: Sequence[Sequence[float]]) -> list[tuple[str, float]]:
        """The likeliest class of each vector, and how likely it is."""
        if not vectors:
            return []
        chances = self.probabilities(vectors)
        best = chances.argmax(axis=1)
        # rounded, because the last digits depend on how many are multiplied at once
        return [(self.classes[place], round(float(row[place]), 6)) for place, row in zip(best.tolist(), chances, strict=True)]


@cache
def classifier(path: Path) -> Classifier:
    """One for all replicas of a process."""
    return Classifier(read_model(path))


class Classify(BatchBolt):
    """Class and score of each message; what is no DNS message is of the class "malformed".

    Key: `dns.model`, a file of the training script's (the one beside this).
    """

    outputs = ["event", "flow", "at", "message", "label", "score"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.path = Path(conf.get("dns.model") or MODEL_FILE)
        classifier(self.path)

    def process_batch(self, tuples: list[Tuple]) -> list[tuple[Any, ...]]:
        found = iter(classifier(self.path).classify([tup.values.vector for tup in tuples if tup.values.vector is not None]))
        return [(*tup.values[:4], *((MALFORMED, 1.0) if tup.values.vector is None else next(found))) for tup in tuples]
