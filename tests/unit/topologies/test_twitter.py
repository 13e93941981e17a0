"""The application of tweets as a whole, into SQLite."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pasps.testing import ABORT, CompletedTopology, complete_topology
from tests.unit.topologies.parts import rows_by_event
from topologies.twitter.expected import expected_keys
from topologies.twitter.made_tweets import made_tweet
from topologies.twitter.stop_words import without_stop_words
from topologies.twitter.twitter import Twitter

TOTAL = 400


def run(folder: Path, inputs: Any = None, **config: Any) -> CompletedTopology:
    # all are due at once, for the source waits by the machine's clock
    options = {"trace.rows": [TOTAL], "trace.step.seconds": 1e-6, "sql.url": f"sqlite:///{folder}/stored.db"}
    return complete_topology(Twitter, inputs, config={**options, **config}, workers=2)


def test_every_tweet_is_stored_once_with_its_classes(tmp_path: Path) -> None:
    done = run(tmp_path)
    rows = rows_by_event(tmp_path, "tweets")
    assert {(event,) for event in rows} == expected_keys(TOTAL)
    assert done.errors == []
    right = Counter[str]()
    for event, row in rows.items():
        made = made_tweet(event, 1)
        assert (row.screen_name, row.text) == (made.person.profile["screen_name"], made.text)
        assert -1 <= row.score <= 1
        assert 0 < row.confidence <= 1
        right["class"] += row.user_class == made.person.user_class
        right["tone"] += not made.tone or row.sentiment == made.tone
    assert right["class"] > 0.88 * TOTAL
    assert right["tone"] > 0.95 * TOTAL


def test_another_seed_is_another_stream(tmp_path: Path) -> None:
    run(tmp_path, **{"events.seed": 2})
    rows = rows_by_event(tmp_path, "tweets")
    assert {(event,) for event in rows} == expected_keys(TOTAL, seed=2)
    assert all(row.text == made_tweet(event, 2).text for event, row in rows.items())


def test_sentiment_gets_what_stop_words_left(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert all(words == without_stop_words(said) for _, said, _, words in done.rows("stop_words"))


def test_after_a_worker_died_each_tweet_is_still_one_row(tmp_path: Path) -> None:
    made = [made_tweet(number, 1) for number in range(200)]
    rows: list[Any] = [[number, one.text, one.person.profile] for number, one in enumerate(made)]
    done = run(tmp_path, {"tweets": [*rows[:120], ABORT, *rows[120:]]})
    assert sorted(done.acked["tweets"]) == list(range(200))
    assert {(event,) for event in rows_by_event(tmp_path, "tweets")} == expected_keys(200)
