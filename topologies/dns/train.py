"""Trains the classifier on synthetic traffic, and says how good it is on traffic of other seeds.

    python -m topologies.dns.train

Needs scikit-learn; what it writes does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report
from sklearn.preprocessing import StandardScaler

from topologies.dns.classifier import MODEL_FILE, Classifier, Model
from topologies.dns.conversations import message, planned
from topologies.dns.flow_features import FEATURES, FlowTable, Vector
from topologies.dns.parsing import read_message

TRAINING_SEEDS = (1001, 1002, 1003, 1004, 1005)
HELD_OUT_SEEDS = (2001, 2002)


def examples(seed: int, events: int) -> tuple[list[Vector], list[str]]:
    """The vectors of the traffic's first messages, and what their flows really were. Also early ones, when little is known."""
    flows = FlowTable()
    vectors: list[Vector] = []
    labels: list[str] = []
    for event in range(events):
        flow, at, wire = message(seed, event)
        found = read_message(wire)
        if found.problem is None:
            vectors.append(flows.add(flow, at, found))
            labels.append(planned(seed, event).conversation.kind)
    return vectors, labels


def gathered(seeds: Sequence[int], events: int) -> tuple[list[Vector], list[str]]:
    """The examples of several seeds; `events` of each."""
    found = [examples(seed, events) for seed in seeds]
    return [vector for vectors, _ in found for vector in vectors], [label for _, labels in found for label in labels]


def fit(vectors: Sequence[Vector], labels: Sequence[str]) -> tuple[StandardScaler, LogisticRegression]:
    """scikit-learn's scaler and estimator; no randomness is in it."""
    matrix = np.array(vectors)
    scaler = StandardScaler().fit(matrix)
    return scaler, LogisticRegression(C=1.0, max_iter=2000).fit(scaler.transform(matrix), labels)


def model_of(scaler: StandardScaler, estimator: LogisticRegression, origin: dict[str, object]) -> Model:
    """Their parameters, rounded to what matters."""
    return Model(
        features=FEATURES,
        classes=tuple(map(str, estimator.classes_)),
        means=_rounded(scaler.mean_),
        scales=_rounded(scaler.scale_),
        coefficients=tuple(_rounded(row) for row in estimator.coef_),
        intercepts=_rounded(estimator.intercept_),
        origin=origin,
    )


def _rounded(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(f"{value:.8g}") for value in values)


def accuracy(model: Model, vectors: Sequence[Vector], labels: Sequence[str]) -> float:
    """Share of the vectors whose class it finds."""
    found = Classifier(model).classify(vectors)
    return sum(name == label for (name, _), label in zip(found, labels, strict=True)) / len(labels)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m topologies.dns.train", description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=6000, help="messages of each of the seeds (%(default)s)")
    parser.add_argument("--output", type=Path, default=MODEL_FILE, help="where to write the model (%(default)s)")
    options = parser.parse_args(arguments)
    vectors, labels = gathered(TRAINING_SEEDS, options.events)
    scaler, estimator = fit(vectors, labels)
    unseen, truth = gathered(HELD_OUT_SEEDS, options.events)
    origin: dict[str, object] = {"seeds": TRAINING_SEEDS, "messages": len(vectors), "held_out_seeds": HELD_OUT_SEEDS}
    origin["held_out_accuracy"] = round(accuracy(model_of(scaler, estimator, origin), unseen, truth), 4)
    model = model_of(scaler, estimator, origin)
    model.write(options.output)
    found = [name for name, _ in Classifier(model).classify(unseen)]
    print(f"{classification_report(truth, found, digits=3)}\nwrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
