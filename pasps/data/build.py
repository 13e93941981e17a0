"""Builds a trace from raw records in Spark, and writes it with what it found; `pasps traces build` calls it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast

from pasps.data.build_count import bad_records, counts, opened, span_of
from pasps.data.build_output import KEYS_PARQUET, TRACE_CSV, TRACE_PARQUET, Output
from pasps.data.build_request import BuildRequest, check
from pasps.data.build_rows import as_text, as_timestamps, filled
from pasps.data.build_summary import KeySummary, Summary
from pasps.data.build_totals import Totals, per_step, summary, totals
from pasps.data.hadoop_files import HadoopFiles, shown
from pasps.data.record_source import Kind
from pasps.data.spark import SESSION_CONF
from pasps.data.steps import step_micros
from pasps.errors import InvalidError

Told = Callable[[str], None]
_UNDO_SECONDS = 10.0
_CONF: Mapping[str, str] = {**SESSION_CONF, "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


def build_trace(session: SparkSession, request: BuildRequest, told: Told = lambda _: None) -> Summary:
    """Count the records of a request, and write its directory. `told` hears what is done next.

    One pass over the records, and a second one when some are bad, to keep those aside. Memory does not grow with the records.

    Raises:
        InvalidError: the request does not fit the records, there is an output already, or it would have too many steps or keys;
            nothing is written then.
        BrokenError: the output cannot be written.
    """
    check(request)
    own = session.newSession()
    for key, value in _CONF.items():
        own.conf.set(key, value)
    files = HadoopFiles(own, request.out)
    _check_apart(own, files.path, request)
    output = Output(files, request)
    told("counting")
    step, span = step_micros(request.step), span_of(own, request)
    records = opened(own, request.records)
    counted = counts(records, step, span).persist(StorageLevel.MEMORY_AND_DISK)
    with _undone_by(own.interruptAll, counted.unpersist, output.discard):
        found = totals(counted, request)
        output.begin()
        if found.bad:
            told(f"keeping {sum(found.bad.values()):,} bad records aside")
            output.write_bad(bad_records(records, span))
        told(f"writing {found.steps:,} steps")
        _write_trace(output, counted, request, found)
        if found.keys:
            told(f"writing {len(found.keys):,} keys")
            _write_keys(own, output, counted, step, found)
        said = summary(found, request, shown(output.path))
        output.finish(said)
    counted.unpersist()
    return said


@contextmanager
def _undone_by(*actions: Callable[[], object]) -> Iterator[None]:
    """When the block fails or is interrupted, these are called, in order."""
    try:
        yield
    except BaseException:
        # on a thread of its own, which has a connection of its own to Spark: Ctrl-C breaks the one that waits for an answer
        thread = threading.Thread(target=_call_all, args=(actions,), daemon=True)
        thread.start()
        thread.join(_UNDO_SECONDS)
        raise


def _call_all(actions: Sequence[Callable[[], object]]) -> None:
    for action in actions:
        with suppress(Py4JError, PySparkException, OSError):
            action()


def _write_trace(output: Output, counted: DataFrame, request: BuildRequest, found: Totals) -> None:
    step = step_micros(request.step)
    rows = filled(per_step(counted, request), found.first, found.last, step)
    output.write_csv(as_text(rows, step), TRACE_CSV)
    output.write_parquet(as_timestamps(rows), TRACE_PARQUET)


def _write_keys(session: SparkSession, output: Output, counted: DataFrame, step: int, found: Totals) -> None:
    keys: Mapping[str, KeySummary] = found.keys or {}
    numbers = session.createDataFrame([(key, number) for number, key in enumerate(keys)], "key string, number int")
    own = counted.where(f"kind = {Kind.COUNTED}").join(broadcast(numbers), "key").select("number", "key", "start", "count")
    rows = filled(own, found.first, found.last, step, "number", "key").sortWithinPartitions("number", "micros")
    output.write_csv_each(as_text(rows, step, "number"), "number", [part.file for part in keys.values()])
    # in one task they come out key by key
    together = filled(own.repartition(1), found.first, found.last, step, "number", "key")
    output.write_parquet(as_timestamps(together, "key"), KEYS_PARQUET)


def _check_apart(session: SparkSession, out: str, request: BuildRequest) -> None:
    """A build may neither replace its own records nor count what an earlier one wrote."""
    found = (match for path in request.records.paths for match in HadoopFiles(session, path).matching())
    for records in found:
        if f"{out}/".startswith(f"{records}/") or f"{records}/".startswith(f"{out}/"):
            raise InvalidError(f"--out: {shown(out)} and the records at {shown(records)} are one in the other; give another directory")
