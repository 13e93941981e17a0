"""PA-SPS's application of tweets (its Figure 7): stop words, sentiment, class of the user, store."""
