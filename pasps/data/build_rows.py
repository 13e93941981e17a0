"""The rows of a trace from the counts of steps, with zeros where nothing came. Spark makes them, in bounded memory."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import lag, lead

from pasps.data.sql_text import literal
from pasps.data.steps import time_digits

_BLOCK = 8192
"""Rows that are made at a time: Spark holds as many in memory, and a gap may be longer."""


def filled(counts: DataFrame, first: int, last: int, step: int, *keys: str) -> DataFrame:
    """A row (`micros`, `count`) for each step from `first` to `last`, in order; with key columns so many for each key.

    `counts` has one row (`start`, `count`) for each step, or each key and step, that has any.
    """
    steps = Window.partitionBy(*keys).orderBy("start")
    own = counts.select(*keys, "start", "count", lag("start").over(steps).alias("before"), lead("start").over(steps).alias("after"))
    # each row makes the zeros before it, then itself; the last one also those up to the end
    since, until = f"coalesce(before + {step}L, {first}L)", f"if(after IS NULL, {last}L, start)"
    spans = own.selectExpr(*keys, "start", "count", f"{since} AS since", f"{until} AS until")
    blocks = spans.selectExpr(*keys, "start", "count", "until", f"explode(sequence(since, until, {step * _BLOCK}L)) AS block")
    # they are in order already; but Spark would compute both explosions in one loop, and hold all rows of a gap
    blocks = blocks.sortWithinPartitions(*keys, "block")
    block_end = f"least(block + {step * (_BLOCK - 1)}L, until)"
    rows = blocks.selectExpr(*keys, "start", "count", f"explode(sequence(block, {block_end}, {step}L)) AS micros")
    return rows.selectExpr(*keys, "micros", "if(micros = start, count, 0L) AS count")


def as_text(rows: DataFrame, step: int, *keys: str) -> DataFrame:
    """Rows as CSV has them: times as ISO 8601 writes them, in UTC."""
    digits = time_digits(step)
    pattern = "yyyy-MM-dd'T'HH:mm:ss" + ("." + "S" * digits if digits else "") + "'Z'"
    return rows.selectExpr(*keys, f"date_format(timestamp_micros(micros), {literal(pattern)}) AS time", "count")


def as_timestamps(rows: DataFrame, *keys: str) -> DataFrame:
    """Rows as Parquet has them."""
    return rows.selectExpr(*keys, "timestamp_micros(micros) AS time", "count")
