"""Reads a line of tweets as Twitter's API gives them: version 1.1, or version 2 with its author among the `includes`. Pure."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from topologies.twitter.profiles import Profile

_TIME_OF_V1 = "%a %b %d %H:%M:%S %z %Y"
_MOST = 1 << 53
"""Nobody has more of anything; a larger count is none."""


def tweet_of(line: str) -> tuple[str, Profile]:
    """Text and author.

    Raises:
        ValueError: it is no tweet, or does not say who published it.
    """
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a tweet as a JSON object: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("expected a tweet as a JSON object: it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"expected a tweet as a JSON object, got {type(found).__name__}")
    if isinstance(found.get("data"), dict):
        return _of_v2(found["data"], found.get("includes"))
    return _of_v1(found)


def _of_v1(tweet: Mapping[str, Any]) -> tuple[str, Profile]:
    user = tweet.get("user")
    if not isinstance(user, dict):
        cure = "; a tweet of version 2 needs its author: expansions=author_id, and user.fields" if "author_id" in tweet else ""
        raise ValueError(f"expected a field 'user', an object{cure}")
    # of a repeated tweet `text` is cut off
    original = _object(tweet, "retweeted_status") or tweet
    extended = _object(original, "extended_tweet")
    text = extended.get("full_text") or original.get("full_text") or original.get("text")
    followers, friends, statuses = (_count(user, f"{name}_count") for name in ("followers", "friends", "statuses"))
    profile = Profile(
        screen_name=_text(user, "screen_name"),
        name=_text(user, "name"),
        description=_text(user, "description"),
        followers=followers,
        friends=friends,
        statuses=statuses,
        verified=user.get("verified") is True,
        age_days=_age_days(user.get("created_at"), tweet.get("created_at")),
    )
    return _published(text, "'text' or 'full_text'"), _named(profile, "user.screen_name")


def _of_v2(tweet: Mapping[str, Any], includes: Any) -> tuple[str, Profile]:
    users = includes.get("users") if isinstance(includes, dict) else None
    candidates = [user for user in users if isinstance(user, dict)] if isinstance(users, list) else []
    user = next((user for user in candidates if user.get("id") == tweet.get("author_id")), None)
    if user is None:
        raise ValueError(f"expected the author {tweet.get('author_id')!r} in includes.users; ask for expansions=author_id")
    numbers = _object(user, "public_metrics")
    profile = Profile(
        screen_name=_text(user, "username"),
        name=_text(user, "name"),
        description=_text(user, "description"),
        followers=_count(numbers, "followers_count"),
        friends=_count(numbers, "following_count"),
        statuses=_count(numbers, "tweet_count"),
        verified=user.get("verified") is True,
        age_days=_age_days(user.get("created_at"), tweet.get("created_at")),
    )
    text = _object(tweet, "note_tweet").get("text") or tweet.get("text")
    return _published(text, "'data.text'"), _named(profile, "username")


def _published(text: Any, field: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"expected the text in a field {field}, got {type(text).__name__}")
    return html.unescape(_clean(text))


def _named(profile: Profile, field: str) -> Profile:
    if not profile["screen_name"]:
        raise ValueError(f"expected the author's name in a field {field!r}")
    return profile


def _clean(text: str) -> str:
    """What UTF-8 and a database can hold: JSON can also say half a character, and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _text(about: Mapping[str, Any], field: str) -> str:
    value = about.get(field)
    return _clean(value) if isinstance(value, str) else ""


def _count(about: Mapping[str, Any], field: str) -> int | None:
    value = about.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def _object(about: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = about.get(field)
    return value if isinstance(value, dict) else {}


def _age_days(made: Any, tweeted: Any) -> float | None:
    """How old the account was; None when a time is not there, or is none."""
    born, now = _time(made), _time(tweeted)
    return None if born is None or now is None else round((now - born).total_seconds() / 86_400, 2)


def _time(text: Any) -> datetime | None:
    if not isinstance(text, str):
        return None
    for read in (datetime.fromisoformat, lambda value: datetime.strptime(value, _TIME_OF_V1)):
        try:
            found = read(text)
        except ValueError:
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None
