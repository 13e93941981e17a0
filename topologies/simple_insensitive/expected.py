"""What must be in the database at the end."""

from __future__ import annotations


def expected_keys(total: int, seed: int = 1) -> set[tuple[int]]:
    """The keys of all rows, after `total` synthetic events; the seed makes no difference."""
    return {(number,) for number in range(total)}
