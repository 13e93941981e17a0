"""Where the tweets come from: made up, or a file of Twitter's API."""

from __future__ import annotations

from pasps.spouts import EventSpout
from topologies.twitter.made_tweets import made_tweet
from topologies.twitter.profiles import Profile
from topologies.twitter.tweet_json import tweet_of


class TweetSpout(EventSpout):
    """Tweets with their authors; of a file, one JSON object a line, as version 1.1 or 2 of Twitter's API gives it."""

    outputs = ["event", "text", "user"]

    def synthetic(self, number: int) -> tuple[str, Profile]:
        made = made_tweet(number, self.seed)
        return made.text, made.person.profile

    def from_line(self, line: str) -> tuple[str, Profile]:
        return tweet_of(line)
