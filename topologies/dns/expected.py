"""What must be in the database when all synthetic events are done."""

from __future__ import annotations


def expected_keys(total: int, seed: int = 1) -> set[tuple[int]]:
    """The keys of `dns_events`: every event is one row, whatever its seed made of it, malformed messages too."""
    return {(event,) for event in range(total)}
