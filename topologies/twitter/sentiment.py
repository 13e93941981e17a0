"""Scores a tweet's sentiment by VADER: a lexicon and rules for English as it is written in social media."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from pasps import bolt
from topologies.twitter.profiles import Profile

THRESHOLD = 0.05
"""As VADER's authors have it: below, a score in either direction is neutral."""


@cache
def _analyzer() -> SentimentIntensityAnalyzer:
    # read once for all replicas in a process: 10 ms and 3 MB
    return SentimentIntensityAnalyzer()


def lexicon() -> Mapping[str, float]:
    """The words that VADER knows, each with how good it is."""
    found: Mapping[str, float] = _analyzer().lexicon
    return found


def emojis() -> Mapping[str, str]:
    """The emojis that VADER knows, each with its description, which it reads in its place."""
    found: Mapping[str, str] = _analyzer().emojis
    return found


def scored(words: str) -> tuple[str, float]:
    """Label ("positive", "negative" or "neutral") and VADER's compound score, from -1 to 1."""
    score: float = _analyzer().polarity_scores(words)["compound"]
    if score >= THRESHOLD:
        return "positive", score
    return ("negative" if score <= -THRESHOLD else "neutral"), score


@bolt(outputs=["event", "text", "user", "sentiment", "score"])
def sentiment(event: int, text: str, user: Profile, words: str) -> tuple[int, str, Profile, str, float]:
    """Label and score in place of the words."""
    return event, text, user, *scored(words)
