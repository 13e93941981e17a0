"""What must be in the database at the end."""

from __future__ import annotations

from topologies.complex_sensitive.opinions import IRRELEVANT, opinion_of, verdict


def expected_keys(total: int, seed: int = 1) -> set[tuple[int, str]]:
    """The keys of all rows, after `total` synthetic events."""
    said = ((number, opinion_of(number, seed)) for number in range(total))
    kept = [number for number, it in said if it.topic not in IRRELEVANT and verdict(it.opinion) is not None]
    return {(number, branch) for number in kept for branch in ("city", "age")}
