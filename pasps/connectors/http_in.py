"""A spout that is an HTTP server: events are posted to it, and the answer says that they are done."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pasps.api.component import Outputs
from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.clock import Clock, SystemClock, wall_of
from pasps.connectors.backoff import Tries
from pasps.connectors.http_desk import NOT_ACTIVE, Answer, Desk, Event, EventId, Exchange, Room
from pasps.connectors.http_intake import Intake, ServerThread, settings_of
from pasps.errors import BrokenError, EmitError, InvalidError

_MOST = 512
_BUSY_SECONDS = 1.0
_BUSY_WAIT = 0.002
"""So long an arrival waits at most, while requests come; the runtime's own pause is ten times that."""
_REOPEN_SECONDS = 1.0

_log = logging.getLogger(__name__)


class HttpSpout(Spout):
    """Takes events that are posted as JSON; the keys `http.*` are in docs/connectors.md.

    At least once, by the client: a request is answered with 200 when all of its events are acked, and with another status, or
    not at all, when they may not be; then the client sends it again. Task t of n listens on `http.port` + t. Nothing is kept
    for after a crash: who waits for an answer then loses the connection.
    """

    outputs: Outputs = ("event", "id")
    path_keys: ClassVar[Mapping[str, str | None]] = {"http.token.file": None, "http.address.file": None}
    clock: ClassVar[Clock] = SystemClock()

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Take the port. A subclass that overrides it calls it first.

        Raises:
            InvalidError: a key is wrong, a token is missing, or the port is taken.
        """
        where = f"component {ctx.component_id!r}"
        self._settings = settings_of(conf, where, ctx.task_index, len(ctx.component_tasks(ctx.component_id)))
        room = Room(self._settings.most_pending)
        self._desk = Desk(Tries(self.clock, self._settings.most_tries), room)
        self._intake = Intake(self._settings, room, self._desk.hand_in, self.clock)
        self._server: ServerThread | None = None
        self._active = False
        self._busy_until = self._reopen_at = 0.0
        try:
            self._open()
        except BrokenError as error:
            if ctx.position is None:
                raise InvalidError(f"{where}: {error}") from error
            # the worker that had the port may not be quite dead
            ctx.report_error(error)

    def values(self, event: Event, event_id: str) -> Sequence[Any]:
        """The tuple of an event, for subclasses with `outputs` of their own.

        Args:
            event: As posted.
            event_id: The request's Idempotency-Key (a random one without it), a colon, and the event's place in the request from 0:
                so that a request that is sent again with its key has the same ids.

        Raises:
            ValueError: the event is not what it should be; the request is answered with 400 and these words.
        """
        return (event, event_id)

    def next_tuple(self) -> float | None:
        """Emit what failed and is due again, and the next events of the oldest request."""
        now = self.clock.now()
        if self._server is None or not self._server.alive():
            self._reopen(now)
        if self._desk.take_in():
            self._busy_until = now + _BUSY_SECONDS
        emitted = False
        for row, event in self._desk.again(_MOST):
            self.emit(row, event)
            emitted = True
        exchange = self._desk.first()
        if exchange is not None and self._has_rows(exchange):
            self._emit_next(exchange)
            emitted = True
        return None if emitted or now >= self._busy_until else _BUSY_WAIT

    def _has_rows(self, exchange: Exchange) -> bool:
        """Make them, all before the first is emitted; False: it was refused."""
        if exchange.rows is not None:
            return True
        rows: list[Sequence[Any]] = []
        try:
            for event in exchange.events:
                rows.append(self.values(event, f"{exchange.key}:{len(rows)}"))
        except ValueError as error:
            self._desk.refuse(exchange, Answer(400, f"event {len(rows)}: {error}"))
            return False
        except Exception:
            self._desk.refuse(exchange, Answer(500, f"event {len(rows)}: the topology could not read it; its errors say why"))
            raise
        exchange.rows = rows
        return True

    def _emit_next(self, exchange: Exchange) -> None:
        rows, ids = self._desk.next_of(exchange, _MOST)
        try:
            self.emit_batch(rows, ids)
        except EmitError:
            self._desk.refuse(exchange, Answer(500, "the topology could not emit it; its errors say why"))
            raise
        self._desk.sent(exchange, ids)

    # ---- fates

    def ack(self, tup_id: EventId) -> None:
        """The last of a request answers it."""
        self._desk.acked(tup_id)

    def fail(self, tup_id: EventId) -> None:
        """Emit it again, or answer its request with that."""
        self._desk.failed(tup_id, self._active)

    def backlog(self) -> int:
        """Events of requests that wait, exactly; not those that were refused."""
        if self._active:
            self._desk.take_in()
        else:  # accepted while it was being deactivated
            self._desk.refuse_what_waits(NOT_ACTIVE)
        return self._desk.unsent

    def due_at(self, tup_id: EventId) -> float | None:
        """When its request had arrived."""
        arrived = self._desk.arrived(tup_id)
        return None if arrived is None else wall_of(self.clock, arrived)

    # ---- lifecycle

    def activate(self) -> None:
        """Accept requests."""
        self._active = self._intake.accepting = True
        self.save_position(True)  # that this task had its port

    def deactivate(self) -> None:
        """Answer 503 from now on, and to what was not emitted; what is in flight is answered when it is done."""
        self._active = self._intake.accepting = False
        self._desk.refuse_what_waits(NOT_ACTIVE)

    def close(self) -> None:
        """Answer 503 to what is open, and stop listening."""
        self._active = False
        self._intake.close()
        self._desk.refuse_all(NOT_ACTIVE)
        if self._server is not None:
            self._server.stop()
        if self._settings.address_file is not None:
            Path(self._settings.address_file).unlink(missing_ok=True)

    def _reopen(self, now: float) -> None:
        if now < self._reopen_at:
            return
        self._reopen_at = now + _REOPEN_SECONDS
        if self._server is not None:
            self._server.stop()
            self._server = None
        self._open()

    def _open(self) -> None:
        server = ServerThread(self._settings.host, self._settings.port, self._intake)
        try:
            if self._settings.address_file is not None:
                _write(Path(self._settings.address_file), f"{server.url}\n")
        except BrokenError:
            server.stop()
            raise
        server.start()
        self._server = server
        _log.info("component %r, task %d: takes events on %s", self.ctx.component_id, self.ctx.task_index, server.url)


def _write(path: Path, text: str) -> None:
    """All of it or nothing."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_text(text)
        part.replace(path)
    except OSError as error:
        raise BrokenError(f"'http.address.file': {str(path)!r} cannot be written: {error}") from error
