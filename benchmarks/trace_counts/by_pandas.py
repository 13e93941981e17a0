"""The count as one writes it with pandas: python -m benchmarks.trace_counts.by_pandas RECORDS OUT."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas

from benchmarks.trace_counts.records import files_of


def main(records: Path, out: Path) -> None:
    """Read the column of times, count by second, fill the gaps, write."""
    frames = [pandas.read_csv(path, usecols=["time"], dtype={"time": "str"}) for path in files_of(records)]
    times = pandas.to_datetime(pandas.concat(frames)["time"], format="ISO8601", utc=True)
    counts = times.dt.floor("s").value_counts().sort_index()
    steps = pandas.date_range(counts.index[0], counts.index[-1], freq="s")
    trace = counts.reindex(steps, fill_value=0).rename("count").rename_axis("time").reset_index()
    trace.to_csv(out, index=False, date_format="%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
