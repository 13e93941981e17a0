"""The same count of records a second by three: `pasps traces build`, pandas and DuckDB."""
