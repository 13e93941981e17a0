"""What a job has to do with one record: the SQL expressions that find its time and its key, and say why it has none. Pure.

Which columns files of CSV have, and which groups a pattern has, is found here too: the expressions are made of them.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pasps.data.record_formats import FORMATS, Records
from pasps.data.sql_text import TIME_FORMATS, literal, micros_of_moment, micros_of_number, micros_of_text
from pasps.errors import InvalidError


class Kind(IntEnum):
    """What became of a record; those from NO_TIME on are bad."""

    COUNTED = 0
    OUTSIDE = 1
    BLANK = 2
    HEADER = 3
    NO_TIME = 4
    UNREADABLE = 5
    JSON = 6
    CSV = 7
    COLUMNS = 8


REASONS: Mapping[Kind, str] = {
    Kind.NO_TIME: "no time found",
    Kind.UNREADABLE: "time unreadable",
    Kind.JSON: "malformed JSON",
    Kind.CSV: "malformed CSV",
    Kind.COLUMNS: "wrong number of columns",
}
"""Why a bad record is bad."""

_IS_BLANK = r"line RLIKE '^\\s*$'"
_DAY_MICROS = 86_400_000_000
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
# what is escaped or quoted; a bracket, with one right after it that is a character of the class; a parenthesis, and what it begins
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?|\]|\((?:\?<(?P<name>[A-Za-z]\w*)>|(?P<no_group>\?))?", re.DOTALL)
_MOST_SHOWN = 200

SAMPLE = 1000
"""Lines of files without a header, whose columns are counted."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of Parquet, or a field in one: the SQL expression for it, and its type."""

    sql: str
    kind: str


@dataclass(frozen=True, slots=True)
class Source:
    """Expressions, each over the columns of the records and those before it.

    Attributes:
        found: The time as it stands in the record.
        time: A text to be read as a time; over `found`.
        micros: The moment; over `time`. NULL when the record has none.
        why: The Kind of a record without a moment.
        key: What to split by; None: nothing.
        text: The record, to be kept aside.
        changed: Whether the column `changed`, the last change of the record's file in microseconds, is needed.
        cells: Of CSV: the cells of a line that has no quotes; NULL of one that has. A column of that name.
    """

    found: str
    micros: str
    why: str
    time: str = "found"
    key: str | None = None
    text: str = "line"
    changed: bool = False
    cells: str | None = None


def text_source(records: Records) -> Source:
    """For lines of text.

    Raises:
        InvalidError: the request does not fit the format.
    """
    known = FORMATS[records.format]
    if known.name == "regex":
        return _regex_source(records)
    key = None
    if records.key is not None:
        if records.key not in known.keys:
            raise InvalidError(f"--key: {known.name} records can be split by {_listed(known.keys)}, got {records.key!r}")
        key = f"regexp_extract(line, {literal(known.keys[records.key])}, 1)"
    micros = micros_of_text("time", known.time_format, records.time_zone)
    if known.yearless:
        micros = _micros_without_year(records)
    why = f"CASE WHEN {_IS_BLANK} THEN {Kind.BLANK} WHEN line RLIKE {literal(known.shape)} THEN {Kind.UNREADABLE} ELSE {Kind.NO_TIME} END"
    found = f"if(line RLIKE {literal(known.shape)}, {known.time}, NULL)"
    return Source(found, micros, why, key=key, changed=known.yearless and records.year is None)


def csv_source(records: Records, names: Sequence[str], headers: Iterable[bytes] = ()) -> Source:
    """For lines of CSV with those columns; `headers` are the lines that are none of its records.

    Raises:
        InvalidError: it has not the columns that are needed.
    """
    for column in FORMATS[records.format].columns:
        _place(column, names, "these records are said to have it")
    time_column = FORMATS[records.format].columns[:1] or (records.time_column or "",)
    place = _place(time_column[0], names, "it is the --time-column")
    time_pattern = _cell_pattern(records.delimiter, len(names), place)
    key = None
    if records.key is not None:
        cell = _cell(records.delimiter, len(names), _place(records.key, names, "it is the --key"))
        key = f"if(startswith({cell}, '\"'), replace(substr({cell}, 2, char_length({cell}) - 2), '\"\"', '\"'), {cell})"
    why = (
        f"CASE WHEN {_IS_BLANK} THEN {Kind.BLANK}"
        # as bytes: a header need not be UTF-8
        + "".join(f" WHEN line = CAST(X'{header.hex()}' AS STRING) THEN {Kind.HEADER}" for header in sorted(set(headers)))
        + f" WHEN (octet_length(line) - octet_length(replace(line, '\"', ''))) % 2 = 1 THEN {Kind.CSV}"
        f" WHEN NOT line RLIKE {literal(time_pattern)} THEN {Kind.COLUMNS}"
        f" WHEN trim(time) = '' THEN {Kind.NO_TIME} ELSE {Kind.UNREADABLE} END"
    )
    return Source(
        _cell(records.delimiter, len(names), place),
        micros_of_text("time", records.time_format or "iso", records.time_zone),
        why,
        # most begin and end with a digit or a letter; the others have quotes, or blanks beside the comma
        time="if(found >= '0' AND NOT endswith(found, ' ') AND NOT endswith(found, '\t'), found, trim(BOTH '\" \t' FROM found))",
        key=key,
        cells=f"if(contains(line, '\"'), NULL, split(line, {literal(re.escape(records.delimiter))}, -1))",
    )


def json_source(records: Records) -> Source:
    """For JSON lines. Raises InvalidError for a path that cannot be one."""
    known = FORMATS[records.format]
    paths = known.columns or (records.time_column or "",)
    value = "coalesce(" + ", ".join(f"get_json_object(line, {literal(_json_path(path))})" for path in paths) + ")"
    # a value is found however the line goes on after its object; in an array of the line and a zero, all of it is read
    whole = "(endswith(rtrim(' \t', line), '}') AND coalesce(json_array_length(concat('[', line, ',0]')), 0) = 2)"
    found = f"if({whole}, {value}, NULL)"
    why = (
        f"CASE WHEN {_IS_BLANK} THEN {Kind.BLANK} WHEN coalesce(trim(found), '') <> '' THEN {Kind.UNREADABLE}"
        f" WHEN NOT {whole} THEN {Kind.JSON} ELSE {Kind.NO_TIME} END"
    )
    key = None if records.key is None else f"get_json_object(line, {literal(_json_path(records.key))})"
    time_format = known.time_format if known.columns else records.time_format or "iso"
    return Source(found, micros_of_text("time", time_format, records.time_zone), why, time=known.time or "found", key=key)


def parquet_source(records: Records, columns: Mapping[str, Column]) -> Source:
    """For Parquet with those columns, the fields of a struct as `column.field`.

    Raises:
        InvalidError: a column is not there, or is none that could be a time.
    """
    time_column = records.time_column or ""
    _place(time_column, list(columns), "it is the --time-column")
    column, kind = columns[time_column], columns[time_column].kind.split("(")[0]
    wanted = records.time_format
    if kind == "string":
        micros = micros_of_text("time", wanted or "iso", records.time_zone)
    elif kind in ("timestamp", "timestamp_ntz", "date"):
        micros = micros_of_moment("CAST(time AS TIMESTAMP)", "UTC" if kind == "timestamp" else records.time_zone)
    elif kind in _NUMBERS and wanted in TIME_FORMATS[1:]:
        number = "BIGINT" if wanted in ("micros", "nanos") else "DOUBLE"
        micros = micros_of_number(f"try_cast(time AS {number})", wanted)
    elif kind in _NUMBERS:
        raise InvalidError(f"column {time_column!r} holds numbers ({kind}): say of what, by --time-format seconds, millis, micros or nanos")
    else:
        raise InvalidError(f"column {time_column!r}: expected a time, a date, a text or a number, got {column.kind}")
    key = None
    if records.key is not None:
        _place(records.key, list(columns), "it is the --key")
        key = f"CAST({columns[records.key].sql} AS STRING)"
    return Source(column.sql, micros, f"if(found IS NULL, {Kind.NO_TIME}, {Kind.UNREADABLE})", key=key, text="to_json(struct(*))")


def columns_of_headers(records: Records, headers: Mapping[str, bytes]) -> list[str]:
    """The names of the columns, from the header of each file by the file's path.

    Files may name other columns otherwise, as long as there are as many, and those that matter are at the same places.

    Raises:
        InvalidError: two files do not agree, or one has no header.
    """
    wanted = [column for column in (records.time_column, records.key, *FORMATS[records.format].columns) if column]
    files = {path: _names(path, line, records.delimiter) for path, line in sorted(headers.items())}
    first = next(iter(files))
    for path, names in files.items():
        if _places(wanted, names) != _places(wanted, files[first]):
            raise InvalidError(
                f"the first line of {first} has the columns {_shown(files[first])}, and that of {path} has {_shown(names)}: expected as"
                f" many in each file, and {', '.join(wanted)} at the same place; build a trace of each kind of file, or give --no-header"
                " and the number of the column when not every file begins with its names"
            )
    return files[first]


def column_count(delimiter: str) -> str:
    """How many columns a `line` has, as an SQL expression: what is in quotes does not count."""
    without_texts = r"""regexp_replace(line, '"(?:[^"]++|"")*+"', '')"""
    return f"octet_length({without_texts}) - octet_length(replace({without_texts}, {literal(delimiter)}, '')) + 1"


def columns_without_header(counts: Iterable[int]) -> list[str]:
    """The columns `1`, `2` and so on, as many as most lines have; of two numbers that as many lines have, the higher."""
    found = Counter(counts)
    return [str(number + 1) for number in range(max(found, key=lambda count: (found[count], count)))]


def java_pattern(pattern: str) -> str:
    """The pattern with its named groups as Java writes them."""
    return pattern.replace("(?P<", "(?<")


def pattern_groups(pattern: str) -> dict[str, int]:
    """The named groups of a pattern, and their numbers.

    Raises:
        InvalidError: it has no group `time`.
    """
    groups: dict[str, int] = {}
    number = depth = 0
    for token in _TOKEN.finditer(java_pattern(pattern)):
        if token[0].startswith("["):
            depth += 1
        elif token[0] == "]":
            depth = max(depth - 1, 0)
        elif token[0].startswith("(") and depth == 0 and not token["no_group"]:
            number += 1
            if token["name"]:
                groups[token["name"]] = number
    if "time" not in groups:
        raise InvalidError(rf"--pattern: expected a group for the time, such as (?<time>\S+), got {pattern!r}")
    return groups


def _regex_source(records: Records) -> Source:
    groups = pattern_groups(records.pattern or "")
    pattern = literal(java_pattern(records.pattern or ""))
    key = None
    if records.key is not None:
        if records.key not in groups:
            raise InvalidError(f"--key: the pattern has the groups {_listed(groups)}, got {records.key!r}")
        key = f"regexp_extract(line, {pattern}, {groups[records.key]})"
    micros = micros_of_text("time", records.time_format or "iso", records.time_zone)
    why = f"CASE WHEN {_IS_BLANK} THEN {Kind.BLANK} WHEN trim(time) = '' THEN {Kind.NO_TIME} ELSE {Kind.UNREADABLE} END"
    return Source(f"regexp_extract(line, {pattern}, {groups['time']})", micros, why, key=key)


def _micros_without_year(records: Records) -> str:
    """Of a `time` that begins with the dash before its month."""
    if records.year is not None:
        return micros_of_text(f"concat('{records.year:04}', time)", "iso", records.time_zone)
    # a day late: the file's clock may be in another zone than its times
    latest = f"(changed + {_DAY_MICROS}L)"
    year = f"year(timestamp_micros{latest})"
    this, before = (micros_of_text(f"concat({number}, time)", "iso", records.time_zone) for number in (year, f"{year} - 1"))
    return f"if({this} <= {latest}, {this}, {before})"


def _cell(delimiter: str, columns: int, place: int) -> str:
    """The cell at `place`, with its quotes; empty when the line has another number of columns."""
    quoted = f"regexp_extract(line, {literal(_cell_pattern(delimiter, columns, place))}, 1)"
    # most lines have no quotes, and are split in half the time that the pattern takes
    return f"if(cells IS NULL, {quoted}, if(size(cells) = {columns}, cells[{place}], ''))"


def _cell_pattern(delimiter: str, columns: int, place: int) -> str:
    """A whole line of CSV (RFC 4180, without line breaks in quotes), with a group for the cell at `place`, with its quotes.

    Every repetition is possessive: Java matches the others by recursion, and would run out of stack in a long line.
    """
    comma = re.escape(delimiter)
    cell = rf'(?:"(?:[^"]++|"")*+"|(?!")[^{comma}]*+)'
    before = rf"(?:{cell}{comma}){{{place}}}+" if place else ""
    after = columns - place - 1
    return rf"^{before}({cell})" + (rf"(?:{comma}{cell}){{{after}}}+" if after else "") + r"\z"


def _json_path(path: str) -> str:
    """`user.created_at` as JSON path writes it; what begins with `$` is one."""
    if path.startswith("$"):
        return path
    parts = path.split(".")
    if any(not part or re.search(r"[\[\]'?*]", part) for part in parts):
        raise InvalidError(f"expected a JSON field such as created_at or user.created_at, or a path such as $['a.b'], got {path!r}")
    return "$" + "".join(f"['{part}']" for part in parts)


def _place(column: str, names: Sequence[str], why: str) -> int:
    if names.count(column) > 1:
        raise InvalidError(f"column {column!r}: {why}, and there are {names.count(column)} of that name")
    if column not in names:
        raise InvalidError(f"column {column!r}: {why}, and the columns are {_listed(names)}")
    return list(names).index(column)


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "none"


def _names(path: str, line: bytes, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([line.decode(errors="replace")], delimiter=delimiter))]
    except csv.Error as error:
        raise InvalidError(f"the first line of {path} does not name columns ({error}); give --no-header if it is a record") from error


def _places(wanted: Sequence[str], names: Sequence[str]) -> tuple[int, list[int]]:
    return len(names), [names.index(column) if column in names else -1 for column in wanted]


def _shown(names: Sequence[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
