"""Writes the rows of one sink instance: a transaction for each batch, and the rows that are to blame apart from the others."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Connection, Engine, func, literal, select, text
from sqlalchemy.exc import SQLAlchemyError

from pasps.clock import Clock
from pasps.connectors.backoff import pause_after
from pasps.connectors.sql_engine import (
    ASIDE,
    SqlError,
    SqlSettings,
    column_of,
    engine_of,
    is_of_a_row,
    is_worth_another_try,
    may_be_of_a_row,
    place_of,
    words_of,
)
from pasps.connectors.sql_rows import Layout, Refusal, Row, key_text, ordered, written
from pasps.connectors.sql_table import Inserter, ensure, refused_beside, suspect
from pasps.errors import InvalidError

_log = logging.getLogger(__name__)

_TRIES = 3
_MOST_COUNTED = 10_000
"""Rows that are there already are counted so far, which takes milliseconds."""
_FAULTS = (SQLAlchemyError, UnicodeError, OverflowError)
"""What a database raises; the last two come from drivers that cannot write a value down, and are not wrapped."""


class Writer:
    """One connection, made when it is needed. Used by one thread at a time; `disconnect` may be called from any."""

    def __init__(self, layout: Layout, settings: SqlSettings, where: str, clock: Clock, wait: Callable[[float], object]) -> None:
        """`where` says whose it is. `wait` lets seconds pass after a failure, so that what is emitted again does not race.

        Looks at nothing outside, not even at a file that the settings name.
        """
        self._layout, self._settings, self._where, self._clock, self._wait = layout, settings, where, clock, wait
        self._aside = refused_beside(layout)
        self._prepared = False
        self._failures = 0

    @cached_property
    def _engine(self) -> Engine:
        return engine_of(self._settings, self._where)

    @cached_property
    def _inserter(self) -> Inserter:
        return Inserter(self._layout, self._engine.dialect.name)

    def prepare(self, *, warns: bool = True) -> None:
        """Make the table, or see that the one that is there will do; also that for refused rows. Keeps no connection.

        `write` does it where this was not called. `warns`: whether rows that are there already are worth a warning.

        Raises:
            InvalidError: it will not do, or the settings are wrong.
            SqlError: the database is away, or refuses.
        """
        there = self._prepare()
        self.disconnect()
        place = place_of(self._engine)
        _log.info("%s writes to table %r of %s", self._where, self._layout.table, place)
        if there and warns:
            how_many = f"{there:,}" if there <= _MOST_COUNTED else f"more than {_MOST_COUNTED:,}"
            meaning = f"an event that has the key ({', '.join(self._layout.key)}) of one of them changes nothing"
            cure = "for other events give another sql.url, or drop the table"
            _log.warning("%s: table %r of %s has rows already, %s: %s; %s", self._where, self._layout.table, place, how_many, meaning, cure)

    def _prepare(self) -> int:
        """How many rows are in it, as far as they are counted."""
        with self._translated(f"table {self._layout.table!r} cannot be made or looked at"):
            there: int = self._repeated(self._look)
        if self._settings.refused == ASIDE:
            cure = "make it, or set sql.refused=fail"
            with self._translated(f"table {self._aside.table!r}, for rows that are refused, cannot be made or looked at ({cure})"):
                self._repeated(self._look_aside)
        self._prepared = True
        return there

    def _look(self) -> int:
        with self._engine.begin() as connection:
            table = ensure(connection, self._layout, f"{self._where}: {place_of(self._engine)}")
            some = select(literal(1)).select_from(table).limit(_MOST_COUNTED + 1).subquery()
            return int(connection.execute(select(func.count()).select_from(some)).scalar_one())

    def _look_aside(self) -> None:
        with self._engine.begin() as connection:
            ensure(connection, self._aside, f"{self._where}: {place_of(self._engine)}")

    def write(self, rows: Sequence[Row]) -> list[Refusal]:
        """Commit all rows but those that the database refuses for themselves, which are given back (and, if so set, put aside).

        Raises:
            InvalidError: the table will not do, or the settings are wrong.
            SqlError: the database is away, or refuses all. Some of the rows may be there; to write them again changes nothing.
        """
        refused: list[Refusal] = []
        most = self._settings.batch
        if not self._prepared:
            self._prepare()
        with self._translated(f"{len(rows)} rows for table {self._layout.table!r} were not written"):
            placed = ordered(self._layout, rows)
            for start in range(0, len(placed), most):
                refused += self._repeated(partial(self._write, placed[start : start + most]))
        self._failures = 0
        return refused

    def put_aside(self, refusals: Sequence[Refusal]) -> None:
        """Keep rows that cannot be written, in a table beside the other.

        Raises:
            SqlError: the database is away, or refuses.
        """
        rows = [self._kept(refusal) for refusal in refusals]
        with self._translated(f"{len(rows)} refused rows were not put into table {self._aside.table!r}"):
            self._repeated(lambda: self._put_aside(rows))

    def _put_aside(self, rows: Sequence[Row]) -> None:
        with self._engine.begin() as connection:
            Inserter(self._aside, connection.dialect.name).run(connection, rows)

    def _kept(self, refusal: Refusal) -> Row:
        values = _storable(written(refusal.row))
        return {
            "id": hashlib.sha256(values.encode()).hexdigest(),
            "refused_at": datetime.fromtimestamp(self._clock.wall(), UTC),
            "row_key": _storable(key_text(self._layout, refusal.row)),
            "column_name": _storable(refusal.column) or None,
            "reason": _storable(refusal.reason),
            "row_values": values,
        }

    def disconnect(self) -> None:
        """Give the connection back; the next write makes another."""
        if "_engine" in vars(self):
            self._engine.dispose()

    def _write(self, rows: list[Row]) -> list[Refusal]:
        try:
            with self._engine.begin() as connection:
                self._inserter.run(connection, rows)
        except _FAULTS as error:
            if not may_be_of_a_row(error):
                raise
        else:
            return []
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))  # or the commit would fail, and blame no row
            refused = list(self._apart(connection, rows))
            doubtful = [error for _, error in refused if not is_of_a_row(error)]
            if doubtful and len(refused) == len(rows):  # not one could be written, so it need not be the rows
                raise doubtful[0]
            return [refusal for refusal, _ in refused]

    def _apart(self, connection: Connection, rows: list[Row]) -> Iterator[tuple[Refusal, Exception]]:
        """Write all but the rows to blame, which are found by halves."""
        try:
            with connection.begin_nested():
                self._inserter.run(connection, rows)
            return
        except _FAULTS as error:
            if not may_be_of_a_row(error):
                raise
            if len(rows) == 1:
                column = column_of(error) or suspect(connection, self._layout.table, rows[0])
                yield Refusal(rows[0], column, words_of(error)), error
                return
        half = len(rows) // 2
        yield from self._apart(connection, rows[:half])
        yield from self._apart(connection, rows[half:])

    def _repeated(self, work: Callable[[], Any]) -> Any:
        """A connection that was lost while nobody used it costs nothing but another try."""
        for left in reversed(range(_TRIES)):
            try:
                return work()
            except SQLAlchemyError as error:
                if not left or not is_worth_another_try(error):
                    raise
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except InvalidError:
            self._pause()
            raise
        except _FAULTS as error:
            self._pause()
            # reported for every batch while the database is away: a hundred lines of the driver's would say no more
            _log.debug("%s", what, exc_info=error)
            raise SqlError(f"{self._where}: {place_of(self._engine)}: {what}: {words_of(error)}") from None

    def _pause(self) -> None:
        self._failures += 1
        self._wait(pause_after(self._failures, first=0.05, longest=1.0))


def _storable(words: str) -> str:
    """What every database takes."""
    return words.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
