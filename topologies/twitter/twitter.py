"""PA-SPS's application (its Figure 7): tweets are classified by what they say and by who says it, and stored.

    pasps run topologies/twitter/twitter.py -o events.total=20000 -o events.rate=1000

Stop words go, VADER scores the sentiment, a classifier trained with scikit-learn tells the class of the user, and a database has
a row for each tweet. The README beside says more.

Configuration: the keys of `EventSpout`; `sql.url`.
"""

from __future__ import annotations

from pasps import Topology
from topologies.twitter.sentiment import sentiment
from topologies.twitter.stop_words import stop_words
from topologies.twitter.store import Store
from topologies.twitter.tweets import TweetSpout
from topologies.twitter.user_class import UserClass


class Twitter(Topology):
    """tweets -> stop_words -> sentiment -> user_class -> store."""

    config = {"topology.max.spout.pending": 10_000}

    tweets = TweetSpout.spec()
    filtered = stop_words.spec(inputs=[tweets], name="stop_words", par=1, pool=8)
    scored = sentiment.spec(inputs=[filtered], name="sentiment", par=1, pool=8)
    user_class = UserClass.spec(inputs=[scored], par=1, pool=8)
    store = Store.spec(inputs=[user_class], par=1, pool=4)
