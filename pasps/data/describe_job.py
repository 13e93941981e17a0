"""Describes traces: small files of this machine here, all others in tasks of Spark, from which only descriptions come back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from pasps.data.describe import Description, describe
from pasps.data.series import Series
from pasps.data.steps import iso_time
from pasps.data.trace_input import Refused, computed, is_local_csv, raise_refused, read_local, read_series
from pasps.errors import InvalidError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST = 100
_MOST_BYTES = 1 << 25


def needs_spark(paths: Sequence[str]) -> bool:
    """Whether some of them are no CSV files of this machine, or are large."""
    return not all(is_local_csv(path) for path in paths) or sum(Path(path).stat().st_size for path in paths) > _MOST_BYTES


def describe_here(paths: Sequence[str]) -> list[Description]:
    """Each of these CSV files.

    Raises:
        InvalidError: one is wrong; names line and column.
    """
    return [describe(read_local(Path(path))) for path in paths]


def describe_on_spark(session: SparkSession, paths: Sequence[str]) -> list[Description]:
    """Each trace of these, by name.

    Raises:
        InvalidError: one is wrong, or there are none, or too many.
        BrokenError: Spark failed.
    """
    each_described = read_series(session, paths).mapPartitions(_described)
    found = computed(lambda: each_described.take(MOST + 1))
    for each in found:
        if isinstance(each, Refused):
            raise_refused(each)
    described = [each for each in found if isinstance(each, Description)]
    if not described:
        raise InvalidError(f"{', '.join(paths)}: expected traces, got no row of any")
    if len(described) > MOST:
        raise InvalidError(f"{', '.join(paths)}: more than {MOST} traces; describe some of them at a time")
    return sorted(described, key=lambda description: description.name)


def description_object(found: Description) -> dict[str, Any]:
    """For JSON; what only a picture needs is left out."""
    fields = asdict(found)
    for name in ("picture", "spikes", "periods"):
        del fields[name]
    step = found.step_seconds
    return {
        **fields,
        **{name: iso_time(fields[name]) for name in ("first", "last", "peak_time")},
        "periods": [{"seconds": period.rows * step, **asdict(period)} for period in found.periods],
        "spikes": [{"time": iso_time(each.time), "row": each.spike.onset, **each.spike.as_object(step)} for each in found.spikes],
    }


def picture_names(described: Sequence[Description]) -> list[str]:
    """A file name for each, no two alike."""
    names: list[str] = []
    for found in described:
        path, bracket, key = found.name.partition("[")
        last = re.sub(r"\.(csv|parquet)(?=$|\W)", "", PurePath(path).name) + bracket + key
        stem = re.sub(r"[^\w.-]+", "-", last).strip("-.") or "trace"
        again = sum(1 for name in names if name == f"{stem}.png" or re.fullmatch(rf"{re.escape(stem)}-\d+\.png", name))
        names.append(f"{stem}-{again + 1}.png" if again else f"{stem}.png")
    return names


def _described(series: Iterable[Series | Refused]) -> Iterator[Description | Refused]:
    for each in series:
        yield each if isinstance(each, Refused) else describe(each)
