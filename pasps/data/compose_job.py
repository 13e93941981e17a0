"""The job of Spark behind `pasps traces compose`: each trace's spikes are found in a task, and only what may be taken comes here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pasps.data.arrays import np
from pasps.data.compose import Composed, compose
from pasps.data.series import Series
from pasps.data.steps import SECOND, iso_time
from pasps.data.stretches import Pool, Wanted
from pasps.data.trace_columns import write_parquet
from pasps.data.trace_input import Refused, computed, raise_refused, read_series
from pasps.data.trace_output import replaced
from pasps.errors import InvalidError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compose_traces(session: SparkSession, paths: Sequence[str], wanted: Wanted) -> Composed:
    """The stream that is wanted, of the spikes of these traces. Blocks; a trace must fit into the memory of one task.

    Raises:
        InvalidError: a trace is wrong, or they have too few spikes.
        BrokenError: Spark failed.
    """
    pools = read_series(session, paths).mapPartitions(partial(_pool, wanted))
    found = computed(lambda: pools.treeReduce(_both))
    if isinstance(found, Refused):
        raise_refused(found)
    if not found.traces:
        raise InvalidError(f"{', '.join(paths)}: expected traces, got no row of any")
    return compose(found)


def write_stream(composed: Composed, first: int, step: int, path: Path) -> None:
    """One Parquet file of times and counts, from `first` on every `step`, in microseconds; it is there whole or not at all.

    Raises:
        InvalidError: it cannot be written.
    """
    replaced(path, lambda part: write_parquet(part, np.array([composed.counts]), first, step))


def composed_object(composed: Composed, wanted: Wanted, step: int) -> dict[str, Any]:
    """What was made, and of what, for JSON; `step` is that of the stream, in microseconds."""
    counts = composed.counts
    return {
        "rows": len(counts),
        "step_seconds": step / SECOND,
        "peak": max(counts),
        "least": min(counts),
        "mean": sum(counts) / len(counts),
        "total": sum(counts),
        "seed": wanted.seed,
        "smooth_rows": wanted.smooth_rows,
        "taken": [
            {
                "source": taken.stretch.source,
                "time": iso_time(taken.stretch.time),
                "row": taken.stretch.spike.onset,
                "first_row": taken.stretch.row,
                "rows": len(taken.stretch.values),
                "step_seconds": taken.stretch.step_seconds,
                **taken.stretch.spike.as_object(taken.stretch.step_seconds),
                "onset": taken.onset,
            }
            for taken in composed.taken
        ],
        "spikes": [{"onset": spike.onset, **spike.as_object(step / SECOND)} for spike in composed.spikes],
    }


def _pool(wanted: Wanted, found: Iterable[Series | Refused]) -> Iterator[Pool | Refused]:
    """What the traces of one partition have, or the first that is wrong."""
    pool = Pool(wanted)
    for series in found:
        if isinstance(series, Refused):
            yield series
            return
        pool.look_at(series)
    yield pool


def _both(one: Pool | Refused, other: Pool | Refused) -> Pool | Refused:
    wrong = [each for each in (one, other) if isinstance(each, Refused)]
    if wrong:
        return min(wrong, key=lambda refused: refused.name)
    assert isinstance(one, Pool)
    assert isinstance(other, Pool)
    return one.merge(other)
