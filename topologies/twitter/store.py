"""The database: a row for each tweet."""

from __future__ import annotations

from pasps.connectors.sql import SqlSink


class Store(SqlSink):
    """Classified tweets. A tweet that comes again is the same row, since a row says nothing but what follows of its tweet."""

    table = "tweets"
    columns = {
        "event": int,
        "screen_name": str,
        "text": str,
        "sentiment": str,
        "score": float,
        "user_class": str,
        "confidence": float,
    }
    key = ("event",)
