"""The port of an HTTP spout, which takes no more connections than the process can well have."""

from __future__ import annotations

import errno
import logging
import resource
import socket
from typing import Any

from pasps.errors import BrokenError

BACKLOG = 256
_MOST_CONNECTIONS = 1024

_log = logging.getLogger(__name__)


def most_connections() -> int:
    """Of one task: a quarter of the files that the process may have open, which are there for all of its components."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(_MOST_CONNECTIONS, files // 4))


class Listener(socket.socket):
    """A listening socket that closes at once what connects while `most` connections are open."""

    def __init__(self, family: int, most: int) -> None:
        # with the protocol named, asyncio turns Nagle's algorithm off, which would delay answers by 40 ms
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._most = most
        self._taken: list[socket.socket] = []
        """Those that are open, and some that were."""
        self._told = False

    def accept(self) -> tuple[socket.socket, Any]:
        """As a socket does.

        Raises:
            ConnectionAbortedError: there are too many; to asyncio it is as if the client had gone.
        """
        connection, address = super().accept()
        if len(self._taken) >= self._most:
            self._taken = [one for one in self._taken if one.fileno() >= 0]
        if len(self._taken) < self._most:
            self._taken.append(connection)
            return connection, address
        connection.close()
        if not self._told:
            self._told = True
            _log.warning(
                "%d clients are connected, the next ones are turned away; said once; the bound is a quarter of `ulimit -n`, at most %d",
                self._most,
                _MOST_CONNECTIONS,
            )
        raise ConnectionAbortedError(errno.ECONNABORTED, "too many connections")


def listening(host: str, port: int) -> Listener:
    """Take the port.

    Raises:
        BrokenError: somebody else has it, or the host is not one of this machine.
    """
    listener = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = Listener(family, most_connections())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # connections inherit it: a client that vanished is noticed, however long its request may take
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise BrokenError(f"cannot listen on {host} port {port}: {error.strerror or error}; set 'http.host' or 'http.port'") from error
    return listener
