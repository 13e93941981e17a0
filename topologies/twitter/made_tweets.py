"""The synthetic tweets: number n is the same in every process; what it is meant to be is known, for training and tests."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from topologies.twitter.people import Person, author, fill

TONES = ("positive", "negative", "neutral")


@dataclass(frozen=True, slots=True)
class MadeTweet:
    """A text, who published it, and the truth about both.

    `kind` is "news" or "opinion"; what promotes something is no news. News have a `topic`, opinions a `tone` unless they promote;
    where there is none it is "". `template` says which of the texts of its sort it is.
    """

    person: Person
    text: str
    kind: str
    topic: str
    tone: str
    template: int


@cache
def _told() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))


@cache
def topics() -> list[str]:
    """What news are about."""
    return list(_told()["news"])


@cache
def _habit(user_class: str) -> list[int]:
    return list(accumulate(_told()["habits"][user_class]))


def made_tweet(number: int, seed: int) -> MadeTweet:
    """Any number from 0."""
    dice = random.Random(f"tweet:{seed}:{number}")
    person = author(dice, seed)
    told = _told()
    sort = dice.choices(("news", *TONES, "promotion"), cum_weights=_habit(person.user_class))[0]
    topic = tone = ""
    if sort == "news":
        topic = "politics" if person.user_class == "politician" else "business" if person.user_class == "company" else dice.choice(topics())
        texts = told["news"][topic]["texts"]
    elif sort == "promotion":
        texts = told["promotion"]["any"]
    else:
        tone = sort
        texts = told["opinion"][tone]
    template = dice.randrange(len(texts))
    words = told["words"] | {"link": [f"https://t.co/{number:x}"], "user": [f"@user{dice.randrange(1_000)}"]}
    text = fill(texts[template], words, dice)
    return MadeTweet(person, text, "news" if topic else "opinion", topic, tone, template)
