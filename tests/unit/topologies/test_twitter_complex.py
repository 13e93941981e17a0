"""The application with two branches: what each bolt finds, and the whole, into SQLite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pasps.testing import ABORT, CompletedTopology, complete_topology
from tests.unit.topologies.parts import rows_by_event
from topologies.twitter.made_tweets import made_tweet, topics
from topologies.twitter.people import person
from topologies.twitter.profiles import Profile
from topologies.twitter.training import accuracy, accuracy_on_new_texts, fitted
from topologies.twitter_complex import kind, topic
from topologies.twitter_complex.clean import clean, cleaned
from topologies.twitter_complex.expected import expected_keys
from topologies.twitter_complex.kind import kinds_of
from topologies.twitter_complex.source import WEIGHTS, credibility, source
from topologies.twitter_complex.topic import topics_of
from topologies.twitter_complex.train import OTHER_SEED, SEED, TWEETS, keyword_samples, kind_samples, topic_samples, tweets
from topologies.twitter_complex.twitter_complex import TwitterComplex

TOTAL = 400
BOLD = "\U0001d5e1\U0001d5d8\U0001d5ea\U0001d5e6"
"""NEWS, in letters of mathematics, as some write to be seen."""
NOBODY = Profile(screen_name="x", name="", description="", followers=None, friends=None, statuses=None, verified=False, age_days=None)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("RT @bob:  so   true\n\nindeed ", "so true indeed"),
        (f"{BOLD}: flood", "NEWS: flood"),
        ("a\u200bb\u202ec\x07", "abc"),
        ("👩\u200d🚀 and ❤\ufe0f", "👩\u200d🚀 and ❤\ufe0f"),
        ("", ""),
        ("RT @bob:", ""),
    ],
)
def test_cleaning(said: str, kept: str) -> None:
    assert cleaned(said) == kept
    assert clean(3, said, NOBODY) == (3, kept, NOBODY)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Prime minister loses confidence vote as coalition partner quits", "news"),
        ("Thousands evacuated as wildfire spreads near the coast https://t.co/4f", "news"),
        ("I am so tired of this, why does it always rain?", "opinion"),
        ("omg I love this song so much 😍", "opinion"),
        ("", "opinion"),
        ("🎉", "opinion"),
    ],
)
def test_kinds(said: str, found: str) -> None:
    assert kinds_of([said]) == [found]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Prime minister loses confidence vote as coalition partner quits", "politics"),
        ("Fed holds rates steady as inflation cools", "business"),
        ("Late winner takes Miami to the cup final", "sport"),
        ("New malware steals passwords from browser, researchers warn of security flaw", "technology"),
        ("Scientists discover drug that slows the disease", "health"),
        ("Thousands evacuated as wildfire spreads", "weather"),
        ("Museum reopens", "other"),
        ("", "other"),
        ("https://t.co/4f 12 !", "other"),
    ],
)
def test_topics(said: str, found: str) -> None:
    assert topics_of([said])[0][0] == found


def test_credibility_is_the_weight_of_what_holds() -> None:
    known: Profile = {**NOBODY, "verified": True, "followers": 5_000, "friends": 10, "age_days": 900.0}
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert credibility("Flood in Leeds https://t.co/4f", known) == 1
    assert credibility("Flood in Leeds https://t.co/4f", NOBODY) == WEIGHTS["linked"] + WEIGHTS["sober"]
    assert credibility("FLOOD in LEEDS", NOBODY) == 0
    assert credibility("flood!!", NOBODY) == 0
    assert credibility("", NOBODY) == WEIGHTS["sober"]
    assert credibility("flood", {**NOBODY, "followers": 5_000, "friends": 5_000}) == WEIGHTS["sober"]
    assert source(4, "flood", known) == (4, "flood", "x", 0.85)


def test_press_is_believed_more_than_bots() -> None:
    people = [person(number, 1) for number in range(1_000)]

    def mean(user_class: str) -> float:
        found = [credibility("Flood in Leeds", one.profile) for one in people if one.user_class == user_class]
        return sum(found) / len(found)

    assert mean("press") > 2 * mean("bot")


def test_training_again_gives_the_models_that_are_there() -> None:
    made = tweets(TWEETS, SEED)
    for samples, numbers, path in (
        (kind_samples(made), kind.NUMBERS, kind.MODEL),
        (topic_samples(made) + keyword_samples(150, SEED), (), topic.MODEL),
    ):
        record, there = fitted(samples, numbers), json.loads(path.read_text(encoding="utf-8"))
        assert record["tokens"].keys() == there["tokens"].keys()
        for token, about in there["tokens"].items():
            assert record["tokens"][token]["weights"] == pytest.approx(about["weights"], abs=0.02), token


def test_other_tweets_get_their_kind_and_topic() -> None:
    made = tweets(1_000, OTHER_SEED)
    assert accuracy(json.loads(kind.MODEL.read_text(encoding="utf-8")), kind_samples(made)) > 0.98
    assert accuracy(json.loads(topic.MODEL.read_text(encoding="utf-8")), topic_samples(made)) > 0.98


def test_tweets_of_a_new_sort_get_theirs_mostly() -> None:
    made = tweets(1_500, SEED)
    assert accuracy_on_new_texts(kind_samples(made), kind.NUMBERS, folds=3) > 0.75
    assert accuracy_on_new_texts(topic_samples(made) + keyword_samples(150, SEED), (), folds=3) > 0.8


def run(folder: Path, inputs: Any = None) -> CompletedTopology:
    # all are due at once, for the source waits by the machine's clock
    config = {"trace.rows": [TOTAL], "trace.step.seconds": 1e-6, "sql.url": f"sqlite:///{folder}/stored.db"}
    return complete_topology(TwitterComplex, inputs, config=config, workers=2)


def test_every_tweet_is_stored_once_whichever_way_it_went(tmp_path: Path) -> None:
    done = run(tmp_path)
    rows = rows_by_event(tmp_path, "information")
    assert {(event,) for event in rows} == expected_keys(TOTAL)
    assert done.errors == []
    for event, row in rows.items():
        made = made_tweet(event, 1)
        assert (row.kind, row.text, row.screen_name) == (made.kind, made.text, made.person.profile["screen_name"])
        of_news, of_opinions = (row.topic, row.credibility), (row.sentiment, row.score, row.user_class)
        assert of_opinions == (None,) * 3 if made.kind == "news" else of_news == (None,) * 2
        assert 0 <= row.confidence <= 1
    news = [row for row in rows.values() if row.kind == "news"]
    assert len(done.rows("topic")) == len(news)
    assert len(done.rows("user_class")) == TOTAL - len(news)
    assert {row.topic for row in news} == set(topics())


def test_it_has_eight_operators() -> None:
    assert len(TwitterComplex.blueprint().components) == 8 + len(["tweets"])


def test_after_a_worker_died_each_tweet_is_still_one_row(tmp_path: Path) -> None:
    made = [made_tweet(number, 1) for number in range(200)]
    rows: list[Any] = [[number, one.text, one.person.profile] for number, one in enumerate(made)]
    done = run(tmp_path, {"tweets": [*rows[:120], ABORT, *rows[120:]]})
    assert sorted(done.acked["tweets"]) == list(range(200))
    assert {(event,) for event in rows_by_event(tmp_path, "information")} == expected_keys(200)
