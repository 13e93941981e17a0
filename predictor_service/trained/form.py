"""The three kinds of trained models, seen alike: arrays of certain shapes, and what they say of windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Arrays = Mapping[str, Array]


class Form(Protocol):
    """What a model is but for its numbers."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays that it is made of, in order."""

    def predictions(self, arrays: Arrays, windows: Array) -> Array:
        """What comes after each window (rows of scaled samples, oldest first): a row of steps for each, scaled."""
