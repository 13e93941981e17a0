"""What must be in the database at the end."""

from __future__ import annotations

from topologies.word_count.sentences import counted, sentence


def expected_keys(total: int, seed: int = 1) -> set[tuple[int, str]]:
    """The keys of all rows, after `total` synthetic events."""
    return {(number, word) for number in range(total) for word in counted(sentence(number, seed))}


def expected_rows(total: int, seed: int = 1) -> set[tuple[int, str, int]]:
    """The same with how often the word stands in the sentence, which no replay may change."""
    return {(number, word, times) for number in range(total) for word, times in counted(sentence(number, seed)).items()}
