"""Requests between their arrival and their answer: the server's thread hands them in, the spout's thread does the rest.

`Room` bounds them, `Exchange` is one, `Desk` is the spout's side: which events go out next, and when a request is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from pasps.connectors.backoff import Tries

MOST_BYTES = 64 << 20
"""Of bodies that are read or not answered."""

Event = dict[str, Any]
EventId = tuple[int, int]
"""The number of the request, and the event's place in it: the tuple id."""
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and words; `detail` is "" when all is well."""

    status: int
    detail: str = ""
    retry_seconds: int | None = None


class Room:
    """How many events and bytes may be here at once. Thread-safe."""

    def __init__(self, most_events: int) -> None:
        self._lock = threading.Lock()
        self._events, self._bytes = most_events, MOST_BYTES

    def take(self, events: int, size: int) -> bool:
        """False when there is no room for them now."""
        with self._lock:
            if events > self._events or size > self._bytes:
                return False
            self._events -= events
            self._bytes -= size
            return True

    def give(self, events: int, size: int) -> None:
        """They are gone."""
        with self._lock:
            self._events += events
            self._bytes += size


@dataclass(eq=False, slots=True)
class Exchange:
    """One request; it holds room for its events and its bytes.

    `answer` may be called from any thread and more than once, the first one counts. `gone` is set by the server's thread when
    nobody waits for the answer any more; then the exchange is handed in once more.
    """

    number: int
    key: str
    events: list[Event]
    size: int
    arrived: float
    """By the monotonic clock."""
    answer: Callable[[Answer], None]
    gone: bool = False
    rows: list[Row] | None = None
    sent: int = 0
    """How many events were emitted: the first ones."""
    left: set[int] = field(default_factory=set)
    """Places of those that were emitted and are not acked."""
    again: int = 0
    """How many of them wait to be emitted again."""
    closed: bool = False
    """It has given its room back."""


class Desk:
    """Used by the spout's thread alone, except `hand_in`."""

    def __init__(self, tries: Tries[EventId], room: Room) -> None:
        self._tries = tries
        self._room = room
        self._arrivals: SimpleQueue[Exchange] = SimpleQueue()
        self._open: dict[int, Exchange] = {}
        self._waiting: dict[int, Exchange] = {}
        """Those with events that were not emitted, in the order of arrival."""
        self.unsent = 0
        """Events that were not emitted, as of the last `take_in`."""

    def hand_in(self, exchange: Exchange) -> None:
        """From any thread: a request arrived, or nobody waits for its answer any more."""
        self._arrivals.put(exchange)

    def take_in(self) -> int:
        """See what was handed in: how many requests came."""
        came = 0
        while True:
            try:
                exchange = self._arrivals.get_nowait()
            except Empty:
                return came
            if exchange.gone:
                self._drop(exchange)
            elif not exchange.closed:
                came += 1
                self._open[exchange.number] = self._waiting[exchange.number] = exchange
                self.unsent += len(exchange.events)

    # ---- emitting

    def first(self) -> Exchange | None:
        """The oldest request with events that were not emitted."""
        return next(iter(self._waiting.values()), None)

    def next_of(self, exchange: Exchange, most: int) -> tuple[list[Row], list[EventId]]:
        """Rows to emit, with their ids; its rows are made by now. `sent` says that they were."""
        assert exchange.rows is not None
        places = range(exchange.sent, min(len(exchange.rows), exchange.sent + most))
        return [exchange.rows[place] for place in places], [(exchange.number, place) for place in places]

    def sent(self, exchange: Exchange, ids: list[EventId]) -> None:
        """These were emitted."""
        exchange.left.update(place for _, place in ids)
        exchange.sent += len(ids)
        self.unsent -= len(ids)
        if exchange.sent == len(exchange.events):
            del self._waiting[exchange.number]

    def again(self, most: int) -> Iterator[tuple[Row, EventId]]:
        """Up to `most` events that failed and are due again; each counts as emitted when the next one is asked for."""
        for key in self._tries.each_due(most):
            exchange = self._open.get(key[0])
            if exchange is not None and exchange.rows is not None:
                yield exchange.rows[key[1]], key
                exchange.again -= 1

    # ---- fates

    def acked(self, event: EventId) -> None:
        """Its request is answered with it, when it was the last one."""
        exchange = self._open.get(event[0])
        if exchange is None:
            return
        self._tries.forget(event)
        exchange.left.discard(event[1])
        if not exchange.left and exchange.sent == len(exchange.events):
            self.refuse(exchange, Answer(200))

    def failed(self, event: EventId, active: bool) -> None:
        """It is due again, or its request is answered with that; not `active`: it could not be emitted again."""
        exchange = self._open.get(event[0])
        if exchange is None or event[1] not in exchange.left:
            return
        if not active:
            self.refuse(exchange, NOT_ACTIVE)
        elif self._tries.failed(event):
            exchange.again += 1
        else:
            detail = f"event {event[1]}: it failed as often as it may ('http.tries'); the topology's errors say why"
            self.refuse(exchange, Answer(500, detail))

    def arrived(self, event: EventId) -> float | None:
        """When its request had arrived, by the monotonic clock; None when it is not open."""
        exchange = self._open.get(event[0])
        return None if exchange is None else exchange.arrived

    def refuse(self, exchange: Exchange, answer: Answer) -> None:
        """Answer it, whatever of it is still to do; what is in flight of it is not heard of any more."""
        exchange.answer(answer)
        self._drop(exchange)

    def refuse_what_waits(self, answer: Answer) -> None:
        """Those that would need another emission."""
        self.take_in()
        for exchange in [one for one in self._open.values() if one.sent < len(one.events) or one.again]:
            self.refuse(exchange, answer)

    def refuse_all(self, answer: Answer) -> None:
        """Those that are open."""
        self.take_in()
        for exchange in list(self._open.values()):
            self.refuse(exchange, answer)

    def _drop(self, exchange: Exchange) -> None:
        if exchange.closed:
            return
        exchange.closed = True
        self._open.pop(exchange.number, None)
        if self._waiting.pop(exchange.number, None) is not None:
            self.unsent -= len(exchange.events) - exchange.sent
        for place in exchange.left:
            self._tries.forget((exchange.number, place))
        self._room.give(len(exchange.events), exchange.size)


NOT_ACTIVE = Answer(503, "the topology is not active: it starts, is deactivated, or ends; send it again", 1)
