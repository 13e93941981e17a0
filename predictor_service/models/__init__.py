"""One file a model: each module in here has a `MODEL`, and the registry finds it by being here."""
