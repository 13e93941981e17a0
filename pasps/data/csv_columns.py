"""Which columns CSV files have: by their headers, which must agree, or by what most lines have. Pure."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pasps.data.record_formats import FORMATS, Records
from pasps.data.sql_text import literal
from pasps.errors import InvalidError

SAMPLE = 1000
"""Lines of files without a header, whose columns are counted."""

_MOST_SHOWN = 200


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
