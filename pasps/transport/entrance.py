"""The door of a port that strangers can reach: takes in who comes, keeps few waiting, and gives on who says something.

Who belongs here speaks at once and proves itself within milliseconds; so when many stand at the door, the oldest that is silent is
sent away first, and a flood of strangers costs neither the descriptors of this process nor a sibling its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
from collections.abc import Callable

_log = logging.getLogger(__name__)

MOST_INSIDE = 128
"""So many may be proving themselves at the same time; fewer where the process may not open many files."""
_SHARE_OF_FILES = 8
"""One in so many of the files that the process may open; the rest is for user code, for peers, and for what they send."""
_BACKLOG = 4096
"""Who waits in the kernel's queue comes in soon; who finds it full tries again only after a second, then after two more."""
_AT_ONCE = 32
_PAUSE_SECONDS = 0.01
"""Where somebody had to be sent away: 32 in 10 ms are 3,200 in a second, and leave each newcomer 40 ms to speak."""
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
    """Somebody who has come in and proved nothing yet. `control` is its socket, non-blocking; `cut` is called to send it away."""

    __slots__ = ("_entrance", "address", "at", "control", "cut")

    def __init__(self, entrance: Entrance, control: socket.socket, address: object, at: float) -> None:
        self._entrance = entrance
        self.control = control
        self.address = address
        self.at = at
        self.cut: Callable[[], None] = control.close

    def leave(self) -> None:
        """It has proved itself, or is gone: its place is free. More calls do nothing."""
        self._entrance.forget(self)


class Entrance:
    """One listening socket, from `open` to `close`. Everything runs on the event loop, nothing blocks.

    `admit` is called with each visitor as soon as it has said something; it sets `cut`, and calls `leave` when it is done with it.
    Who says nothing for `seconds` is sent away.
    """

    def __init__(self, listening: socket.socket, admit: Callable[[Visitor], None], seconds: float, complaints: Complaints) -> None:
        self._listening = listening
        self._admit = admit
        self._seconds = seconds
        self._complaints = complaints
        self._loop = asyncio.get_running_loop()
        self._most = _most_inside()
        self._silent: dict[Visitor, None] = {}  # in order of arrival, as the next
        self._speaking: dict[Visitor, None] = {}
        self._pause: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Begin to listen."""
        self._listening.setblocking(False)
        self._listening.listen(_BACKLOG)
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def close(self) -> None:
        """Free the port, and send away who has proved nothing. More calls do nothing."""
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening.fileno())
            self._listening.close()
        for timer in (self._pause, self._deadline):
            if timer is not None:
                timer.cancel()
        for visitor in [*self._silent, *self._speaking]:
            self._send_away(visitor)
        self._complaints.close()

    def forget(self, visitor: Visitor) -> None:
        """See `Visitor.leave`."""
        if visitor in self._silent:
            del self._silent[visitor]
            self._loop.remove_reader(visitor.control.fileno())
        self._speaking.pop(visitor, None)

    def _accept(self) -> None:
        crowded = False
        for _ in range(_AT_ONCE):
            try:
                control, address = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                break
            except OSError as error:
                # too many open files, most likely: what strangers hold is given back, and who comes waits outside
                self._complaints.tell(f"nobody can be let in at {self._name()} now: {error}")
                for visitor in list(self._silent)[: len(self._silent) // 2 + 1]:
                    self._send_away(visitor)
                self._stop_for(_NO_FILES_SECONDS)
                return
            control.setblocking(False)
            if len(self._silent) + len(self._speaking) >= self._most:
                crowded = True
                self._send_away(next(iter(self._silent or self._speaking)))
                self._complaints.tell(f"{self._most} connections at {self._name()} prove nothing: the oldest are closed")
            visitor = Visitor(self, control, address, self._loop.time())
            self._silent[visitor] = None
            self._loop.add_reader(control.fileno(), self._speaks, visitor)
        if self._deadline is None and self._silent:
            self._deadline = self._loop.call_later(self._seconds, self._send_away_late)
        if crowded:
            self._stop_for(_PAUSE_SECONDS)

    def _stop_for(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening.fileno())
        self._pause = self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
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
            late = f"handshake: expected to finish within {self._seconds:g} s, got no answer"
            self._complaints.tell(f"connection with {name_of(visitor.address)} closed: {late}")
            self._send_away(visitor)

    def _name(self) -> str:
        return name_of(self._listening.getsockname())


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to that address; port 0 takes a free one.

    Raises:
        OSError: the address cannot be had.
    """
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_BACKLOG)


def name_of(address: object) -> str:
    """Host and port, as people write them."""
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) and len(address) >= 2 else str(address or "?")


def _most_inside() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_INSIDE if files == resource.RLIM_INFINITY else max(4, min(MOST_INSIDE, files // _SHARE_OF_FILES))
