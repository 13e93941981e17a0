"""The database: a row for each tweet, news and opinions in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pasps import Tuple
from pasps.connectors.sql import SqlSink


class Store(SqlSink):
    """Joins the branches: what the other branch finds is null. `confidence` is that of the topic, or of the user's class."""

    table = "information"
    columns = {
        "event": int,
        "kind": str,
        "screen_name": str,
        "text": str,
        "topic": str,
        "credibility": float,
        "sentiment": str,
        "score": float,
        "user_class": str,
        "confidence": float,
    }
    key = ("event",)

    def rows(self, tup: Tuple) -> Iterable[Mapping[str, Any]]:
        kind = "news" if "topic" in tup else "opinion"
        return ({"kind": kind, **dict(zip(tup.fields, tup.values, strict=True))},)
