"""How far the source of news can be believed, by what is known of it and by how it writes."""

from __future__ import annotations

from pasps import bolt
from topologies.twitter.profiles import Profile
from topologies.twitter.tweet_text import LINK

YEAR_DAYS = 365.25
WEIGHTS = {"verified": 0.3, "established": 0.2, "followed": 0.2, "linked": 0.15, "sober": 0.15}
"""What speaks for a source, and how much; they sum up to 1."""


def credibility(text: str, user: Profile) -> float:
    """From 0 to 1: the weights of what holds. What is not known does not."""
    followers, friends = user["followers"] or 0, user["friends"] or 0
    letters = [letter for letter in LINK.sub("", text) if letter.isalpha()]
    shouted = sum(letter.isupper() for letter in letters) > len(letters) / 2
    holds = {
        "verified": user["verified"],
        "established": (user["age_days"] or 0.0) >= YEAR_DAYS,
        "followed": followers >= 1_000 and followers >= 2 * friends,
        "linked": LINK.search(text) is not None,
        "sober": not shouted and "!!" not in text,
    }
    return round(sum(WEIGHTS[name] for name, true in holds.items() if true), 2)


@bolt(outputs=["event", "text", "screen_name", "credibility"])
def source(event: int, text: str, user: Profile) -> tuple[int, str, str, float]:
    """The source's name and credibility in place of its profile."""
    return event, text, user["screen_name"], credibility(text, user)
