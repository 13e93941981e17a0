"""The count as one writes it with DuckDB: python -m benchmarks.trace_counts.by_duckdb RECORDS OUT CORES."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

SQL = """
COPY (
  WITH counts AS (
    SELECT date_trunc('second', time) AS step, count(*) AS records
    FROM read_csv('{records}/*.csv', header = true, columns = {{'time': 'TIMESTAMPTZ', 'user': 'VARCHAR', 'bytes': 'BIGINT'}})
    GROUP BY step
  ), steps AS (
    SELECT unnest(generate_series(min(step), max(step), INTERVAL 1 SECOND)) AS step FROM counts
  )
  SELECT strftime(step AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS time, coalesce(records, 0) AS count
  FROM steps LEFT JOIN counts USING (step) ORDER BY steps.step
) TO '{out}' (HEADER)
"""


def main(records: Path, out: Path, cores: int) -> None:
    """One statement."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {cores}; SET TimeZone = 'UTC'")
        connection.execute(SQL.format(records=records, out=out))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
