"""Count-Min sketches of two matrices: how often keys came, and what they took; see `osg`, which needs their very cells.

Cells are numbered row by row. All processes hash alike, so a sketch may be read elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import inf
from random import Random
from zlib import crc32

from pasps.groupings.keys import mix

PRIME = 10_000_019
_SEED = 20_170_701
Cells = tuple[int, ...]
"""Where a key is counted: one cell in each row."""


@cache
def cells_by(rows: int) -> Callable[[int, bytes], Cells]:
    """What gives the cells of an encoded key in `rows` rows of so many columns; each row has a hash of its own.

    Rows are |(a x + b) mod p| mod columns, as OSG's prototype has it. x is the key itself where that is a whole number.
    """
    random = Random(_SEED).random  # the same numbers in every version of Python, which `randint` does not promise
    factors = [(1 + int(random() * (PRIME - 1)), 1 + int(random() * (PRIME - 1))) for _ in range(rows)]

    def cells_of(columns: int, encoded: bytes) -> Cells:
        x = int.from_bytes(encoded[1:], "little", signed=True) if encoded[:1] == b"i" else mix(crc32(encoded))
        return tuple(row * columns + (a * x + b) % PRIME % columns for row, (a, b) in enumerate(factors))

    return cells_of


class Sketch:
    """`counts` and `micros`: how many tuples were counted in each cell, and the microseconds that they took.

    A key's count is never too low. It is too high by more than epsilon of all other tuples with a probability of delta at most, with
    ceil(log2(1 / delta)) rows of ceil(e / epsilon) columns.
    """

    __slots__ = ("_columns", "counts", "micros")

    def __init__(self, columns: int, counts: list[int], micros: list[int]) -> None:
        self._columns = columns
        self.counts = counts
        self.micros = micros

    @classmethod
    def empty(cls, rows: int, columns: int) -> Sketch:
        """Without a tuple."""
        return cls(columns, [0] * (rows * columns), [0] * (rows * columns))

    def add(self, cells: Cells, micros: int) -> None:
        """A tuple took so long."""
        counts, sums = self.counts, self.micros
        for cell in cells:
            counts[cell] += 1
            sums[cell] += micros

    def count(self, cells: Cells) -> int:
        """How often the key came, at most."""
        return min([self.counts[cell] for cell in cells])

    def mean(self, cells: Cells) -> float:
        """Microseconds that a tuple with the key takes: what was seen where the fewest others were; of an unseen one, as of all."""
        counts = self.counts
        cell = min(cells, key=counts.__getitem__)
        return self.micros[cell] / counts[cell] if counts[cell] else self.mean_of_all()

    def mean_of_all(self) -> float:
        """Microseconds that a tuple takes; 0 when there was none."""
        tuples = sum(self.counts[: self._columns])  # each row has all of them
        return sum(self.micros[: self._columns]) / tuples if tuples else 0.0

    def means(self) -> list[float]:
        """Of each cell, 0 where there was none."""
        return [micros / count if count else 0.0 for count, micros in zip(self.counts, self.micros, strict=True)]


def change(before: Sequence[float], now: Sequence[float]) -> float:
    """Eq. 14: how far the means of cells are from those before, as a share of these. Without any before nothing is stable: infinite.

    An empty cell is 0 then or now: as 0/0 it would make the sum no number, and nothing would ever be stable.
    """
    total = sum(before)
    return sum(abs(then - mean) for then, mean in zip(before, now, strict=True)) / total if total else inf
