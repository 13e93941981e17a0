"""What a function bolt or `process_batch` returned, as rows: None filters, a tuple is a row, a list or generator several."""

from __future__ import annotations

from collections.abc import Iterator
from types import GeneratorType, NoneType
from typing import Any

from pasps.errors import EmitError
from pasps.runtime.batch import Row
from pasps.runtime.collector import row_of
from pasps.runtime.emitter import Port

_SEVERAL = (list, GeneratorType)
_NOT_VALUES = (*_SEVERAL, Iterator, tuple, NoneType)


def rows_of(result: Any, port: Port | None) -> list[Row]:
    """The rows of one result, checked against the stream."""
    if result is None:
        return []
    if port is None:
        raise EmitError("", "default", f"a bolt without outputs must return None, got {result!r}")
    if isinstance(result, (*_SEVERAL, Iterator)):
        return [_row(item, port) for item in result]
    return [_row(result, port)]


def _row(value: Any, port: Port) -> Row:
    if port.width == 1 and not isinstance(value, tuple):
        return (value,)
    return row_of(value, port)


def uniform_rows(results: list[Any], port: Port | None) -> list[Row] | None:
    """All results as rows when each is exactly one row, without looking at them one by one; else None."""
    if port is None:
        return None
    count = len(results)
    # counting in a list costs less than half of looking at each result
    if list(map(type, results)).count(tuple) == count:
        return results if list(map(len, results)).count(port.width) == count else None
    kinds = set(map(type, results))
    if port.width != 1 or any(issubclass(kind, _NOT_VALUES) for kind in kinds):
        return None
    return list(zip(results, strict=False))
