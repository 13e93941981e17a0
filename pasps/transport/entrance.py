"""The door of every port and socket of ours: takes in who comes, keeps few waiting, and gives on who says something.

Who belongs here speaks at once and proves itself within milliseconds; so when many stand at the door, the oldest that is silent is
sent away first, and a flood of strangers costs neither the descriptors of this process nor somebody known the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
from collections.abc import Callable

MOST_INSIDE = 128
"""So many may be proving themselves at the same time; fewer where the process may not open many files."""
_SHARE_OF_FILES = 8
"""One in so many of the files that the process may open; the rest is for user code, for peers, and for what they send."""
BACKLOG = 4096
"""Who waits in the kernel's queue comes in soon; who finds it full tries again only after a second, then after two more."""
_AT_ONCE = 32
_PAUSE_SECONDS = 0.01
"""Where somebody had to be sent away: 32 in 10 ms are 3,200 in a second, and leave each newcomer 40 ms to speak."""
_PAUSE_TURNS = 8
"""Of the loop, beside that: where crowds keep it busy each turn is long, and to be heard out takes some."""
_NO_FILES_SECONDS = 0.1
_COMPLAINTS_SECONDS = 10.0


class Complaints:
    """Tells the first of many in the log, and how many more there were once in ten seconds."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._more = 0
        self._last = ""
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, text: str) -> None:
        """At once, when nothing was told of late."""
        if self._timer is None:
            self._log.warning("%s", text)
            self._open()
            return
        self._more, self._last = self._more + 1, text

    def close(self) -> None:
        """Tell what is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._tell_more()
            self._timer = None

    def _open(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_COMPLAINTS_SECONDS, self._over)

    def _over(self) -> None:
        self._timer = None
        if self._tell_more():
            self._open()

    def _tell_more(self) -> bool:
        more, self._more = self._more, 0
        if more:
            self._log.warning("and %d more like this, the last one: %s", more, self._last)
        return bool(more)


class Visitor:
    """One connection: silent -> speaking -> busy <-> idle, and from each of them gone. A stranger is who is not busy or idle yet.

    `control` is its socket, non-blocking; `cut` is called to send it away.
    """

    __slots__ = ("_entrance", "address", "at", "control", "cut")

    def __init__(self, entrance: Entrance, control: socket.socket, address: object, at: float) -> None:
        self._entrance = entrance
        self.control = control
        self.address = address
        self.at = at
        self.cut: Callable[[], None] = control.close

    def give_to(self, protocol: asyncio.Protocol) -> None:
        """Its socket is now that of a protocol of asyncio, and `cut` ends their connection."""
        self._entrance.connect(self, protocol)

    def busy(self) -> bool:
        """It has proved itself, or asked for something, and is served now. False: it is to go, there is no room for one more."""
        return self._entrance.settle(self)

    def idle(self) -> None:
        """It was served, and may ask again; who has been idle longest makes room for others."""
        self._entrance.rest(self)

    def leave(self) -> None:
        """It is gone, or others look after it from now on: its place is free. More calls do nothing."""
        self._entrance.forget(self)


class Entrance:
    """One listening socket, from `open` to `close`. Everything runs on the event loop, nothing blocks.

    `admit` is called with each visitor as soon as it has said something; it gives its socket to somebody, sets `cut` where that is
    not enough, and says what becomes of it. Who says nothing for `seconds` is sent away. At most `most_known` are busy or idle.
    """

    def __init__(
        self,
        listening: socket.socket,
        admit: Callable[[Visitor], None],
        seconds: float,
        complaints: Complaints,
        most_known: int = 0,
    ) -> None:
        self._listening = listening
        self._admit = admit
        self._seconds = seconds
        self._complaints = complaints
        self._name = name_of(listening.getsockname())
        self._loop = asyncio.get_running_loop()
        self._most = share_of_files(_SHARE_OF_FILES, MOST_INSIDE)
        self._most_known = most_known
        # each in order of arrival
        self._silent: dict[Visitor, None] = {}
        self._speaking: dict[Visitor, None] = {}
        self._busy: dict[Visitor, None] = {}
        self._idle: dict[Visitor, None] = {}
        self._starting: set[asyncio.Task[tuple[asyncio.Transport, asyncio.Protocol]]] = set()
        self._pause: asyncio.Handle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Begin to listen."""
        self._listening.setblocking(False)
        self._listening.listen(BACKLOG)
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def close(self) -> None:
        """Free the port, and send strangers away; who is busy or idle is left to its owner. More calls do nothing."""
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening.fileno())
            self._listening.close()
        for timer in (self._pause, self._deadline):
            if timer is not None:
                timer.cancel()
        for visitor in [*self._silent, *self._speaking]:
            self._send_away(visitor)
        self._complaints.close()

    # ---- what a visitor says of itself

    def connect(self, visitor: Visitor, protocol: asyncio.Protocol) -> None:
        """See `Visitor.give_to`."""
        task = self._loop.create_task(self._loop.connect_accepted_socket(lambda: protocol, visitor.control))
        is_cut = False

        def cut() -> None:
            nonlocal is_cut
            is_cut = True  # not cancelled: not every loop lets go of a socket that it has taken half

        def connected(task: asyncio.Task[tuple[asyncio.Transport, asyncio.Protocol]]) -> None:
            self._starting.discard(task)
            if task.cancelled():
                visitor.control.close()
            elif (error := task.exception()) is not None:
                visitor.leave()
                self._complaints.tell(f"a connection at {self._name} could not be taken in: {error!r}")
            else:
                visitor.cut = task.result()[0].abort
                if is_cut:
                    visitor.cut()

        visitor.cut = cut
        self._starting.add(task)
        task.add_done_callback(connected)

    def settle(self, visitor: Visitor) -> bool:
        """See `Visitor.busy`."""
        if visitor in self._silent or visitor in self._speaking:
            if len(self._busy) + len(self._idle) >= self._most_known:
                if not self._idle:
                    self._complaints.tell(f"{self._most_known} connections at {self._name} are served now: the next one is refused")
                    return False
                self._send_away(next(iter(self._idle)))
        elif visitor not in self._busy and visitor not in self._idle:
            return False  # it was sent away
        self.forget(visitor)
        self._busy[visitor] = None
        return True

    def rest(self, visitor: Visitor) -> None:
        """See `Visitor.idle`."""
        if visitor in self._busy:
            del self._busy[visitor]
            self._idle[visitor] = None

    def forget(self, visitor: Visitor) -> None:
        """See `Visitor.leave`."""
        if visitor in self._silent:
            del self._silent[visitor]
            self._loop.remove_reader(visitor.control.fileno())
        for place in (self._speaking, self._busy, self._idle):
            place.pop(visitor, None)

    # ---- who comes and who goes

    def _accept(self) -> None:
        crowded, now = False, self._loop.time()
        for _ in range(_AT_ONCE):
            try:
                control, address = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                break
            except OSError as error:
                # too many open files, most likely: what strangers hold is given back, and who comes waits outside
                self._complaints.tell(f"nobody can be let in at {self._name} now: {error}")
                for visitor in list(self._silent)[: len(self._silent) // 2 + 1]:
                    self._send_away(visitor)
                self._stop_for(_NO_FILES_SECONDS)
                return
            control.setblocking(False)
            if len(self._silent) + len(self._speaking) >= self._most:
                crowded = True
                self._send_away(self._oldest(now))
                self._complaints.tell(f"{self._most} connections at {self._name} prove nothing: the oldest are closed")
            # one of this machine alone comes from nowhere
            visitor = Visitor(self, control, address or self._name, now)
            self._silent[visitor] = None
            self._loop.add_reader(control.fileno(), self._speaks, visitor)
        if self._deadline is None and self._silent:
            self._deadline = self._loop.call_later(self._seconds, self._send_away_late)
        if crowded:
            self._stop_for(_PAUSE_SECONDS)

    def _oldest(self, now: float) -> Visitor:
        """Who is to go first: a silent one, unless all of those came this very moment, and nobody could hear them yet."""
        silent = next(iter(self._silent), None)
        if silent is None or silent.at == now:
            silent = next(iter(self._speaking), silent)
        assert silent is not None
        return silent

    def _stop_for(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening.fileno())
        self._pause = self._loop.call_later(seconds, self._go_on, _PAUSE_TURNS)

    def _go_on(self, turns: int) -> None:
        if turns:
            self._pause = self._loop.call_soon(self._go_on, turns - 1)
        else:
            self._pause = None
            self._loop.add_reader(self._listening.fileno(), self._accept)

    def _speaks(self, visitor: Visitor) -> None:
        self.forget(visitor)
        said = b""
        with contextlib.suppress(OSError):
            said = visitor.control.recv(1, socket.MSG_PEEK)
        if not said:  # it went away without a word
            visitor.control.close()
            return
        self._speaking[visitor] = None
        self._admit(visitor)

    def _send_away(self, visitor: Visitor) -> None:
        self.forget(visitor)
        visitor.cut()

    def _send_away_late(self) -> None:
        self._deadline = None
        for visitor in list(self._silent):
            left = visitor.at + self._seconds - self._loop.time()
            if left > 0:
                self._deadline = self._loop.call_later(left, self._send_away_late)
                return
            self._complaints.tell(f"connection with {name_of(visitor.address)} closed: it was silent for {self._seconds:g} s")
            self._send_away(visitor)


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to that address; port 0 takes a free one. Who connects waits until an `Entrance` opens.

    Raises:
        OSError: the address cannot be had.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # of a name that has both, the address that everybody has; with the protocol named, asyncio sends small answers at once (TCP_NODELAY)
    family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # connections inherit it: a client that vanished is noticed, however long its request may take
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def share_of_files(part: int, most: int) -> int:
    """One in `part` of the files that this process may open, at most `most`."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if files == resource.RLIM_INFINITY else max(4, min(most, files // part))


def name_of(address: object) -> str:
    """Host and port, as people write them."""
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) and len(address) >= 2 else str(address or "?")
