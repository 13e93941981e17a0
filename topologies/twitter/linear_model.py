"""A text classifier as its numbers: words by TF-IDF and a few measures, weighed by a logistic regression. Evaluated with numpy.

Trained with scikit-learn (`training.py`) and kept as JSON, so that a worker need not import scikit-learn: that takes a second
and 110 MB in each.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_AT_ONCE = 256
"""Documents in a call: from ten on each costs the same, and the table of more leaves the processor's cache."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """What training found. A row of `token_weights` is a word's, a row of `number_weights` a measure's; a column is a class's."""

    classes: tuple[str, ...]
    vocabulary: Mapping[str, int]
    idf: Floats
    means: Floats
    scales: Floats
    token_weights: Floats
    number_weights: Floats
    intercepts: Floats

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> LinearModel:
        """The model that `training.fitted` wrote."""
        tokens, numbers, classes = record["tokens"], record["numbers"], tuple(record["classes"])
        return cls(
            classes=classes,
            vocabulary={token: place for place, token in enumerate(tokens)},
            idf=np.array([about["idf"] for about in tokens.values()]),
            means=np.array([about["mean"] for about in numbers.values()]),
            scales=np.array([about["scale"] for about in numbers.values()]),
            token_weights=_matrix(tokens, len(classes)),
            number_weights=_matrix(numbers, len(classes)),
            intercepts=np.array(record["intercepts"]),
        )

    def probabilities(self, documents: Sequence[Sequence[str]], numbers: Sequence[Sequence[float]]) -> Floats:
        """A row for each document, a column for each class.

        Args:
            documents: The tokens of each; those that training did not see say nothing.
            numbers: The measures of each; NaN is unknown, and says nothing.
        """
        scores = self._frequencies(documents) @ self.token_weights + self.intercepts
        scores += np.nan_to_num((np.asarray(numbers, dtype=float) - self.means) / self.scales) @ self.number_weights
        shares: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def classify(self, documents: Sequence[Sequence[str]], numbers: Sequence[Sequence[float]]) -> list[tuple[str, float]]:
        """The likeliest class of each document, and its probability."""
        if not documents:
            return []
        found = self.probabilities(documents, numbers)
        best = found.argmax(axis=1)
        sure = found[np.arange(len(best)), best]
        return [(self.classes[place], round(share, 4)) for place, share in zip(best.tolist(), sure.tolist(), strict=True)]

    def _frequencies(self, documents: Sequence[Sequence[str]]) -> Floats:
        """TF-IDF as scikit-learn computes it: counts by idf, each row of length one."""
        table = np.zeros((len(documents), len(self.idf)))
        place_of = self.vocabulary.get
        for row, document in enumerate(documents):
            for token, times in Counter(document).items():
                place = place_of(token)
                if place is not None:
                    table[row, place] = times
        table *= self.idf
        lengths = np.sqrt((table * table).sum(axis=1, keepdims=True))
        return table / np.where(lengths == 0, 1.0, lengths)


def _matrix(about: Mapping[str, Any], classes: int) -> Floats:
    return np.array([told["weights"] for told in about.values()]).reshape(len(about), classes)


@cache
def model_of(path: Path) -> LinearModel:
    """The model in a file; read once in a process, and shared by all replicas there."""
    return LinearModel.of(json.loads(path.read_text(encoding="utf-8")))
