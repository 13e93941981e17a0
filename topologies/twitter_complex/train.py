"""Trains the classifiers of texts: `python -m topologies.twitter_complex.train` writes kind.json and topic.json, the same each time.

They learn from tweets made by a seed of their own, which the application does not use, and say how well they do on others.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from pathlib import Path

from topologies.twitter.made_tweets import MadeTweet, made_tweet
from topologies.twitter.training import Sample, accuracy, accuracy_on_new_texts, fitted, write
from topologies.twitter.tweet_text import tokens
from topologies.twitter_complex import kind, topic

SEED, TWEETS = 71, 4_000
OTHER_SEED = 72
KEYWORDS, KEYWORD_TEXTS = 5, 150
"""How many in a text, and how many texts of a topic."""


def tweets(count: int, seed: int) -> list[MadeTweet]:
    """What is learned from."""
    return [made_tweet(number, seed) for number in range(count)]


def kind_samples(made: Sequence[MadeTweet]) -> list[Sample]:
    """Tweets as `kind` sees them."""
    return [Sample(tokens(one.text), kind.numbers_of(one.text), one.kind, one.template) for one in made]


def topic_samples(made: Sequence[MadeTweet]) -> list[Sample]:
    """The news among them as `topic` sees them."""
    return [Sample(topic.words_of(one.text), (), one.topic, one.template) for one in made if one.topic]


def keyword_samples(count: int, seed: int) -> list[Sample]:
    """Words of topics.toml, some at a time, for each topic as many."""
    told: dict[str, str] = tomllib.loads(Path(__file__).with_name("topics.toml").read_text(encoding="utf-8"))
    dice = random.Random(seed)
    return [Sample(dice.sample(words.split(), KEYWORDS), (), name) for name, words in told.items() for _ in range(count)]


def main() -> None:
    """Train both, say how good they are, write them."""
    known, others = tweets(TWEETS, SEED), tweets(TWEETS, OTHER_SEED)
    _train("kind", kind_samples(known), kind_samples(others), kind.NUMBERS, kind.MODEL)
    _train("topic", topic_samples(known) + keyword_samples(KEYWORD_TEXTS, SEED), topic_samples(others), (), topic.MODEL)


def _train(what: str, known: Sequence[Sample], others: Sequence[Sample], number_names: Sequence[str], path: Path) -> None:
    record = fitted(known, number_names)
    print(f"{what}: {accuracy(record, others):.3f} of {len(others):,} other tweets get theirs")
    print(f"{what}: {accuracy_on_new_texts(known, number_names):.3f} of those whose sort of text was left out of the training do")
    write(record, path)
    print(f"wrote {path}: {len(record['tokens'])} words, {len(record['classes'])} classes")


if __name__ == "__main__":
    main()
