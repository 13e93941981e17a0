"""PA-SPS's more complex application of tweets (its Figure 11): news and opinions go by ways of their own into one store."""
