"""`python -m benchmarks.sql_sink [--url URL]...`: rows a second of one sink, by how many rows are in a transaction.

Without a URL: a new SQLite file in the temporary directory. The tables that it makes are dropped again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from sqlalchemy import create_engine, text

from pasps.clock import SystemClock
from pasps.connectors.sql_engine import SqlSettings
from pasps.connectors.sql_rows import Layout, fitted
from pasps.connectors.sql_writer import Writer

_BATCHES = (1, 32, 1024)
_COLUMNS: dict[str, type] = {"event": int, "label": str, "score": float}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.sql_sink", description=__doc__)
    parser.add_argument("--url", action="append", help="as in sql.url; may be given several times")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="batch sizes take turns; the median is told")
    wanted = parser.parse_args(arguments)
    print("| database | rows in a transaction | rows/s | against 1 row |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        for url in wanted.url or [f"sqlite:///{Path(directory) / 'rows.db'}"]:
            for line in _lines(url, wanted.seconds, wanted.rounds):
                print(line)
    return 0


def _lines(url: str, seconds: float, rounds: int) -> list[str]:
    found: dict[int, list[float]] = {batch: [] for batch in _BATCHES}
    for number in range(rounds):
        for batch in _BATCHES:
            found[batch].append(_rows_per_second(url, f"pasps_benchmark_{number}_{batch}", batch, seconds))
    rates = {batch: median(rates) for batch, rates in found.items()}
    name = url.partition(":")[0]
    return [f"| {name} | {batch:,} | {rate:,.0f} | {rate / rates[1]:.0f} x |" for batch, rate in rates.items()]


def _rows_per_second(url: str, table: str, batch: int, seconds: float) -> float:
    layout, clock = Layout(table, _COLUMNS, ("event",)), SystemClock()
    writer = Writer(layout, SqlSettings(url, batch=batch), "benchmark", clock, lambda _: None)
    writer.prepare()
    try:
        start, written = clock.now(), 0
        while clock.now() < start + seconds:
            rows = [fitted(layout, {"event": n, "label": f"label {n}", "score": n / 7}) for n in range(written, written + batch)]
            if writer.write(rows):
                raise AssertionError("a row was refused")
            written += batch
        return written / (clock.now() - start)
    finally:
        writer.disconnect()
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text(f"DROP TABLE {table}"))
        engine.dispose()


if __name__ == "__main__":
    sys.exit(main())
