"""Writes the counts of traces that have a row for every step: as CSV by numpy, as Parquet by Arrow, which are both optional."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pasps.data.arrays import Ints, NDArray, np
from pasps.data.steps import time_digits
from pasps.errors import InvalidError

try:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter
except ImportError as error:
    raise InvalidError(f"Parquet is written by pyarrow, which cannot be imported ({error}); pip install 'pasps[data]'") from error

_AT_ONCE = 1 << 18
"""Rows that are made at a time, and a row group of Parquet."""
_UNITS: Mapping[int, Literal["s", "ms", "us"]] = {0: "s", 3: "ms", 6: "us"}
"""numpy's, by how many digits of a second they have."""


def write_csv(path: Path, counts: Ints, first: int, step: int) -> None:
    """One trace, that begins at `first` and goes on every `step`, in microseconds; all its times have the digits that a step needs."""
    unit = _UNITS[time_digits(step)]
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write("time,count\n")
        for _, times, some in _pieces(counts[np.newaxis], first, step):
            texts = np.datetime_as_string(times, unit=unit)
            file.writelines(f"{time}Z,{count}\n" for time, count in zip(texts.tolist(), some.tolist(), strict=True))


def write_parquet(path: Path, counts: Ints, first: int, step: int, keys: Sequence[str] | None = None) -> None:
    """Traces over the same time, a row of `counts` for each, one after the other; with a column `key`, if there are any."""
    schema = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("count", pa.int64())])
    if keys is not None:
        schema = schema.insert(0, pa.field("key", pa.string()))
    with ParquetWriter(path, schema) as file:
        for traces, times, some in _pieces(counts, first, step):
            columns = [pa.array(times, schema.field("time").type), pa.array(some)]
            if keys is not None:
                columns.insert(0, pa.array(keys, pa.string()).take(pa.array(traces)))
            file.write_table(pa.table(columns, schema=schema))


def _pieces(counts: Ints, first: int, step: int) -> Iterator[tuple[Ints, NDArray[np.datetime64], Ints]]:
    """The rows of all traces, some at a time: which trace each is of, its time, and its count."""
    steps, flat = counts.shape[1], counts.reshape(-1)
    for begin in range(0, len(flat), _AT_ONCE):
        some = flat[begin : begin + _AT_ONCE]
        traces, places = np.divmod(np.arange(begin, begin + len(some)), steps)
        yield traces, (first + places * step).view("datetime64[us]"), some
