"""Databases for the tests of the SQL sink, and writers to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import create_engine, text

from pasps.clock import SystemClock
from pasps.connectors.sql_engine import SqlSettings
from pasps.connectors.sql_rows import Layout, Row
from pasps.connectors.sql_writer import Writer

SHORT = Layout("tweets", {"event": int, "label": str}, ("event",))


@dataclass(frozen=True)
class Database:
    name: str
    url: str

    def run(self, *statements: str) -> list[Any]:
        """The rows of the last one."""
        engine = create_engine(self.url)
        try:
            with engine.begin() as connection:
                results = [connection.execute(text(statement)) for statement in statements]
                return [tuple(row) for row in results[-1]] if results[-1].returns_rows else []
        finally:
            engine.dispose()


Make = Callable[..., Writer]


def making() -> Iterator[Make]:
    """Makes writers, and ends their connections."""
    made: list[Writer] = []

    def writer(database: Database, layout: Layout = SHORT, **settings: Any) -> Writer:
        made.append(Writer(layout, SqlSettings(**{"url": database.url, **settings}), "here", SystemClock(), lambda _: None))
        return made[-1]

    yield writer
    for each in made:
        each.disconnect()


def numbered(events: list[int], label: str = "x") -> list[Row]:
    return [{"event": event, "label": label} for event in events]
