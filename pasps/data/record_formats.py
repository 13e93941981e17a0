"""The kinds of raw records that traces are built from, as a table, and the request for them. Pure.

The logs are those of the Loghub collection (logpai/loghub; Zhu et al., ISSRE 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pasps.data.sql_text import month_number

Reader = Literal["text", "csv", "json", "parquet"]


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """One kind of records.

    Attributes:
        about: What it is, for people.
        time: Of a text format: the SQL expression for the time in a `line` of that shape, in `time_format`; of JSON: the one that makes
            a time in `time_format` of the value `found`.
        shape: Of a text format: how a line with a whole time begins. Any other has none: what is left of a time that was cut could
            still be read as another.
        keys: Of a text format: what a trace can be split by, each a regular expression with one group.
        columns: Of CSV: the columns that must be there, the first of them the time; of JSON: where the time may be.
        yearless: The time begins at its month, and `time` with the dash before that.
    """

    name: str
    reader: Reader
    about: str
    time: str = ""
    time_format: str = "iso"
    shape: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    yearless: bool = False


def _text(name: str, about: str, time: str, shape: str, **keys: str) -> RecordFormat:
    return RecordFormat(name, "text", about, time, "iso", shape, keys)


def _supercomputer(name: str, about: str, after_date: str) -> RecordFormat:
    """Their lines begin with an alert's label, seconds since 1970, and a date."""
    second = "substring_index(substring_index(line, ' ', 2), ' ', -1)"
    keys = {"label": r"^(\S+)", "node": r"^\S+ \d+ \S+ (\S+)", **({"level": after_date} if after_date else {})}
    return RecordFormat(name, "text", about, second, "seconds", r"^\S+ -?\d+ \d{4}\.\d\d\.\d\d(?!\S)", keys)


# the character after the seconds is taken too: a blank does not matter, and with any other it is no time
_HDFS_TIME = (
    "concat('20', substr(line, 1, 2), '-', substr(line, 3, 2), '-', substr(line, 5, 2),"
    " substr(line, 7, 1), substr(line, 8, 2), ':', substr(line, 10, 2), ':', substr(line, 12, 3))"
)
_SPARK_TIME = "concat('20', substr(line, 1, 2), '-', substr(line, 4, 2), '-', substr(line, 7, 2), substr(line, 9, 10))"
_SYSLOG_TIME = f"concat('-', {month_number('substr(line, 1, 3)')}, '-', trim(substr(line, 5, 2)), substr(line, 7, 10))"
# [Tue May 16 21:05:09 2023], or with a fraction after the seconds
_APACHE_TIME = (
    f"concat(substring_index(substring_index(line, ']', 1), ' ', -1), '-', {month_number('substr(line, 6, 3)')}, '-',"
    " substr(line, 10, 2), ' ', substring_index(substr(line, 13, 15), ' ', 1))"
)
_ACCESS = "substring_index(substring_index(line, '[', 2), '[', -1)"
_ACCESS_TIME = (
    f"concat(substr({_ACCESS}, 8, 4), '-', {month_number(f'substr({_ACCESS}, 4, 3)')}, '-', substr({_ACCESS}, 1, 2), ' ',"
    f" substr({_ACCESS}, 13, 8), substr({_ACCESS}, 22, 5))"
)
# Tue May 16 21:05:09 +0000 2023; ISO 8601 stays as it is
_TWITTER_TIME = (
    f"if(substr(found, 4, 1) = ' ', concat(substr(found, 27, 4), '-', {month_number('substr(found, 5, 3)')}, '-', substr(found, 9, 2),"
    " ' ', substr(found, 12, 8), substr(found, 21, 5)), found)"
)
_JAVA_LEVEL = r"^\d+ \d+ \d+ ([A-Z]+) "

_ALL = (
    RecordFormat("csv", "csv", "CSV with a header; --time-column"),
    RecordFormat("jsonl", "json", "a JSON object on each line; --time-column, nested as user.created_at"),
    RecordFormat("parquet", "parquet", "Parquet; --time-column"),
    RecordFormat("regex", "text", "lines of text; --pattern with a group `time`, and --time-format"),
    _text(
        "hdfs",
        "HDFS logs: 230517 081530 17 INFO ...",
        _HDFS_TIME,
        r"^\d{6} \d{6}(?!\S)",
        level=_JAVA_LEVEL,
        component=r"^\d+ \d+ \d+ [A-Z]+ ([^\s:]+)",
    ),
    _text(
        "spark",
        "Spark logs: 21/08/03 09:25:50 INFO ...",
        _SPARK_TIME,
        r"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d",
        level=r"^\S+ \S+ ([A-Z]+) ",
        component=r"^\S+ \S+ [A-Z]+ ([^\s:]+)",
    ),
    RecordFormat(
        "openssh",
        "text",
        "OpenSSH and other syslog: Nov 17 16:08:32 host ...; --year",
        _SYSLOG_TIME,
        "iso",
        r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d",
        {"host": r"^.{15} (\S+)", "component": r"^.{15} \S+ ([^\s\[:]+)"},
        yearless=True,
    ),
    _text(
        "apache",
        "Apache error logs: [Tue May 16 21:05:09 2023] [notice] ...",
        _APACHE_TIME,
        r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4}\]",
        level=r"^\[[^\]]*\] \[(?:[^\]:]*:)?(\w+)\]",
    ),
    _text(
        "apache-access",
        'Apache access logs: ... [16/May/2023:21:05:09 -0700] "GET ...',
        _ACCESS_TIME,
        r"^[^\[]*+\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [-+]\d{4}\]",
        host=r"^(\S+)",
        method=r'\] "([A-Z]+) ',
        status=r'" (\d{3}) ',
    ),
    _supercomputer("bgl", "BlueGene/L logs: - 1684311330 2023.05.17 R01-M0-N2 ...", r"^(?:\S+ ){8}(\S+)"),
    _supercomputer("thunderbird", "Thunderbird logs: - 1684271109 2023.05.16 node7 ...", ""),
    RecordFormat(
        "dns",
        "csv",
        "DNS flows as in CIRA-CIC-DoHBrw-2020: CSV with TimeStamp and Duration; a flow counts at its start",
        columns=("TimeStamp", "Duration"),
    ),
    RecordFormat(
        "tweets", "json", "tweets, a JSON object on each line, with created_at", _TWITTER_TIME, columns=("created_at", "data.created_at")
    ),
)

FORMATS: Mapping[str, RecordFormat] = {known.name: known for known in _ALL}
"""Every format by its name."""


@dataclass(frozen=True, slots=True)
class Records:
    """What is to be counted.

    Attributes:
        paths: Files, directories and patterns, as Spark reads them: local, `gs://`, `hdfs://`, compressed or not.
        format: A name in FORMATS.
        time_column: Of csv, jsonl and parquet; in a CSV without a header its number, from 1 on.
        time_format: `iso`, `seconds`, `millis`, `micros`, `nanos` or a pattern; None: that of the format, else iso.
        time_zone: Of times that do not say theirs.
        pattern: Of regex: a regular expression with a group `time`.
        key: What to split by: a column, or a key or group of a text format; None: nothing.
        year: Of times without one; None: the last year in which it is not later than its file's last change.
        delimiter: Between the columns of CSV.
        header: Whether CSV files begin with the columns' names.
    """

    paths: tuple[str, ...]
    format: str
    time_column: str | None = None
    time_format: str | None = None
    time_zone: str = "UTC"
    pattern: str | None = None
    key: str | None = None
    year: int | None = None
    delimiter: str = ","
    header: bool = True
