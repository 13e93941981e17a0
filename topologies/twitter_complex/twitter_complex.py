"""PA-SPS's more complex application (its Figure 11): tweets are split into news and opinions, and each have operators of their own.

    pasps run topologies/twitter_complex/twitter_complex.py -o events.total=20000 -o events.rate=1000

Eight bolts: clean, kind; for news source and topic; for opinions stop_words, sentiment and user_class; store. The README beside
says more.

Configuration: the keys of `EventSpout`; `sql.url`.
"""

from __future__ import annotations

from pasps import Topology
from topologies.twitter.sentiment import sentiment
from topologies.twitter.stop_words import stop_words
from topologies.twitter.tweets import TweetSpout
from topologies.twitter.user_class import UserClass
from topologies.twitter_complex.clean import clean
from topologies.twitter_complex.kind import KindOfInformation
from topologies.twitter_complex.source import source
from topologies.twitter_complex.store import Store
from topologies.twitter_complex.topic import Topic


class TwitterComplex(Topology):
    """tweets -> clean -> kind -> source -> topic -> store for news, kind -> stop_words -> sentiment -> user_class -> store for opinions."""

    config = {"topology.max.spout.pending": 10_000}

    tweets = TweetSpout.spec()
    cleaned = clean.spec(inputs=[tweets], name="clean", par=1, pool=5)
    kind = KindOfInformation.spec(inputs=[cleaned], par=1, pool=5)

    sourced = source.spec(inputs=[kind["news"]], name="source", par=1, pool=5)
    topic = Topic.spec(inputs=[sourced], par=1, pool=5)

    filtered = stop_words.spec(inputs=[kind["opinion"]], name="stop_words", par=1, pool=5)
    scored = sentiment.spec(inputs=[filtered], name="sentiment", par=1, pool=5)
    user_class = UserClass.spec(inputs=[scored], par=1, pool=5)

    store = Store.spec(inputs=[topic, user_class], par=1, pool=4)
