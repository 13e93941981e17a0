"""What tests of several applications share: rows of their stores, and a bolt that has everything come twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from pasps import Bolt


def rows_of(folder: Path, query: str) -> list[Any]:
    """What a query finds in the store of an application; each row has its columns by name."""
    engine = create_engine(f"sqlite:///{folder}/stored.db")
    try:
        with engine.connect() as connection:
            return list(connection.execute(text(query)))
    finally:
        engine.dispose()


def rows_by_event(folder: Path, table: str) -> dict[int, Any]:
    """All rows of a table by their event, which stands in one row only."""
    rows = rows_of(folder, f"SELECT * FROM {table}")
    assert len({row.event for row in rows}) == len(rows)
    return {row.event: row for row in rows}


class FailsOnce(Bolt):
    """Fails each event the first time that it comes."""

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.seen: set[int] = set()

    def process(self, tup: Any) -> None:
        if tup.values.event not in self.seen:
            self.seen.add(tup.values.event)
            self.fail(tup)
