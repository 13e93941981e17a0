"""PA-SPS's application of tweets (its Figure 7): stop words, sentiment, class of the user, store."""

from topologies.needed import need

need("twitter", vaderSentiment="vaderSentiment", numpy="numpy")
