"""What the spouts of brokers share: a reader on a thread of its own, and a spout that keeps what it emitted until it is done.

Used by kafka and redis_streams, whose readers stand in kafka_reader and redis_reader. An event's walk: `Reader.step` puts it into
`Ahead`, `Reader.take` gives it to `ReadAheadSpout`, which emits it; `done` tells the server, `set_aside` gives it to `DeadLetters`.
"""

from __future__ import annotations

import logging
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from threading import Event as Flag
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from pasps.api.spout import Spout
from pasps.clock import Clock, SystemClock
from pasps.connectors.backoff import Setback, Tries
from pasps.errors import EmitError

_log = logging.getLogger(__name__)

_MOST_AHEAD, _MOST_AHEAD_BYTES = 1000, 16 << 20
_FIRST_GUESS = 1 << 20
_MOST, _MOST_BYTES = 256, 64 << 20
_MOST_NEWS = 50
LEAVE_SECONDS, _JOIN_SECONDS = 3.5, 0.5
"""A worker that is told to close is ended after five seconds, however many spouts it has."""
_LEAST_LEAVE_SECONDS = 0.1
_TOGETHER_SECONDS = 1.0
_PAUSE_SECONDS = 1.0
_REASON_LENGTH = 1000

Item = TypeVar("Item")


@dataclass(eq=False, repr=False, slots=True)
class Event:
    """Something that was read, and the tuple id of its tuple; compared by identity.

    It does not pickle, on purpose: after a crash the server says what is given out again, and in another order. So the runtime
    must not wait until it sees the last id of the dead instance once more.
    """

    place: Any
    """The reader's own."""
    record: Any
    """What `values` gets."""
    due: float | None
    """In seconds since the epoch."""
    size: int
    """Bytes."""
    trouble: str = ""
    """Why the record is not whole: then it is given up, and `values` is not asked."""
    row: Sequence[Any] | None = None
    """What `values` has made of it."""

    def __repr__(self) -> str:
        return f"Event({self.record})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an event in flight is known to its own process only")


class Ahead(Generic[Item]):
    """What was read and not taken, in order: 1,000 at most, and about 16 MiB.

    Who uses it holds a lock; only `room` needs none, and is asked by the thread that puts.
    How large the next ones are is known when they are here. So few are asked for at first, and then as many as fit if they are as
    large on the mean as the last ones were.
    """

    def __init__(self) -> None:
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._came = self._came_bytes = 0
        """Since `room` was asked last."""
        self._guess = float(_FIRST_GUESS)

    def __len__(self) -> int:
        return len(self._items)

    def room(self) -> int:
        """How many to ask for. The guess rises at once with what has come since, and falls by half at most."""
        if self._came:
            self._guess = max(1.0, self._came_bytes / self._came, self._guess / 2)
            self._came = self._came_bytes = 0
        count, size = _MOST_AHEAD - len(self._items), _MOST_AHEAD_BYTES - self._bytes
        return max(1, min(count, int(size / self._guess))) if count > 0 and size > 0 else 0

    def is_low(self) -> bool:
        """Whether it is worth while to ask for more."""
        return len(self._items) <= _MOST_AHEAD // 2 and self._bytes <= _MOST_AHEAD_BYTES // 2

    def put(self, item: Item, size: int) -> None:
        """It was read, and has so many bytes."""
        self._items.append((item, size))
        self._bytes += size
        self._came += 1
        self._came_bytes += size

    def pop(self) -> Item:
        """The next one; there is one."""
        item, size = self._items.popleft()
        self._bytes -= size
        return item


class Tally:
    """How much is somewhere, where one thread puts and another one takes: each writes numbers of its own."""

    def __init__(self) -> None:
        self._put = self._put_bytes = 0
        self._gone = self._gone_bytes = 0

    def put(self, size: int) -> None:
        """One more."""
        self._put += 1
        self._put_bytes += size

    def gone(self, size: int) -> None:
        """One less."""
        self._gone += 1
        self._gone_bytes += size

    def now(self) -> tuple[int, int]:
        """How many are there, and how many bytes."""
        return self._put - self._gone, self._put_bytes - self._gone_bytes


def written(reason: str) -> bytes:
    """A reason as a server takes it: 1,000 characters at most, and what is no character (half a surrogate pair) as an escape."""
    return reason[:_REASON_LENGTH].encode("utf-8", "backslashreplace")


@dataclass(eq=False, slots=True)
class Letter:
    """An event that is given up, and why."""

    event: Event
    reason: bytes
    stub: bool = False
    """It goes without what the event holds."""


class DeadLetters(ABC):
    """What is given up, on its way to where such events are kept; each is done when it is there.

    `put` and `parting` are called by the spout, everything else by the reader's thread. While the server does not take them, letters
    wait, and are tried after pauses up to 5 s.
    """

    def __init__(self, target: str, done: Callable[[Event], None], tell: Callable[[str], None]) -> None:
        """`target` is where they go; `done` hears of each that has arrived, `tell` of what went wrong."""
        self.target = target
        self._done, self._tell = done, tell
        self._waiting: deque[Letter] = deque()
        self._tally = Tally()
        self._setback = Setback()

    def parting(self) -> tuple[int, int]:
        """How many are not there yet, and their bytes."""
        return self._tally.now()

    def put(self, event: Event, reason: str) -> None:
        """It is to go there."""
        self._tally.put(event.size)
        self._waiting.append(Letter(event, written(reason)))

    @abstractmethod
    def send(self) -> None:
        """Send what waits."""

    def _finish(self, letter: Letter) -> None:
        """It is there, or nowhere."""
        self._tally.gone(letter.event.size)
        self._done(letter.event)


class Reader(ABC):
    """Reads from a server on a thread of its own, a bounded number of events ahead of the spout.

    The thread calls `step` again and again, and `end` at last; everything else is called by the spout, and returns at once.
    """

    dead_key: ClassVar[str] = ""
    """The key that says where an event is kept that is given up, such as `kafka.dead.topic`."""

    def __init__(self, name: str, wait_seconds: float = 0.1) -> None:
        """A step waits `wait_seconds` for events or room."""
        self.over = Flag()
        """Set when the spout is closed: then `step` returns soon."""
        self._wait_seconds = wait_seconds
        self._ahead: Ahead[Any] = Ahead()
        self._lock = Condition()
        """Of what was read ahead. The thread waits on it for room; nothing of the server's is called under it."""
        self._dead: DeadLetters | None = None
        self.leave_seconds = LEAVE_SECONDS
        """So long may `end` take; what it has not told the server by then it gives up, and says so."""
        self._news: deque[str] = deque(maxlen=_MOST_NEWS)
        self._thread = Thread(target=self._run, name=name, daemon=True)

    # ---- on the thread

    @abstractmethod
    def step(self) -> None:
        """Read, tell the server what is done; some 100 ms at most, unless the server keeps it waiting."""

    @abstractmethod
    def end(self) -> None:
        """Tell the server what is done, and leave; `tell` what could not be told the server."""

    def tell(self, problem: str) -> None:
        """Something that people should know; the spout reports it."""
        self._news.append(problem)

    def _wait_for_room(self) -> None:
        with self._lock:
            self._lock.wait_for(self._ahead.is_low, self._wait_seconds)

    def _run(self) -> None:
        while not self.over.is_set():
            try:
                self.step()
            except Exception:  # noqa: BLE001 - the main of a thread: reported, and it goes on
                self.tell(traceback.format_exc().rstrip())
                self.over.wait(_PAUSE_SECONDS)
        try:
            self.end()
        except Exception:  # noqa: BLE001 - as above; nobody asks any more
            _log.exception("%s did not end in good order", self._thread.name)

    # ---- on the spout's loop

    def take(self, most: int, most_bytes: int) -> list[Event]:
        """The next events, in order; from now on the spout has them. The last one may go beyond the bytes; no room, no event."""
        found: list[Event] = []
        with self._lock:
            while self._ahead and len(found) < most and most_bytes > 0:
                event = self._taken(self._ahead.pop())
                if event is not None:
                    found.append(event)
                    most_bytes -= event.size
            if self._ahead.is_low():
                self._lock.notify()
        return found

    def _taken(self, item: Any) -> Event | None:
        """What was read ahead, as an event; None: it is none, or not this reader's any more. Under the lock."""
        event: Event = item
        return event

    @abstractmethod
    def owns(self, event: Event) -> bool:
        """Whether the event is still this reader's; if not, somebody else gets it."""

    @abstractmethod
    def done(self, event: Event) -> None:
        """It need not be given out again."""

    def set_aside(self, event: Event, reason: str) -> str:
        """It is given up: bring it to where such events go. Says in words where that is."""
        if self._dead is None:
            self.done(event)
            return f"it is left out; with {self.dead_key!r} it would be kept"
        self._dead.put(event, reason)
        return f"it goes to the {self.dead_key.rpartition('.')[2]} {self._dead.target!r}"

    def parting(self) -> tuple[int, int]:
        """How many events were put aside and are not yet where they go, and their bytes; they count as in flight."""
        return (0, 0) if self._dead is None else self._dead.parting()

    @abstractmethod
    def backlog(self) -> int | None:
        """Events that are due and were not taken yet; None while that is not known."""

    def news(self) -> list[str]:
        """What was told since the last call."""
        found = []
        while self._news:
            found.append(self._news.popleft())
        return found

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def close(self, seconds: float = LEAVE_SECONDS) -> None:
        """End the thread, which may take so long; waits half a second more at most."""
        self.leave_seconds = seconds
        self.over.set()
        if self._thread.ident is not None:
            self._thread.join(seconds + _JOIN_SECONDS)


class ReadAheadSpout(Spout):
    """Emits what a reader reads, each event until it is acked, or is given up; none is dropped unseen.

    A subclass makes its reader in `initialize` and hands it to `read_from`. What is in flight is bounded in number and in bytes.
    Where to go on after a crash is the server's to know, so no position is saved.
    """

    clock: ClassVar[Clock] = SystemClock()
    """A test puts its own here."""
    _leave_by: ClassVar[float] = 0.0
    _closed_at: ClassVar[float] = -_TOGETHER_SECONDS
    """When those of this worker that close one after the other have to be gone, and when the last one was."""

    def read_from(self, reader: Reader, most_pending: int, most_tries: int | None) -> None:
        """Begin. `most_pending` events may be emitted and not done; one may fail `most_tries` times."""
        self._reader = reader
        self._most_pending = most_pending
        self._most_tries = most_tries
        self._tries: Tries[Event] = Tries(self.clock, most_tries)
        self._open = 0
        """Events that were taken and are neither done nor put aside."""
        self._open_bytes = 0
        reader.start()

    def values(self, record: Any) -> Sequence[Any] | None:
        """The tuple of a record, the same each time; None: it is of no use, and done.

        Raises:
            ValueError: it cannot be read, and never will; it is put aside. After any other exception it is tried again.
        """
        raise NotImplementedError(f"{type(self).__name__} must define values(record)")

    def next_tuple(self) -> None:
        """Emit what failed and is due again, else what was read; some hundred tuples at most."""
        self._look()
        if self._emit_again():
            return
        parting, parting_bytes = self._reader.parting()
        most = min(_MOST, self._most_pending - self._open - parting)
        events = self._reader.take(most, _MOST_BYTES - self._open_bytes - parting_bytes)
        self._open += len(events)
        self._open_bytes += sum(event.size for event in events)
        for event in events:
            self._emit(event)

    def _emit_again(self) -> bool:
        """Whether there was any."""
        emitted = False
        for event in self._tries.each_due(_MOST):
            emitted = True
            self._emit(event)
        return emitted

    def _emit(self, event: Event) -> None:
        if not self._reader.owns(event):
            self._forget(event)
            return
        if event.trouble:
            self._give_up(event, f"cannot be read: {event.trouble}")
            return
        try:
            row = event.row = self.values(event.record) if event.row is None else event.row
        except ValueError as error:
            self._give_up(event, f"cannot be read: {error}")
            return
        except Exception:  # noqa: BLE001 - a hook of the user's: reported, and the event has failed
            self._stumble(event)
            return
        if row is None:
            self.ack(event)
            return
        try:
            self.emit(row, event)
        except (EmitError, TypeError):  # a row that does not fit the stream
            event.row = None
            self._stumble(event)

    def _stumble(self, event: Event) -> None:
        self.ctx.report_error(f"{event.record}: {traceback.format_exc().rstrip()}")
        self.fail(event)

    def _give_up(self, event: Event, reason: str) -> None:
        self._forget(event)
        where = self._reader.set_aside(event, reason)
        self.ctx.report_error(f"{event.record} {reason}: {where}")

    def ack(self, tup_id: Event) -> None:
        """Tell the reader, which tells the server."""
        self._reader.done(tup_id)
        self._forget(tup_id)
        self._look()

    def fail(self, tup_id: Event) -> None:
        """Emit it again, at once or after a pause; or put it aside."""
        if not self._reader.owns(tup_id):
            self._forget(tup_id)
        elif not self._tries.failed(tup_id):
            self._give_up(tup_id, "failed" if self._most_tries == 1 else f"failed {self._most_tries} times")

    def backlog(self) -> int | None:
        """What the server has for this task, and what was read ahead."""
        self._look()
        return self._reader.backlog()

    def due_at(self, tup_id: Event) -> float | None:
        """When the server or the sender says that it came."""
        return tup_id.due

    def close(self) -> None:
        """Tell the server what is done, and leave; what could not be told it is reported. Waits four seconds at most.

        Spouts of a worker that close one after the other have these together, for none may be ended before it has reported.
        """
        now = self.clock.now()
        if not 0.0 <= now - ReadAheadSpout._closed_at < _TOGETHER_SECONDS:
            ReadAheadSpout._leave_by = now + LEAVE_SECONDS
        self._reader.close(max(_LEAST_LEAVE_SECONDS, ReadAheadSpout._leave_by - now))
        ReadAheadSpout._closed_at = self.clock.now()
        self._look()

    def _forget(self, event: Event) -> None:
        self._open -= 1
        self._open_bytes -= event.size
        self._tries.forget(event)

    def _look(self) -> None:
        """Pass on what the reader's thread cannot: it may call nothing of the runtime's."""
        for problem in self._reader.news():
            self.ctx.report_error(problem)
