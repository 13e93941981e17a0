"""What must be in the database at the end."""

from __future__ import annotations

from topologies.word_count.sentences import counted, sentence


def expected_keys(total: int, seed: int = 1) -> set[tuple[int, str]]:
    """The keys of all rows, after `total` synthetic events."""
    return {(number, word) for number in range(total) for word in counted(sentence(number, seed))}
