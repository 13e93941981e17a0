"""Builds a trace from raw records in Spark, and writes it with what it found; `pasps traces build` calls it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pasps.data.build_count import bad_records, buckets, counts, filled, groups, opened, span_of
from pasps.data.build_output import Output
from pasps.data.build_request import BuildRequest, check
from pasps.data.build_totals import Summary, stretch_micros, summary, too_long, totals
from pasps.data.hadoop_files import HadoopFiles, shown
from pasps.data.spark import SESSION_CONF
from pasps.data.steps import step_micros
from pasps.errors import InvalidError

Told = Callable[[str], None]
_UNDO_SECONDS = 10.0


def build_trace(session: SparkSession, request: BuildRequest, told: Told = lambda _: None) -> Summary:
    """Count the records of a request, and write its directory. `told` hears what is done next.

    One pass over the records, and a second one when some are bad, to keep those aside. Memory does not grow with the records: it holds
    eight bytes for each step of each key.

    Raises:
        InvalidError: the request does not fit the records, there is an output already, or it would have too many steps or keys;
            nothing is written then.
        BrokenError: the output cannot be written.
    """
    check(request)
    own = session.newSession()
    for key, value in SESSION_CONF.items():
        own.conf.set(key, value)
    files = HadoopFiles(own, request.out)
    _check_apart(own, files.path, request)
    output = Output(files, request)
    told("counting")
    step, span = step_micros(request.step), span_of(own, request)
    records = opened(own, request.records)
    counted = counts(records, step, span).persist(StorageLevel.MEMORY_AND_DISK)
    with _undone_by(own.interruptAll, counted.unpersist, output.discard):
        found = totals(groups(counted, request), request)
        if found.rows > request.most_steps:
            raise too_long(found, buckets(counted, stretch_micros(found, request)), request)
        rows = filled(counted, found, step)
        whole = rows.sum(axis=0) if found.keys else rows[0]
        said = summary(found, whole, rows, request, shown(output.path))
        output.begin()
        if found.bad:
            told(f"keeping {said.bad_total:,} bad records aside")
            output.write_bad(bad_records(records, span))
        told(f"writing {found.steps:,} steps")
        output.write_trace(whole, found.first, step)
        if said.keys:
            told(f"writing {len(said.keys):,} keys")
            output.write_keys(said.keys, rows, found.first, step)
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


def _check_apart(session: SparkSession, out: str, request: BuildRequest) -> None:
    """A build may neither replace its own records nor count what an earlier one wrote."""
    found = (match for path in request.records.paths for match in HadoopFiles(session, path).matching())
    for records in found:
        if f"{out}/".startswith(f"{records}/") or f"{records}/".startswith(f"{out}/"):
            raise InvalidError(f"--out: {shown(out)} and the records at {shown(records)} are one in the other; give another directory")
