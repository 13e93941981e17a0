"""Reads traces: on Spark, wherever it can read and however many there are, or a file of this machine without it.

On Spark a trace becomes one series in one Python task, eight bytes for a time and for a count; before that it is rows of Spark's.
"""

from __future__ import annotations

import importlib
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import unquote

from pasps.data.hadoop_files import HadoopFiles
from pasps.data.series import Series, series_of
from pasps.errors import BrokenError, InvalidError
from pasps.spouts.trace_file import read_trace

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

_PYTHON_ERROR = re.compile(r"^[\w.]*(?:Error|Exception): .+$", re.MULTILINE)
_OTHER_PYTHON = ("ModuleNotFoundError", "PYTHON_VERSION_MISMATCH", "pip install 'pasps[data]'")
_CSV = re.compile(r"\.csv(\.\w+)?$", re.IGNORECASE)
_BUILT = "trace.parquet"
_CHUNK_MICROSECONDS = 6 * 3600 * 1_000_000
"""Rows travel to Python by so many at once, not one by one."""

_SOURCE = r"regexp_replace(regexp_replace(_metadata.file_path, '/part-[^/]*$', ''), '(/[^/=]+=[^/]*)+$', '')"
"""A directory of parts, also one divided by a key, is one trace; any other file is one by itself."""
_NUMBER_TIME = "try_cast(round(try_cast(time AS double) * 1000000) AS bigint)"
_TIME = f"coalesce({_NUMBER_TIME}, unix_micros(try_cast(time AS timestamp)))"

_SAID = "concat_ws(',', time, count) AS said"
_CHUNKS = f"""
    SELECT trace, chunk, rows.micros AS times, rows.value AS counts, found, headers, wrong FROM (
        SELECT
            trace, chunk, array_sort(collect_list(row)) AS rows, count_if(is_header) AS found, max(headers) AS headers,
            min(CASE WHEN row IS NULL AND NOT is_header THEN said END) AS wrong
        FROM (
            SELECT
                trace, said, headers, headers = 1 AND micros IS NULL AND value IS NULL AS is_header,
                CASE WHEN micros IS NOT NULL AND value >= 0 THEN struct(micros, value) END AS row,
                CASE WHEN micros IS NOT NULL AND value >= 0 THEN floor(micros / {_CHUNK_MICROSECONDS}) END AS chunk
            FROM {{rows}}
        ) GROUP BY trace, chunk
    )
"""


@dataclass(frozen=True, slots=True)
class Refused:
    """A trace that is wrong, and what is wrong with it."""

    name: str
    problem: str


def read_local(path: Path) -> Series:
    """One CSV file of this machine.

    Raises:
        InvalidError: it is wrong; names line and column.
    """
    found = read_trace(str(path))
    return series_of(str(path), found.times, [float(count) for count in found.counts])


def is_local_csv(path: str) -> bool:
    """Whether it is one CSV file of this machine, not compressed."""
    return path.lower().endswith(".csv") and Path(path).is_file()


def read_series(session: SparkSession, paths: Sequence[str]) -> RDD[Series | Refused]:
    """Every trace of these CSV files and Parquet directories, patterns too, in no order. Only what says of itself that it is read
    is read now; a Parquet trace with further columns is one for each of their values.

    Raises:
        InvalidError: a Parquet directory has no columns time and count.
    """
    names = [name for path in paths for name in _found(session, path)]
    frames = [_parquet_rows(session, name) for name in names if not _CSV.search(name)]
    if csvs := [name for name in names if _CSV.search(name)]:
        frames.append(_csv_rows(session, csvs))
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.unionAll(frame)
    return _chunks(rows).rdd.mapPartitions(_series)


def computed(action: Callable[[], T]) -> T:
    """What an action on traces gives; where the Python of Spark's machines cannot do it, its own words.

    Raises:
        BrokenError: it cannot.
    """
    failed: type[Exception] = importlib.import_module("pyspark.errors").PythonException
    try:
        return action()
    except failed as error:
        said = _PYTHON_ERROR.findall(str(error))
        cure = f"; every machine of Spark needs Python with 'pasps[data]': set PYSPARK_PYTHON to it, here {sys.executable!r}"
        needs = any(sign in str(error) for sign in _OTHER_PYTHON)
        raise BrokenError(f"Python on Spark failed: {said[-1] if said else error}{cure if needs else ''}") from error


def raise_refused(refused: Refused) -> NoReturn:
    """Say what is wrong, with line and column where the file can be read here.

    Raises:
        InvalidError: always.
    """
    if is_local_csv(refused.name):
        read_trace(refused.name)
    raise InvalidError(refused.problem)


def _found(session: SparkSession, path: str) -> list[str]:
    """What to read: of a directory that a build has made its trace, of another one its CSV files if it has no Parquet."""
    files = HadoopFiles(session, path)
    matching = files.matching()
    if not any(files.is_directory(match) for match in matching):
        return [path]
    return [_of_directory(files, match) if files.is_directory(match) else match for match in matching]


def _of_directory(files: HadoopFiles, directory: str) -> str:
    names = files.names(directory)
    if _BUILT in names:
        return f"{directory}/{_BUILT}"
    has_csv = any(name.endswith(".csv") for name in names)
    has_parquet = any(name.endswith(".parquet") or ("=" in name and not _CSV.search(name)) for name in names)
    return f"{directory}/*.csv" if has_csv and not has_parquet else directory


def _csv_rows(session: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The header of a file is the row in which neither is a number or a time; there must be one, and no other such row."""
    options = {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}
    rows = session.read.schema("time STRING, count STRING").options(**options).csv(list(paths))
    return rows.selectExpr(f"{_SOURCE} AS trace", f"{_TIME} AS micros", "try_cast(count AS double) AS value", _SAID, "1 AS headers")


def _parquet_rows(session: SparkSession, path: str) -> DataFrame:
    rows = session.read.parquet(path)
    types = dict(rows.dtypes)
    if not types.get("time", "").startswith("timestamp") or "count" not in types:
        has = ", ".join(f"{name} ({kind})" for name, kind in types.items())
        raise InvalidError(f"{path}: expected columns time (timestamp) and count, as `pasps traces build` writes them, got {has}")
    names = [f"`{name.replace('`', '``')}`" for name in rows.columns if name not in ("time", "count")]
    keys = ", ".join(f"coalesce(cast({name} AS string), 'null')" for name in names)
    trace = f"concat({_SOURCE}, '[', concat_ws(',', {keys}), ']')" if keys else _SOURCE
    micros = "unix_micros(cast(time AS timestamp))"
    return rows.selectExpr(f"{trace} AS trace", f"{micros} AS micros", "cast(count AS double) AS value", _SAID, "0 AS headers")


def _chunks(rows: DataFrame) -> DataFrame:
    """For each trace and stretch of time, in order: times, counts, and what is none; each trace whole in one partition."""
    chunks = rows.sparkSession.sql(_CHUNKS, rows=rows)
    return chunks.repartition("trace").sortWithinPartitions("trace", "chunk")


def _series(chunks: Iterable[Any]) -> Iterator[Series | Refused]:
    """The traces of a partition, one after the other."""
    for trace, rows in groupby(chunks, key=lambda row: row.trace):
        yield _one_series(_path_text(trace), rows)


def _one_series(name: str, chunks: Iterable[Any]) -> Series | Refused:
    times, counts = array("q"), array("d")
    headers = expected = 0
    problem: str | None = None
    for chunk in chunks:
        times.extend(chunk.times)
        counts.extend(chunk.counts)
        headers += chunk.found
        expected = max(expected, chunk.headers)
        if chunk.wrong is not None and problem is None:
            problem = f"expected a time and a count of at least 0, got {chunk.wrong[:80]!r}"
    if problem is None and headers != expected:
        problem = f"expected a header such as 'time,count', and no other row without numbers, got {headers}"
    if problem is not None:
        return Refused(name, f"trace {name}: {problem}")
    try:
        return series_of(name, times, counts)
    except InvalidError as error:
        return Refused(name, str(error))


def _path_text(uri: str) -> str:
    """A path of this machine without its scheme; others as they are."""
    return re.sub(r"^file:/+", "/", unquote(uri)) if uri.startswith("file:") else uri
