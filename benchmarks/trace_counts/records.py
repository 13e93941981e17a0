"""Raw records to count, made by Spark: CSV with a header; times of one day, a user and a number of bytes."""

from __future__ import annotations

from pathlib import Path

from pasps.data.spark import spark_session

DAY_SECONDS = 86_400
FIRST = 1_709_164_800
"""2024-02-29, midnight in UTC."""
LATE_SECONDS = 3
FILES = 8


def make_records(directory: Path, count: int, cores: int, *, in_order: bool = True) -> int:
    """Write them, and give their bytes; what is there already is kept.

    `in_order`: as logs are, each up to three seconds late; else at any time of the day.
    """
    second = f"id * {DAY_SECONDS / count!r}D + rand(7) * {LATE_SECONDS}" if in_order else f"rand(7) * {DAY_SECONDS}"
    if not (directory / "_SUCCESS").exists():
        with spark_session("records", f"local[{cores}]") as session:
            (
                session.range(0, count, 1, FILES)
                .selectExpr(
                    f"date_format(timestamp_micros(cast(({FIRST} + {second}) * 1000000 as bigint)), "
                    "\"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\") as time",
                    "concat('user', id % 99991) as user",
                    "cast(rand(8) * 10000 as int) as bytes",
                )
                .write.option("header", "true")
                .mode("overwrite")
                .csv(str(directory))
            )
    return sum(path.stat().st_size for path in files_of(directory))


def files_of(directory: Path) -> list[Path]:
    """The files that hold records."""
    return sorted(directory.glob("*.csv"))
