"""Tweets as Twitter's API gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pasps.errors import PaspsError
from pasps.testing import complete_topology
from topologies.twitter.profiles import NUMBERS, numbers_of
from topologies.twitter.tweet_json import tweet_of
from topologies.twitter.twitter import Twitter
from topologies.twitter.user_class import classified

USER_V1 = {
    "screen_name": "ann_s",
    "name": "Ann",
    "description": "Student of law",
    "followers_count": 12,
    "friends_count": 30,
    "statuses_count": 400,
    "verified": False,
    "created_at": "Tue Sep 29 12:00:00 +0000 2020",
}
V1 = {"created_at": "Thu Sep 30 00:00:00 +0000 2021", "id_str": "1", "text": "Tea &amp; cake", "user": USER_V1}
V2 = {
    "data": {"id": "1", "text": "Tea &amp; cake", "author_id": "9", "created_at": "2021-09-30T00:00:00.000Z"},
    "includes": {
        "users": [
            {"id": "8", "username": "bob"},
            {
                "id": "9",
                "username": "ann_s",
                "name": "Ann",
                "description": "Student of law",
                "verified": False,
                "created_at": "2020-09-29T12:00:00.000Z",
                "public_metrics": {"followers_count": 12, "following_count": 30, "tweet_count": 400, "listed_count": 1},
            },
        ]
    },
}


def test_both_versions_say_the_same() -> None:
    text, user = tweet_of(json.dumps(V1))
    assert text == "Tea & cake"
    assert user == {
        "screen_name": "ann_s",
        "name": "Ann",
        "description": "Student of law",
        "followers": 12,
        "friends": 30,
        "statuses": 400,
        "verified": False,
        "age_days": 365.5,
    }
    assert tweet_of(json.dumps(V2)) == (text, user)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"full_text": "all of it", "text": None}, "all of it"),
        ({"extended_tweet": {"full_text": "all of it"}}, "all of it"),
        ({"text": "RT @x: all o...", "retweeted_status": {"text": "all of it"}}, "all of it"),
        ({"retweeted_status": {"text": "all...", "extended_tweet": {"full_text": "all of it"}}}, "all of it"),
        ({"text": ""}, ""),
        ({"text": "half \ud83d and \0 none"}, "half ? and  none"),
    ],
)
def test_the_whole_text_is_taken(more: dict[str, Any], text: str) -> None:
    assert tweet_of(json.dumps({**V1, **more}))[0] == text


def test_what_a_profile_does_not_say_is_unknown_and_can_still_be_classified() -> None:
    user = tweet_of(json.dumps({"text": "hello", "user": {"screen_name": "x", "followers_count": "many", "statuses_count": 10**400}}))[1]
    assert (user["followers"], user["statuses"], user["age_days"], user["description"]) == (None, None, None, "")
    assert len(numbers_of(user)) == len(NUMBERS)
    ((user_class, confidence),) = classified([user])
    assert user_class == "ordinary"
    assert 0.5 < confidence < 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hello", "expected a tweet as a JSON object: Expecting value at character 0"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "expected a tweet as a JSON object, got list"),
        ('{"limit": {"track": 5}}', "expected a field 'user', an object"),
        ('{"text": "a", "author_id": "9"}', "a tweet of version 2 needs its author: expansions=author_id"),
        ('{"data": {"text": "a", "author_id": "9"}}', "expected the author '9' in includes.users"),
        ('{"data": {"text": "a", "author_id": "9"}, "includes": {"users": [3, {"id": "1"}]}}', "expected the author '9'"),
        ('{"user": {"screen_name": "x"}}', "expected the text in a field 'text' or 'full_text', got NoneType"),
        ('{"text": "a", "user": {}}', "expected the author's name in a field 'user.screen_name'"),
    ],
)
def test_what_is_no_tweet_is_refused(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        tweet_of(line)
    assert problem in str(caught.value)


def test_a_file_of_tweets_goes_through_the_application(tmp_path: Path) -> None:
    file = tmp_path / "tweets.jsonl"
    file.write_text("\n\n".join([json.dumps(V1), json.dumps(V2)]), encoding="utf-8")
    config = {"events.file": str(file), "trace.rows": [4], "trace.step.seconds": 1e-6, "sql.url": f"sqlite:///{tmp_path}/stored.db"}
    done = complete_topology(Twitter, config=config)
    assert [row[:5] for row in done.rows("user_class")] == [(number, "ann_s", "Tea & cake", "neutral", 0.0) for number in range(4)]
    assert {row[5] for row in done.rows("user_class")} == {"student"}


def test_a_line_that_is_no_tweet_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tweets.jsonl"
    file.write_text(f"{json.dumps(V1)}\n\nno tweet\n", encoding="utf-8")
    with pytest.raises(PaspsError, match=r"tweets\.jsonl', line 3: expected a tweet as a JSON object: .* got 'no tweet'"):
        complete_topology(Twitter, config={"events.file": str(file), "sql.url": f"sqlite:///{tmp_path}/stored.db"})
