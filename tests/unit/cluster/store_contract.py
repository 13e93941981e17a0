"""What every store promises; it runs on the memory store (tests/unit) and on a real ZooKeeper (tests/integration)."""

from __future__ import annotations

from tests.unit.cluster import store_entries, store_sessions

CONTRACT = [*store_entries.PROMISES, *store_sessions.PROMISES]
