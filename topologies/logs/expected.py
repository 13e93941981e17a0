"""What must be in the database when all synthetic lines are done."""

from __future__ import annotations


def expected_keys(total: int, seed: int = 1) -> set[tuple[int]]:
    """The keys of `log_events`: every line is one row, whatever its seed made of it, lines of no known format too."""
    return {(event,) for event in range(total)}
