"""One HTTP request and its answer, over a connection of its own. Blocks its caller, never longer than it said.

Why not httpx: docs/decisions/0039.
"""

from __future__ import annotations

import http.client
import io
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from pasps.clock import Clock, Deadline
from pasps.errors import BrokenError, ProtocolError, TimeoutExpiredError

CONNECT_SECONDS = 5.0
MOST_ANSWER_BYTES = 64 << 20
_PART_BYTES = 1 << 18


class NotConnectedError(BrokenError):
    """No connection could be made, so nothing was sent."""


class LostError(BrokenError):
    """The connection broke before the whole answer was there; whether the request was acted on is not known."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A file given as `body` is sent piece by piece; `sent` is called then. An answer longer than `most_bytes` is refused."""

    method: str
    headers: Mapping[str, str]
    body: bytes | Path | None = None
    most_bytes: int = MOST_ANSWER_BYTES
    sent: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`location` is where else to ask, if the answer said so."""

    status: int
    location: str | None
    body: bytes


def exchange(url: str, request: HttpRequest, seconds: float | None, clock: Clock) -> Answer:
    """Send it and return the answer, whatever its status.

    Args:
        url: Of http or https.
        request: What to send.
        seconds: From when the request was sent to the end of the answer; None: without end. Connecting takes 5 seconds at most.
        clock: Tells the time.

    Raises:
        NotConnectedError, LostError: see there.
        TimeoutExpiredError: no answer in time; the request may be acted on still.
        ProtocolError: what answers there speaks no HTTP, or too much of it.
    """
    parts = urlsplit(url)
    with closing(_connected(parts, seconds)) as connection:
        try:
            _send(connection, parts, request)
            if request.sent is not None:
                request.sent()
            return _answer(connection.sock, request, Deadline(clock, seconds))
        except TimeoutError as late:
            raise TimeoutExpiredError(f"no answer within {seconds:g} s") from late
        except (ConnectionError, http.client.IncompleteRead) as error:
            raise LostError("it closed the connection before its whole answer was here") from error
        except http.client.HTTPException as error:
            raise ProtocolError(f"what answers there speaks no HTTP ({type(error).__name__})") from error
        except OSError as error:
            raise LostError(str(error)) from error


def _connected(parts: SplitResult, seconds: float | None) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_SECONDS)
        connection.connect()
    except TimeoutError as late:
        raise NotConnectedError(f"no connection within {CONNECT_SECONDS:g} s") from late
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise NotConnectedError(getattr(error, "strerror", None) or str(error)) from error
    connection.sock.settimeout(seconds)
    return connection


def _send(connection: http.client.HTTPConnection, parts: SplitResult, request: HttpRequest) -> None:
    headers = {"Connection": "close", **request.headers}
    with ExitStack() as stack:
        body = request.body
        content = stack.enter_context(body.open("rb")) if isinstance(body, Path) else body
        if isinstance(body, Path):
            headers["Content-Length"] = str(body.stat().st_size)
        try:
            connection.request(request.method, parts._replace(scheme="", netloc="").geturl() or "/", content, headers)
        except (BrokenPipeError, ConnectionResetError):
            return  # whoever refuses a long body answers before it has read all of it


def _answer(line: socket.socket, request: HttpRequest, deadline: Deadline) -> Answer:
    response = http.client.HTTPResponse(cast(socket.socket, _Received(line, deadline)), method=request.method)
    response.begin()
    found = bytearray()
    while part := response.read1(_PART_BYTES):
        found += part
        if len(found) > request.most_bytes:
            raise ProtocolError(f"it answered with more than {request.most_bytes} bytes")
    if response.length:
        raise ConnectionResetError
    return Answer(response.status, response.getheader("Location"), bytes(found))


class _Received(io.RawIOBase):
    """What comes over a connection, in the shape that the standard library's parser wants it.

    Each piece, of the head too, has what is left of the one deadline: with a time-out for each piece, an answer that comes in drops
    would be waited for without end.
    """

    def __init__(self, line: socket.socket, deadline: Deadline) -> None:
        self._line = line
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline.remaining()
        if left == 0.0:
            raise TimeoutError
        self._line.settimeout(left)
        return self._line.recv_into(buffer)
