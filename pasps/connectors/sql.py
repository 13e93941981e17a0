"""SQL out: a bolt that writes what it gets into a table of SQLite or PostgreSQL, at least once, and each row once.

Layout: sql_rows (what fits) <- sql_engine (the keys, connections), sql_table (made or compared) <- sql_writer <- sql.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from pasps.api.bolt import BatchBolt
from pasps.api.context import TopologyContext
from pasps.api.tuples import Tuple
from pasps.clock import SystemClock
from pasps.connectors.sql_engine import ASIDE, DEFAULT_URL, SqlError, settings_of
from pasps.connectors.sql_rows import Layout, MisfitError, Refusal, Row, fitted, key_text, layout_of, shown
from pasps.connectors.sql_writer import Writer
from pasps.errors import InvalidError

__all__ = ["SqlError", "SqlSink"]


class SqlSink(BatchBolt):
    """Writes rows, and acks a tuple when its rows are committed; a row whose key is there already changes nothing.

    So an event that is processed twice is one row, as long as its rows have the same key both times. A subclass declares
    `table`, `columns` (names and Python types: int, float, str, bool, bytes, datetime) and `key`, the columns that tell rows
    apart. The table is made when it is missing. The keys `sql.*` say where to: docs/sql.md.

    A subclass that overrides `initialize` or another hook calls the one here too.
    """

    execution = "thread"
    table: ClassVar[str] = ""
    columns: ClassVar[Mapping[str, type]] = MappingProxyType({})
    key: ClassVar[Sequence[str]] = ()
    path_keys: ClassVar[Mapping[str, str | None]] = {"sql.url": DEFAULT_URL, "sql.password.file": None}

    @classmethod
    def useful_replicas(cls, conf: Mapping[str, Any]) -> int | None:
        """One with SQLite, which has one writer at a time: others would only wait, and their waiting would ask for more."""
        return 1 if str(conf.get("sql.url") or DEFAULT_URL).startswith("sqlite") else None

    def rows(self, tup: Tuple) -> Iterable[Mapping[str, Any]]:
        """The rows of a tuple: one, of its fields that have the columns' names, unless a subclass says otherwise.

        Runs on the replica's thread. Must give rows of the same keys each time. A column that is left out is None.
        """
        return ({name: tup[name] for name in self.columns},)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """See that the table is there, or make it; while the topology runs, that is left to the first batch.

        Raises:
            InvalidError: the class or the configuration is wrong, or the table that is there is another one.
            SqlError: the database is away.
        """
        where = f"component {ctx.component_id!r}"
        self._layout = layout_of(self.table, self.columns, self.key, where)
        self._settings = settings_of(conf, where)
        if type(self).rows is SqlSink.rows:
            _check_inputs(self._layout, ctx, where)
        self._open(ctx)
        if not ctx.restarted:  # else a database that is away would end, or hold up, the worker that makes up for a lost one
            self._writer.prepare(warns=ctx.task_index == 0)  # said once

    def process_batch(self, tuples: list[Tuple]) -> Sequence[Any] | None:
        """Write the rows of all tuples; back when they are committed. A subclass may emit after it.

        Raises:
            SqlError: the database is away: the batch fails, after a pause, and is to be emitted again.
        """
        rows: list[Row] = []
        refusals: list[Refusal] = []
        owners: dict[int, Tuple] = {}
        for tup in tuples:
            self._add_rows(tup, rows, refusals, owners)
        refusals += self._writer.write(rows)
        if refusals:
            self._refuse(refusals, owners)
        return None

    def _add_rows(self, tup: Tuple, rows: list[Row], refusals: list[Refusal], owners: dict[int, Tuple]) -> None:
        """Sort a tuple's rows into those to write and those that do not fit; `owners` tells by a row's id() whose it is."""
        try:
            given = [_mapping(values) for values in self.rows(tup)]
        except Exception:  # noqa: BLE001 - the step's door, for one tuple, so that the others of the batch go on
            self.fail(tup)
            known = ", ".join(f"{name}={shown(tup[name])}" for name in self.key if name in tup.fields)
            which = f" with {known}" if known else ""
            self.ctx.report_error(f"table {self.table!r}: rows() failed for a tuple{which}\n{traceback.format_exc()}")
            return
        for values in given:
            try:
                row = fitted(self._layout, values)
            except MisfitError as error:
                refusals.append(Refusal(values, error.column, error.problem))
                owners[id(values)] = tup
            else:
                rows.append(row)
                owners[id(row)] = tup

    def _refuse(self, refusals: Sequence[Refusal], owners: Mapping[int, Tuple]) -> None:
        aside, fate = self._settings.refused == ASIDE, "its tuple failed"
        if aside:
            fate = f"it is kept in table {self.table}_refused"
            try:
                self._writer.put_aside(refusals)
            except SqlError as error:  # the other rows are committed: theirs need not fail
                aside, fate = False, f"its tuple failed, for it cannot be kept: {error}"
        for refusal in refusals:
            column = f", column {refusal.column!r}" if refusal.column else ""
            where = f"table {self.table!r}, row {key_text(self._layout, refusal.row)}{column}"
            self.ctx.report_error(f"{where}: the row is refused: {refusal.reason}; {fate}")
            if not aside:
                self.fail(owners[id(refusal.row)])

    def deactivate(self) -> None:
        """A replica that does not work holds no connection."""
        self._writer.disconnect()

    def close(self) -> None:
        """Give the connection back; a call that waits after a failure goes on at once."""
        self._closing.set()
        self._writer.disconnect()

    def on_move_out(self) -> None:
        """Leave the connection behind."""
        self.close()
        del self._writer, self._closing

    def on_move_in(self, ctx: TopologyContext) -> None:
        """Make another when it is needed."""
        self._open(ctx)

    def _open(self, ctx: TopologyContext) -> None:
        self._closing = threading.Event()
        self._writer = Writer(self._layout, self._settings, f"component {ctx.component_id!r}", SystemClock(), self._closing.wait)


def _mapping(values: object) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise InvalidError(f'rows() must give dicts such as {{"event": 17}}, got a value of type {type(values).__name__}')
    return values


def _check_inputs(layout: Layout, ctx: TopologyContext, where: str) -> None:
    """Every input must have the fields that rows are made of."""
    for edge in ctx.sources:
        fields = ctx.fields(edge.source, edge.stream)
        missing = [name for name in layout.columns if name not in fields]
        if missing:
            source = f"the stream {edge.stream!r} of {edge.source!r}"
            problem = f"expected fields {', '.join(layout.columns)} in {source}, for the columns of {layout.table!r}"
            raise InvalidError(f"{where}: {problem}; got {', '.join(fields)}; rename the fields, or define rows(tup)")
