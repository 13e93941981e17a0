"""Fits the classifiers with scikit-learn, deterministically, and writes what a `LinearModel` needs of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from topologies.twitter.linear_model import LinearModel

DIGITS = 4
"""Decimals that are kept, so that the files are small and training again changes little in them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a classifier is to learn from: tokens and measures of one event, and its class. Samples of a `group` look alike."""

    tokens: Sequence[str]
    numbers: Sequence[float]
    label: str
    group: int | None = None


def estimator(measured: bool, least_documents: int = 3) -> Pipeline:
    """What is trained, as scikit-learn has it: words by TF-IDF, beside them measures if there are any, and a logistic regression.

    A token needs `least_documents` samples to count.
    """
    parts = [("words", make_pipeline(FunctionTransformer(_all_tokens), TfidfVectorizer(analyzer=_as_it_is, min_df=least_documents)))]
    if measured:
        parts.append(("measures", make_pipeline(FunctionTransformer(_all_numbers), StandardScaler())))
    return make_pipeline(FeatureUnion(parts), LogisticRegression(max_iter=1_000))


def fitted(samples: Sequence[Sample], number_names: Sequence[str]) -> dict[str, Any]:
    """Train, and give the record that `LinearModel.of` reads. `number_names` are those of each sample's numbers."""
    trained = estimator(bool(number_names)).fit(samples, [sample.label for sample in samples])
    return record_of(trained, number_names)


def record_of(trained: Pipeline, number_names: Sequence[str]) -> dict[str, Any]:
    """The numbers of a trained `estimator`."""
    parts, regression = dict(trained[0].transformer_list), trained[-1]
    vectors = parts["words"][-1]
    weights, intercepts = regression.coef_.T, regression.intercept_
    if len(regression.classes_) == 2:  # it has the weights of the second class against the first
        weights, intercepts = np.hstack([0 * weights, weights]), np.array([0.0, intercepts[0]])
    tokens = [str(token) for token in vectors.get_feature_names_out()]
    numbers = {}
    if number_names:
        scaler, of_numbers = parts["measures"][-1], weights[len(tokens) :]
        for at, name in enumerate(number_names):
            numbers[name] = {"mean": _short(scaler.mean_[at]), "scale": _short(scaler.scale_[at]), "weights": _short(of_numbers[at])}
    return {
        "classes": [str(name) for name in regression.classes_],
        "intercepts": _short(intercepts),
        "numbers": numbers,
        "tokens": {token: {"idf": _short(vectors.idf_[at]), "weights": _short(weights[at])} for at, token in enumerate(tokens)},
    }


def accuracy(record: dict[str, Any], samples: Sequence[Sample]) -> float:
    """The share of samples whose class the model finds."""
    found = LinearModel.of(record).classify(_all_tokens(samples), _all_numbers(samples))
    return sum(label == sample.label for (label, _), sample in zip(found, samples, strict=True)) / len(samples)


def accuracy_on_new_texts(samples: Sequence[Sample], number_names: Sequence[str], folds: int = 5) -> float:
    """The mean accuracy on samples of groups that training did not see: each group is left out of the training once."""
    shares = []
    for fold in range(folds):
        seen = [sample for sample in samples if sample.group is None or sample.group % folds != fold]
        unseen = [sample for sample in samples if sample.group is not None and sample.group % folds == fold]
        shares.append(accuracy(fitted(seen, number_names), unseen))
    return math.fsum(shares) / folds


def write(record: dict[str, Any], path: Path) -> None:
    """As JSON, a token a line, so that a change can be read."""
    lines = [f"    {json.dumps(token)}: {json.dumps(about)}" for token, about in record["tokens"].items()]
    head = json.dumps({key: value for key, value in record.items() if key != "tokens"}, indent=2)
    text = head.removesuffix("\n}") + ',\n  "tokens": {\n' + ",\n".join(lines) + "\n  }\n}\n"
    path.write_text(text, encoding="utf-8")


def _all_tokens(samples: Sequence[Sample]) -> list[Sequence[str]]:
    return [sample.tokens for sample in samples]


def _all_numbers(samples: Sequence[Sample]) -> list[Sequence[float]]:
    return [sample.numbers for sample in samples]


def _as_it_is(tokens: Sequence[str]) -> Sequence[str]:
    return tokens


def _short(values: Any) -> Any:
    return np.round(values, DIGITS).tolist()
