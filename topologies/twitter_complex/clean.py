"""Makes the text of a tweet readable for what follows: letters that only look different, signs that do not show, spaces."""

from __future__ import annotations

import re
import unicodedata

from pasps import bolt
from topologies.twitter.profiles import Profile
from topologies.twitter.tweet_text import MOST_CHARACTERS

_REPEATED = re.compile(r"^RT @\w+:\s*")
# control characters and marks of direction or width; not the joiner that emojis are made with
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def cleaned(text: str) -> str:
    """Plain letters in place of styled ones, no "RT @user:", one space where there were several."""
    plain = unicodedata.normalize("NFKC", text[:MOST_CHARACTERS])
    return _REPEATED.sub("", " ".join(_UNSEEN.sub("", plain).split()))


@bolt(outputs=["event", "text", "user"])
def clean(event: int, text: str, user: Profile) -> tuple[int, str, Profile]:
    """The tweet with its text cleaned."""
    return event, cleaned(text), user
