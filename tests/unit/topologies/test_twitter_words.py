"""Stop words and sentiment: what goes, what stays, and that VADER scores the same without what went."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from topologies.twitter.made_tweets import TONES, made_tweet
from topologies.twitter.profiles import Profile
from topologies.twitter.sentiment import emojis, lexicon, scored, sentiment
from topologies.twitter.stop_words import FUNCTION_WORDS, STOP_WORDS, stop_words, without_stop_words
from topologies.twitter.tweet_text import LINK, MENTION, MOST_CHARACTERS, tokens

SAID_BY_VADER = ["not", "never", "so", "very", "but", "no", "without", "this", "least", "kind", "to die for"]


def whole(text: str) -> str:
    return " ".join(MENTION.sub("", LINK.sub("", text)).split())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The train to Lima is late", "train Lima late"),
        ("He is at (the) station, and they are too.", "station,"),
        ("I love it", "love"),
        ("@ann look: https://t.co/4f and www.example.org", "look:"),
        ("it was not of the best", "it was not of the best"),  # near a negation everything stays
        ("it IS GREAT", "it IS GREAT"),  # or else all that is left would be in capitals, which VADER takes for the usual
        ("the cake was to die for", "the cake was to die for"),
        ("the cake, to die, for!", "the cake, to die, for!"),
        ("who are you?", "you?"),
        ("I don\u2019t know", "I don't know"),
        ("", ""),
        (" \n\t", ""),
        ("https://t.co/4f", ""),
        ("the of and", ""),
        ("😍😍 of 😡", "😍😍 😡"),
        ("これは すごい", "これは すごい"),
    ],
)
def test_what_stays_of_a_text(text: str, kept: str) -> None:
    assert without_stop_words(text) == kept


def test_the_synthetic_tweets_keep_their_score_and_lose_words() -> None:
    texts = [made_tweet(number, 1).text for number in range(1_000)]
    short = [without_stop_words(text) for text in texts]
    assert [scored(text) for text in short] == [scored(whole(text)) for text in texts]
    assert sum(len(text.split()) for text in short) < 0.75 * sum(len(text.split()) for text in texts)


def test_any_text_keeps_its_score() -> None:
    dice = random.Random(3)
    sorts = [sorted(STOP_WORDS), sorted(STOP_WORDS), sorted(lexicon()), SAID_BY_VADER, sorted(emojis()), ["table", "city", "train"]]
    forms: list[Callable[[str], str]] = [str, str, str, str.upper, str.capitalize, "{}!".format, "{},".format, "({})".format, "{}?".format]
    for _ in range(3_000):
        text = " ".join(dice.choice(forms)(dice.choice(dice.choice(sorts))) for _ in range(dice.randint(0, 20)))
        assert scored(without_stop_words(text)) == scored(whole(text)), text


def test_the_stop_words_are_those_of_scikit_learn_but_for_short_forms_and_what_vader_reads() -> None:
    others = {word for word in STOP_WORDS - ENGLISH_STOP_WORDS if "'" not in word}
    assert others == {"beneath", "did", "does", "having", "just", "near", "shall", "theirs", "unless"}
    assert not STOP_WORDS & set(lexicon())
    assert {"not", "never", "no", "very", "so", "but", "don't", "well"} <= FUNCTION_WORDS - STOP_WORDS


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("what a wonderful day :)", "positive"),
        ("😍", "positive"),
        ("the worst service ever", "negative"),
        ("not good", "negative"),
        ("the train leaves at ten", "neutral"),
        ("", "neutral"),
        ("https://t.co/4f", "neutral"),
        ("¿dónde está la estación?", "neutral"),
    ],
)
def test_labels(text: str, label: str) -> None:
    assert scored(without_stop_words(text))[0] == label


def test_the_labels_of_synthetic_opinions_are_what_they_are_meant_to_be() -> None:
    made = [tweet for tweet in (made_tweet(number, 1) for number in range(2_000)) if tweet.tone]
    right = [tweet for tweet in made if scored(without_stop_words(tweet.text))[0] == tweet.tone]
    assert {tweet.tone for tweet in right} == set(TONES)
    # "can't stop smiling" is negated to VADER
    assert len(right) / len(made) > 0.95
    assert all("can't stop smiling" in tweet.text for tweet in made if tweet not in right)


def test_of_a_text_without_end_only_the_beginning_is_read() -> None:
    assert len(without_stop_words("good but " * 10_000)) <= MOST_CHARACTERS
    assert len(tokens("good " * 10_000)) == MOST_CHARACTERS / len("good ")


def test_the_bolts_pass_the_tweet_on_as_it_came() -> None:
    user = Profile(screen_name="ann", name="", description="", followers=None, friends=None, statuses=None, verified=False, age_days=None)
    row = stop_words(7, "I love the sea", user)
    assert row == (7, "I love the sea", user, "love sea")
    assert sentiment(*row) == (7, "I love the sea", user, "positive", 0.6369)


def test_tokens_of_what_differs_in_every_tweet() -> None:
    text = "RT @Bob: I don\u2019t know #Lima2 1,300 or 5% 🎉 WWW.x.org http://y.io/z?a=1 a_b!"
    assert tokens(text) == [
        *("rt", "<mention>", "i", "don't", "know", "lima", "<number>", "<number>", "or", "<number>"),
        *("<emoji>", "<link>", "<link>", "a", "b", "!"),
    ]
