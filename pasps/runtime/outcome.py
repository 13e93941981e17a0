"""What became of a step: for each of its inputs the rows that its call made, or how the call failed.

Made wherever user code runs (`ways`), on the loop or on a thread; read by the settler alone, which carries it out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from operator import is_
from types import NoneType
from typing import Any

from pasps.api.tuples import Tuple
from pasps.errors import EmitError, Interrupt, shown
from pasps.runtime.batch import Row
from pasps.runtime.emitter import Delivery, Port

_SEVERAL = (list, Iterator)
_UNFINISHED = (Awaitable, AsyncIterator)
_NOT_A_VALUE = (*_SEVERAL, *_UNFINISHED, tuple, NoneType)


class Emission:
    """An emit with options."""

    __slots__ = ("anchors", "deliveries", "direct_task", "port", "row")

    def __init__(
        self, port: Port, row: Row, anchors: list[Tuple] | None, direct_task: int | None, deliveries: list[Delivery] | None
    ) -> None:
        self.port = port
        self.row = row
        self.anchors = anchors
        self.direct_task = direct_task
        self.deliveries = deliveries


class Verdict:
    """An explicit ack or fail."""

    __slots__ = ("good", "tup")

    def __init__(self, tup: Tuple, good: bool) -> None:
        self.tup = tup
        self.good = good


class Records(list[Any]):
    """What one call, or one chunk of them, recorded, in order.

    A plain row is for the default stream and anchored to the tuple in hand; the rest are `Emission` and `Verdict`.
    """

    __slots__ = ("needs_anchors", "over")

    def __init__(self, *, needs_anchors: bool = False) -> None:
        super().__init__()
        self.over = False  # once the call has returned, when nobody reads what is added
        self.needs_anchors = needs_anchors  # whether no tuple is in hand: a batch is

    def tuples(self) -> list[Tuple]:
        """Those on which a verdict was given."""
        return [record.tup for record in self if isinstance(record, Verdict)]


class Failure:
    """A call that raised, or whose result cannot be used. What it emitted is dropped, and with it what it acked.

    `judged` are the tuples to which it gave a verdict: what it made of them is lost, so they fail too.
    `told` is off for all but one of the inputs of a batch that failed as a whole.
    """

    __slots__ = ("error", "judged", "told")

    def __init__(self, error: BaseException, judged: Iterable[Tuple] = (), *, told: bool = True) -> None:
        self.error = error
        self.judged = list(judged)
        self.told = told


Call = list[Any] | Failure
"""What one call recorded, or how it failed."""


class Outcome:
    """Of the inputs of one batch, in order; in one of two forms.

    In columns, where every row is for the default stream and anchored to its own input: `rows` of all inputs one after the
    other, of which `counts[i]` are those of input i (None: one each), and `failures` by position. Else `calls[i]` is what
    the call of input i recorded, or its failure, and `loose` was recorded for the batch as a whole.
    """

    __slots__ = ("calls", "counts", "failures", "loose", "rows", "seconds", "tups")

    seconds: float
    """What the call took; of observed bolts alone, and if it was made."""

    def __init__(self, rows: list[Row], counts: list[int] | None = None, failures: dict[int, Failure] | None = None) -> None:
        self.rows = rows
        self.counts = counts
        self.failures = failures
        self.calls: list[Call] | None = None
        self.loose: Records | None = None
        self.tups: list[Tuple] | None = None  # the inputs as the bolt saw them, where it saw tuples

    @classmethod
    def of_calls(cls, calls: list[Call], loose: Records | None = None) -> Outcome:
        """In the general form."""
        outcome = cls([])
        outcome.calls, outcome.loose = calls, loose
        return outcome

    @classmethod
    def failed(cls, count: int, error: BaseException, judged: Iterable[Tuple] = ()) -> Outcome:
        """All `count` inputs failed, of one cause; it is told once."""
        return cls.of_calls([Failure(error, () if i else judged, told=not i) for i in range(count)])

    def as_calls(self) -> list[Call]:
        """The general form of what is in columns."""
        if self.calls is not None:
            return self.calls
        counts, failures, start = self.counts, self.failures or {}, 0
        calls: list[Call] = []
        for i, count in enumerate(counts if counts is not None else [1] * len(self.rows)):
            calls.append(failures.get(i) or [*self.rows[start : start + count]])
            start += count
        return calls


def row_of(values: Any, port: Port) -> Row:
    """`values` as a row of the stream, or EmitError that says what it is instead."""
    if not isinstance(values, (list, tuple)):
        raise EmitError(port.component, port.stream, f"emit takes a list or tuple of {port.width} values, got {shown(values)}")
    row = tuple(values)  # first: what a class of the user's says of its length is not what it gives
    if len(row) != port.width:
        names = ", ".join(port.fields) or "no fields"
        raise EmitError(port.component, port.stream, f"expected {port.width} values ({names}), got {len(row)}: {shown(values)}")
    return row


class Results:
    """Turns what a function, or `process_batch`, returned into rows: None filters, a tuple is a row, a list or generator several.

    `where` is the function and its place, for messages. May be used on any thread.
    """

    def __init__(self, component: str, port: Port | None, where: str) -> None:
        self._component = component
        self._port = port
        self.where = where

    def outcome(self, results: list[Any], failures: dict[int, Failure]) -> Outcome:
        """Of one result for each input; those of `failures` are not looked at. Runs the user's generators."""
        if not failures:
            rows = uniform_rows(results, self._port)
            if rows is not None:
                return Outcome(rows)
            if self._port is None and all(map(is_, results, repeat(None))):
                return Outcome([], [0] * len(results))
        rows, counts = [], []
        for i, result in enumerate(results):
            found: list[Row] = []
            if i not in failures:
                try:
                    found = self.rows(result)
                except Interrupt:
                    raise
                except BaseException as error:  # noqa: BLE001 - a wrong result, or a generator of the user's that raised
                    failures[i] = Failure(error)
            counts.append(len(found))
            rows += found
        return Outcome(rows, counts, failures)

    def paired(self, returned: Any, count: int) -> list[Any]:
        """What was returned for a whole batch, when it pairs with the inputs.

        Raises:
            EmitError: it does not.
        """
        listed = list(returned) if isinstance(returned, (list, tuple)) else None
        if listed is None or len(listed) != count:
            got = shown(returned) if listed is None else f"{len(listed)} results"
            raise self._wrong(f"expected a list of {count} results, one for each tuple (None filters), got {got}")
        return listed

    def by_column(self, returned: Any, count: int) -> Outcome:
        """Of what was returned for a whole batch in lists or arrays, one for each field; the only one may be an array by itself.

        Raises:
            EmitError: there are more or fewer of them, or one is longer or shorter than the batch.
        """
        port = self._port
        if port is None:
            self.rows(returned)  # refuses all but None
            return Outcome([], [0] * count)
        columns = returned if isinstance(returned, (list, tuple)) else [returned]
        if len(columns) != port.width:
            got = f"{len(columns)} of them" if columns is returned else shown(returned)
            raise self._wrong(f"expected a list or array of length {count} for each of {', '.join(port.fields)}, got {got}")
        listed = [self._column(column, field, count) for column, field in zip(columns, port.fields, strict=True)]
        return Outcome(list(zip(*listed, strict=True)))

    def _column(self, column: Any, field: str, count: int) -> list[Any]:
        listed = list(column) if isinstance(column, (list, tuple)) else column.tolist() if hasattr(column, "tolist") else None
        if not isinstance(listed, list) or len(listed) != count:
            got = f"one of length {len(listed)}" if isinstance(listed, list) else shown(column)
            raise self._wrong(f"expected a list or array of length {count} for {field!r}, got {got}")
        return listed

    def rows(self, result: Any) -> list[Row]:
        """The rows of one result.

        Raises:
            EmitError: it does not fit the stream.
        """
        if result is None:
            return []
        if isinstance(result, _UNFINISHED):
            raise self._wrong(f"{shown(result)} is not done: write `async def`, and await it")
        if self._port is None:
            raise self._wrong(f"a bolt without outputs must return None, got {shown(result)}")
        if isinstance(result, _SEVERAL):
            return [self._row(item, "a list or generator is several rows, of which one is ") for item in result]
        return [self._row(result, "")]

    def _row(self, value: Any, what: str) -> Row:
        port = self._port
        assert port is not None
        if isinstance(value, tuple) or (isinstance(value, list) and port.width != 1):
            row = tuple(value)
            if len(row) == port.width:
                return row
        elif port.width == 1 and not isinstance(value, _UNFINISHED):
            return (value,)
        fields = ", ".join(port.fields)
        raise self._wrong(f"expected a tuple of {port.width} values ({fields}), got {what}{shown(value)}")

    def _wrong(self, problem: str) -> EmitError:
        return EmitError(self._component, "default", f"{problem}, returned by {self.where}")


def uniform_rows(results: list[Any], port: Port | None) -> list[Row] | None:
    """All results as rows when each is exactly one row, without looking at them one by one; else None."""
    if port is None:
        return None
    count = len(results)
    # counting in a list costs less than half of looking at each result
    if list(map(type, results)).count(tuple) == count:
        return results if list(map(len, results)).count(port.width) == count else None
    try:
        certain = port.width == 1 and all(map(_is_value, set(map(type, results))))
    except TypeError:  # a class of the user's that cannot be hashed
        return None
    return list(zip(results, strict=False)) if certain else None


@lru_cache(maxsize=256)  # asking an abstract class costs more than all the rest
def _is_value(kind: type) -> bool:
    return not issubclass(kind, _NOT_A_VALUE)


def is_unfinished(returned: Any) -> bool:
    """Whether a call returned what has still to be run: a coroutine, a generator."""
    return isinstance(returned, (*_UNFINISHED, Generator))
