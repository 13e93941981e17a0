"""What is in a tweet beside words: links, mentions, hashtags, signs. Pure."""

from __future__ import annotations

import re

LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
MENTION = re.compile(r"(?<!\w)@\w+")
HASHTAG = re.compile(r"(?<!\w)#(\w+)")
_EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf"
_TOKEN = re.compile(rf"https?://\S+|www\.\S+|@\w+|\d[\d.,]*%?|[^\W\d_]+(?:['\u2019][^\W\d_]+)*|[{_EMOJI}]|[!?]", re.IGNORECASE)
MOST_CHARACTERS = 4_000
"""What is read of a text. A tweet has 280, a long one of a subscriber up to 25,000, which no classifier here gains from."""


def tokens(text: str) -> list[str]:
    """The words in lower case; what is different in every tweet stands for its kind: <link>, <mention>, <number>, <emoji>."""
    return [_token(match[0]) for match in _TOKEN.finditer(text[:MOST_CHARACTERS])]


def _token(found: str) -> str:
    head = found[0]
    if head == "@":
        return "<mention>"
    if head.isdigit():
        return "<number>"
    if head.isalpha():
        word = found.lower().replace("\u2019", "'")
        return "<link>" if word.startswith(("http:", "https:", "www.")) else word
    return found if head in "!?" else "<emoji>"
