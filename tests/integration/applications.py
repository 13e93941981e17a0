"""The applications, and what must be in their databases: one table for the tests that run all of them."""

from __future__ import annotations

import importlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from pasps import Topology
from pasps.api.blueprint import Blueprint

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Application:
    """A folder of topologies/, its topology's file, the table of its store, and columns that are the same whatever happens."""

    name: str
    file: str
    table: str
    columns: tuple[str, ...] = ("event",)

    @property
    def path(self) -> Path:
        return ROOT / "topologies" / self.name / self.file

    def blueprint(self) -> Blueprint:
        """Its topology."""
        module = importlib.import_module(f"topologies.{self.name}.{self.path.stem}")
        own = (value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__)
        return next(value for value in own if issubclass(value, Topology)).blueprint()

    def expected(self, total: int) -> set[tuple[Any, ...]]:
        """Those columns of all rows after so many synthetic events."""
        module = importlib.import_module(f"topologies.{self.name}.expected")
        found: set[tuple[Any, ...]] = getattr(module, "expected_rows", module.expected_keys)(total)
        return found

    def stored(self, url: str) -> Counter[tuple[Any, ...]]:
        """How often each row is in the table, of those columns."""
        engine = create_engine(url)
        try:
            with engine.connect() as connection:
                return Counter(tuple(row) for row in connection.execute(text(f"SELECT {', '.join(self.columns)} FROM {self.table}")))
        finally:
            engine.dispose()

    def check(self, url: str, total: int) -> None:
        """Every event is stored, exactly once, and nothing else is."""
        found = self.stored(url)
        assert found.keys() == self.expected(total)
        assert set(found.values()) == {1}


APPLICATIONS = (
    Application("word_count", "word_count.py", "words", ("event", "word", "times")),
    Application("twitter", "twitter.py", "tweets"),
    Application("twitter_complex", "twitter_complex.py", "information"),
    Application("dns", "dns_traffic.py", "dns_events"),
    Application("logs", "log_events.py", "log_events"),
    Application("simple_insensitive", "simple_insensitive.py", "insensitive_results"),
    Application("simple_sensitive", "simple_sensitive.py", "sensitive_results"),
    Application("complex_sensitive", "complex_sensitive.py", "opinions", ("event", "branch")),
)
