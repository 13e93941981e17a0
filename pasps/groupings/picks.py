"""Picks of choices that were made row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pasps.api.splitting import Pick


def by_target(targets: Sequence[int]) -> list[tuple[int, Pick]]:
    """The positions of each target among `targets`, which names one for each row."""
    if not targets:
        return []
    first = targets[0]
    if targets.count(first) == len(targets):
        return [(first, None)]
    picked: defaultdict[int, list[int]] = defaultdict(list)
    for position, target in enumerate(targets):
        picked[target].append(position)
    return list(picked.items())
