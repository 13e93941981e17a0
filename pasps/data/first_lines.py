"""Reads the first line of each file, without a job of Spark's: that would read all of them. Asks Spark's process."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from pasps.data.hadoop_files import shown
from pasps.data.spark_errors import first_reason
from pasps.errors import BrokenError

_AT_ONCE = 16
"""Files that are opened together: those of a cloud take a while to answer."""
_BOM = b"\xef\xbb\xbf"


def first_lines(session: SparkSession, files: Iterable[str]) -> dict[str, bytes]:
    """The first line of each file that is not blank, as its bytes, by the file's path; `files` are URIs, as of DataFrame.inputFiles.

    Lines end, and compressed files are read, as Spark's do. A file with blank lines alone is left out.

    Raises:
        BrokenError: a file cannot be read.
    """
    with ThreadPoolExecutor(_AT_ONCE, "first-lines") as pool:
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
