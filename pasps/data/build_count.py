"""Counts records per step in Spark: one pass over them, after which only counts are moved and kept, and come back as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import StructType

from pasps.data.arrays import Ints, np
from pasps.data.build_request import BuildRequest
from pasps.data.build_totals import Bucket, Group, Totals
from pasps.data.hadoop_files import shown
from pasps.data.record_formats import FORMATS, Records
from pasps.data.record_source import (
    REASONS,
    SAMPLE,
    Column,
    Kind,
    Source,
    column_count,
    columns_of_headers,
    columns_without_header,
    csv_source,
    java_pattern,
    json_source,
    parquet_source,
    text_source,
)
from pasps.data.spark_errors import first_reason
from pasps.data.sql_text import TIME_FORMATS, is_utc, literal, micros_of_text, name
from pasps.data.steps import END_MICROS, FIRST_MICROS, first_whole_start, step_micros
from pasps.errors import BrokenError, InvalidError

_LINE = r"if(startswith(value, '\uFEFF'), substr(value, 2), value) AS line"
_CHANGED = "unix_micros(_metadata.file_modification_time) AS changed"
_FILE = "_metadata.file_path AS file"
_REASON = "CASE kind " + " ".join(f"WHEN {kind} THEN {literal(text)}" for kind, text in REASONS.items()) + " END"
_MOST_BUCKETS = 100_000
_ROWS_AT_ONCE = 1 << 23
"""Counts that come back together: Spark's process holds as many."""
_FILES_AT_ONCE = 16
"""Files that are opened together: those of a cloud take a while to answer."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Span:
    """From when, until before when, in microseconds; what is outside is counted apart. What is before `first` is no time."""

    start: int = FIRST_MICROS
    until: int = END_MICROS
    first: int = FIRST_MICROS


@dataclass(frozen=True, slots=True)
class Opened:
    """Records, none of which is read yet, and what to do with one of them."""

    rows: DataFrame
    source: Source
    is_text: bool


def opened(session: SparkSession, records: Records) -> Opened:
    """The records at the paths.

    Raises:
        InvalidError: they are not of that format.
    """
    reader = FORMATS[records.format].reader
    if reader == "parquet":
        rows = _parquet(session, records)
        return Opened(rows, parquet_source(records, _columns(rows.schema)), is_text=False)
    lines = session.read.text(list(records.paths), recursiveFileLookup=True)
    if reader == "csv":
        return Opened(lines, _csv_source(session, lines, records), is_text=True)
    return Opened(lines, json_source(records) if reader == "json" else text_source(records), is_text=True)


def counts(records: Opened, step: int, span: Span) -> DataFrame:
    """How many records (`count`) there are of each `kind`, of those that are counted also of each `start` of a step and `key`.

    `first` and `last` are the first and the last moment of them.
    """
    judged = _judged(records, span, aside=False)
    own = ["start", "kind", *(["key"] if records.source.key else [])]
    columns = ["micros", "kind", f"if(kind = {Kind.COUNTED}, micros - pmod(micros, {step}L), NULL) AS start"]
    if records.source.key:
        # Python could not read any other bytes, and not tell two keys of them apart
        columns.append(f"if(kind = {Kind.COUNTED}, make_valid_utf8(coalesce(key, '')), NULL) AS key")
    numbers = [expr("count(1) AS count"), expr("min(micros) AS first"), expr("max(micros) AS last")]
    return judged.selectExpr(*columns).groupBy(*own).agg(*numbers)


def groups(counts: DataFrame, request: BuildRequest) -> list[Group]:
    """The records of each kind, and of each key; of more keys than are allowed no more than that there are."""
    key = ["key"] if request.records.key is not None else []
    numbers = [expr("sum(count) AS records"), expr("min(first) AS first"), expr("max(last) AS last")]
    found = counts.groupBy("kind", *key).agg(*numbers).selectExpr("kind", *(key or ["NULL AS key"]), "records", "first", "last")
    return [Group(*row) for row in found.limit(request.most_keys + len(Kind)).collect()]


def buckets(counts: DataFrame, micros: int) -> list[Bucket]:
    """The records that are counted in each stretch of so many microseconds; of very many stretches, those with the most."""
    stretches = counts.where(f"kind = {Kind.COUNTED}").groupBy(expr(f"floor(start / {micros}L) AS number"))
    found = stretches.agg(expr("sum(count) AS records"), expr("min(first) AS first"), expr("max(last) AS last"))
    return [Bucket(*row) for row in found.orderBy("records", ascending=False).limit(_MOST_BUCKETS).collect()]


def filled(counts: DataFrame, found: Totals, step: int, at_once: int = _ROWS_AT_ONCE) -> Ints:
    """The counts of the trace, zeros too: a row for each key, or one, and a column for each step."""
    keys = {key: number for number, key in enumerate(found.keys or ("",))}
    rows = np.zeros((len(keys), found.steps), np.int64)
    micros, end = max(1, at_once // len(rows)) * step, found.first + found.steps * step
    for since in range(found.first, end, micros):
        # the end too, since beyond it there may be no such number of 64 bits
        some = counts.where(f"kind = {Kind.COUNTED} AND start >= {since}L AND start < {min(since + micros, end)}L").toArrow()
        places = (some["start"].to_numpy() - found.first) // step
        if found.keys is None:
            rows[0, places] = some["count"].to_numpy()
        else:
            named = some["key"].combine_chunks().dictionary_encode()
            numbers = np.array([keys[key] for key in named.dictionary.to_pylist()], np.int64)
            rows[numbers[named.indices.to_numpy()], places] = some["count"].to_numpy()
    return rows


def bad_records(records: Opened, span: Span) -> DataFrame:
    """The bad records themselves: `reason`, `file`, `text`. Reads all records once more."""
    return _judged(records, span, aside=True).where(f"kind >= {Kind.NO_TIME}").selectExpr(f"{_REASON} AS reason", "file", "line AS text")


def span_of(session: SparkSession, request: BuildRequest) -> Span:
    """What the request leaves in, its times read as those of the records are; checks the zone, the format and the pattern of those too.

    Raises:
        InvalidError: a time, the zone, the format or the pattern is none.
    """
    records = request.records
    if records.pattern is not None:
        _check_pattern(session, records.pattern)
    if records.time_format not in (None, *TIME_FORMATS):
        _evaluated(session, f"try_to_timestamp('', {literal(records.time_format or '')})", f"--time-format {records.time_format!r}")
    if not is_utc(records.time_zone):
        zone = f"to_utc_timestamp(timestamp_micros(0), {literal(records.time_zone)})"
        _evaluated(session, zone, f"--time-zone {records.time_zone!r}")
    start, until = _moment(session, request.start, records, FIRST_MICROS), _moment(session, request.until, records, END_MICROS)
    span = Span(start, until, first_whole_start(step_micros(request.step)))
    if span.start >= span.until:
        raise InvalidError(f"--from {request.start!r} --until {request.until!r}: expected a time before the other")
    return span


def _parquet(session: SparkSession, records: Records) -> DataFrame:
    rows = session.read.parquet(*records.paths, recursiveFileLookup=True)
    wanted = {column for column in (records.time_column, records.key) if column}
    if wanted <= _columns(rows.schema).keys():
        return rows
    try:
        # then a directory's name, such as day=2024-02-29, is a column; Spark does not take every tree of them
        partitioned = session.read.parquet(*records.paths)
    except PySparkException:
        return rows
    return partitioned if wanted <= _columns(partitioned.schema).keys() else rows


def _csv_source(session: SparkSession, lines: DataFrame, records: Records) -> Source:
    if records.header:
        if headers := _first_lines(session, lines.inputFiles()):
            return csv_source(records, columns_of_headers(records, headers), headers.values())
    else:
        sample = lines.selectExpr(_LINE).where(r"line NOT RLIKE '^\\s*$'").selectExpr(f"{column_count(records.delimiter)} AS columns")
        if rows := sample.limit(SAMPLE).collect():
            return csv_source(records, columns_without_header(row["columns"] for row in rows))
    return Source("line", "CAST(NULL AS BIGINT)", str(int(Kind.BLANK)))


def _first_lines(session: SparkSession, files: Iterable[str]) -> dict[str, bytes]:
    """The first line of each file that is not blank, as its bytes, by the file's path; `files` are URIs, as of DataFrame.inputFiles.

    Lines end, and compressed files are read, as Spark's do. A file with blank lines alone is left out.

    Raises:
        BrokenError: a file cannot be read.
    """
    with ThreadPoolExecutor(_FILES_AT_ONCE, "first-lines") as pool:
        found = list(pool.map(lambda file: _first_line(session, file), dict.fromkeys(files)))
    return {path: line for path, line in found if line}


def _first_line(session: SparkSession, file: str) -> tuple[str, bytes]:
    context = session.sparkContext
    # pyspark itself has no way to files
    jvm: Any = context._jvm  # noqa: SLF001
    hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    where = shown(str(path.toString()))
    try:
        stream = jvm.org.apache.spark.sql.execution.datasources.CodecStreams.createInputStream(hadoop, path)
        reader, text = jvm.org.apache.hadoop.util.LineReader(stream), jvm.org.apache.hadoop.io.Text()
        try:
            line = b""
            while not line.strip() and reader.readLine(text):
                line = bytes(text.copyBytes()).removeprefix(_BOM)
        finally:
            reader.close()
    except Py4JJavaError as error:
        raise BrokenError(f"{where} cannot be read: {first_reason(error)}; check the file, or leave it out") from error
    return where, line.strip() and line


def _moment(session: SparkSession, text: str | None, records: Records, default: int) -> int:
    if text is None:
        return default
    micros = _evaluated(session, micros_of_text(literal(text), "iso", records.time_zone), f"time {text!r}")
    if micros is None:
        raise InvalidError(f"time {text!r}: expected ISO 8601, such as 2024-02-29 or 2024-02-29T23:59:59Z")
    return int(micros)


def _check_pattern(session: SparkSession, pattern: str) -> None:
    try:
        # Spark itself says that it is none, and not why
        session.sparkContext._jvm.java.util.regex.Pattern.compile(java_pattern(pattern))  # type: ignore[union-attr]  # noqa: SLF001
    except PySparkException as error:
        raise InvalidError(
            f"--pattern {pattern!r}: {first_reason(error)}; expected a regular expression of Java's, whose groups have names of letters"
            " and digits alone"
        ) from error


def _evaluated(session: SparkSession, expression: str, what: str) -> Any:
    """The value of an expression of constants, which is computed where the session is."""
    try:
        return session.sql(f"SELECT {expression} AS value").collect()[0]["value"]
    except PySparkException as error:
        raise InvalidError(f"{what}: {first_reason(error)}") from error


def _judged(records: Opened, span: Span, *, aside: bool) -> DataFrame:
    """What became of each record: `kind`, `micros`, `key` if any; with `aside` also `line` and `file`."""
    rows, source = records.rows, records.source
    file, line, changed = [_FILE] if aside else [], [f"{source.text} AS line"] if aside else [], []
    if records.is_text:
        changed = ["changed"] if source.changed else []
        rows = rows.selectExpr(_LINE, *file, *([_CHANGED] if source.changed else []))
        file, line = ["file"] if aside else [], ["line"]
    if source.cells:
        rows = rows.selectExpr("*", f"{source.cells} AS cells")
    rows = rows.selectExpr(f"{source.found} AS found", *([f"{source.key} AS key"] if source.key else []), *line, *file, *changed)
    # a step each, so that Spark computes each once however often the next one needs it
    rows = rows.selectExpr("*", f"{source.time} AS time")
    rows = rows.selectExpr("*", f"{source.micros} AS micros")
    return rows.selectExpr("*", f"{_kind(source.why, span)} AS kind")


def _kind(why: str, span: Span) -> str:
    return (
        f"CAST(CASE WHEN micros >= {max(span.start, span.first)}L AND micros < {span.until}L THEN {Kind.COUNTED}"
        f" WHEN micros >= {span.first}L AND micros < {END_MICROS}L THEN {Kind.OUTSIDE}"
        f" WHEN micros IS NOT NULL THEN {Kind.UNREADABLE} ELSE {why} END AS TINYINT)"
    )


def _columns(schema: StructType, outer: str = "", outer_sql: str = "") -> dict[str, Column]:
    """The columns, and the fields in them; a column with a dot in its name goes before a field."""
    own: dict[str, Column] = {}
    inner: dict[str, Column] = {}
    for field in schema.fields:
        column, sql = outer + field.name, outer_sql + name(field.name)
        own[column] = Column(sql, field.dataType.simpleString())
        if isinstance(field.dataType, StructType):
            inner |= _columns(field.dataType, column + ".", sql + ".")
    return inner | own
