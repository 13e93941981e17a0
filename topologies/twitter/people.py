"""The people of the synthetic stream: number n is the same person in every process, of a class that is known, for training and tests."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from topologies.twitter.profiles import Profile

PEOPLE = 3_000
"""How many of them tweet."""
_SLOT = re.compile(r"\{(\w+)\}")
_NOT_OF_A_NAME = re.compile(r"\W")


@dataclass(frozen=True, slots=True)
class Person:
    """A profile and the truth about it. `template` says which description of the class it has; None: one that tells nothing."""

    user_class: str
    template: int | None
    profile: Profile


@cache
def _told() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("people.toml").read_text(encoding="utf-8"))


@cache
def _class_of_hundred() -> list[str]:
    """The classes of a hundred people, in order."""
    return [name for name, about in _told()["classes"].items() for _ in range(about["share"])]


def fill(template: str, words: Mapping[str, Sequence[str]], dice: random.Random) -> str:
    """A template with words, for each slot one of its own; a word may have slots too."""
    while "{" in template:
        template = _SLOT.sub(lambda match: dice.choice(words[match[1]]), template)
    return template


@lru_cache(maxsize=PEOPLE)
def person(number: int, seed: int) -> Person:
    """Any number from 0; the classes have their shares in every hundred."""
    told = _told()
    user_class = _class_of_hundred()[number % 100]
    about = told["classes"][user_class]
    dice = random.Random(f"person:{seed}:{number}")
    name = fill(dice.choice(about["names"]), told["words"], dice)
    template, description = _description(about, dice)
    profile = Profile(
        screen_name=_NOT_OF_A_NAME.sub("", name) + str(number),
        name=name,
        description=fill(description, told["words"], dice),
        followers=_count(about["followers"], dice),
        friends=_count(about["friends"], dice),
        statuses=_count(about["statuses"], dice),
        verified=dice.random() < about["verified"],
        age_days=dice.randint(*about["age_days"]),
    )
    return Person(user_class, template, profile)


def _description(about: Mapping[str, Any], dice: random.Random) -> tuple[int | None, str]:
    anyone = _told()["anyone"]
    chance = dice.random()
    if chance < about["silent"]:
        return None, ""
    if chance < about["silent"] + anyone["share"]:
        return None, dice.choice(anyone["descriptions"])
    template = dice.randrange(len(about["descriptions"]))
    return template, about["descriptions"][template]


def _count(median_and_spread: Sequence[float], dice: random.Random) -> int:
    median, spread = median_and_spread
    return int(median * dice.lognormvariate(0.0, spread))


@cache
def _authors() -> tuple[list[str], list[float], dict[str, list[int]]]:
    """The classes, how often one of each tweets, and the numbers of its people."""
    of_class: dict[str, list[int]] = {name: [] for name in _told()["classes"]}
    for number in range(PEOPLE):
        of_class[_class_of_hundred()[number % 100]].append(number)
    often = [float(about["share"] * about["tweets"]) for about in _told()["classes"].values()]
    return list(of_class), often, of_class


def author(dice: random.Random, seed: int) -> Person:
    """Who tweets now: some classes more than others, and in each some people much more than others."""
    classes, often, of_class = _authors()
    numbers = of_class[dice.choices(classes, often)[0]]
    return person(numbers[int(len(numbers) * dice.random() ** 2)], seed)
