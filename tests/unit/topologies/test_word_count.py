"""Word count: what is stored is what a plain count gives, also when sentences come twice."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pasps.testing import complete_topology
from topologies.word_count.expected import expected_keys
from topologies.word_count.sentences import WORDS, counted, sentence
from topologies.word_count.word_count import WordCount

COW = "The cow - the COW! - jumped: it's 1 moon_less night; don\u2019t…"


def stored(tmp_path: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(tmp_path / "a.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    # all are due at once, for the source waits by the machine's clock
    return {"sql.url": f"sqlite:///{tmp_path}/a.db", "trace.rows": [150], "trace.step.seconds": 1e-6}


@pytest.mark.parametrize(("seed", "workers"), [(1, 1), (7, 2)])
def test_the_synthetic_events_are_stored_as_expected(seed: int, workers: int, config: dict[str, Any], tmp_path: Path) -> None:
    done = complete_topology(WordCount, config={**config, "events.seed": seed}, workers=workers)
    assert (len(done.acked["sentences"]), done.errors) == (150, [])
    rows = stored(tmp_path, "SELECT event, word FROM words")
    assert (len(rows), set(rows)) == (len(set(rows)), expected_keys(150, seed))
    plain = Counter(word for number in range(150) for word in sentence(number, seed).split())
    assert dict(stored(tmp_path, "SELECT word, sum(times) FROM words GROUP BY word")) == plain
    assert dict(stored(tmp_path, "SELECT word, max(running) FROM words GROUP BY word")) == plain


def test_a_sentence_that_comes_again_changes_no_sum(config: dict[str, Any], tmp_path: Path) -> None:
    complete_topology(WordCount, {"sentences": [[0, "a b a"], [1, "b"], [0, "a b a"], [2, "?!"]]}, config=config)
    assert stored(tmp_path, "SELECT word, sum(times) FROM words GROUP BY word ORDER BY word") == [("a", 2), ("b", 2)]
    assert stored(tmp_path, "SELECT event, word FROM words ORDER BY 1, 2") == [(0, "a"), (0, "b"), (1, "b")]


def test_a_sentence_that_comes_again_is_counted_once(config: dict[str, Any], tmp_path: Path) -> None:
    said = [[0, "a b a"], [1, "b"], [0, "a b a"], [2, "a b"], [1, "b"]]
    done = complete_topology(WordCount, {"sentences": said}, config=config)
    running = {(event, word, count) for event, word, _, count in done.rows("count")}
    assert running == {(0, "a", 2), (0, "b", 1), (1, "b", 2), (2, "a", 3), (2, "b", 3)}


def test_the_lines_of_a_text_are_sentences_too(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "text").write_text(f"{COW}\n\nthe moon\n")
    complete_topology(WordCount, config={**config, "trace.rows": [2], "events.file": str(tmp_path / "text")})
    totals = dict(stored(tmp_path, "SELECT word, sum(times) FROM words GROUP BY word"))
    assert (totals["the"], totals["moon"], totals["cow"], totals["don\u2019t"]) == (3, 2, 2, 1)


def test_a_word_is_letters_and_digits_whatever_their_case() -> None:
    assert counted(COW) == {"the": 2, "cow": 2, "jumped": 1, "it's": 1, "1": 1, "moon": 1, "less": 1, "night": 1, "don\u2019t": 1}
    assert counted("Ñandú ÑANDÚ 日本") == {"ñandú": 2, "日本": 1}


def test_sentences_are_the_same_for_the_same_number_and_seed() -> None:
    assert sentence(17, 1) == sentence(17, 1)
    assert len({sentence(number, seed) for number in range(50) for seed in (1, 2)}) == 100
    assert all(4 <= len(sentence(number, 1).split()) <= 12 for number in range(200))
    words = Counter(word for number in range(2_000) for word in sentence(number, 1).split())
    assert words.keys() <= set(WORDS)
    assert [word for word, _ in words.most_common(2)] == list(WORDS[:2])
    assert len(WORDS) == len(set(WORDS))
