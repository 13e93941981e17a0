"""The server's thread: what the keys `http.*` say, how it listens, and a request's walk from its first byte to its answer.

A request is checked, its body read and made into events (`events_in`, pure), and handed to the spout's thread, whose side is
http_desk. Everything here runs on the server's event loop, except where it says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import os
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from pasps.api.keys import Keys
from pasps.clock import Clock
from pasps.connectors.http_desk import NOT_ACTIVE, Answer, Event, Exchange, Room
from pasps.errors import BrokenError, ConfigError, InvalidError
from pasps.transport.entrance import listening_socket

try:
    from pasps.transport.http_server import END_SECONDS, HttpServer
except ImportError as error:
    raise InvalidError(f"HttpSpout needs uvicorn, which cannot be imported ({error}); pip install 'pasps[http]'") from error

_log = logging.getLogger(__name__)

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

_JSON = "application/json"
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_MOST_KEY = 200
_LINGER_BYTES = 16 << 20
_LINGER_SECONDS = 2.0
_FULL = Answer(503, "too many events wait or are in flight ('http.pending'); send it again", 1)
TOKEN_VARIABLE = "PASPS_HTTP_TOKEN"
_KEYS = (
    "http.host",
    "http.port",
    "http.token",
    "http.token.file",
    "http.address.file",
    "http.pending",
    "http.max.bytes",
    "http.timeout.seconds",
    "http.tries",
)


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where a task listens, who may send, and the bounds. `port` 0 is any that is free."""

    host: str
    port: int
    token: str | None = field(repr=False)
    address_file: str | None
    most_pending: int
    most_bytes: int
    timeout_seconds: float
    most_tries: int


def settings_of(conf: Mapping[str, Any], where: str, task: int = 0, tasks: int = 1) -> HttpSettings:
    """The settings in `conf` for one of several tasks; other keys are left alone.

    Raises:
        ConfigError: a key is wrong or misspelled, or a token is missing where others can reach the port.
    """
    keys = Keys(conf, _KEYS, where, "http.")
    host = keys.text("http.host", "an address or a name of this machine") or "127.0.0.1"
    port = keys.whole("http.port", 8080, 0, 65535)
    if port and port + tasks - 1 > 65535:
        raise ConfigError("http.port", f"leaves no port to the last of {tasks} tasks", where=where, cure="choose a smaller one")
    file = keys.text("http.address.file", "the path of a file")
    token = _token(keys, where)
    if token is None and not _is_loopback(host):
        cure = f"set 'http.token.file', 'http.token' or the environment's {TOKEN_VARIABLE}, or listen on 127.0.0.1"
        raise ConfigError("http.host", f"is {host!r}, which others can reach, and there is no token", where=where, cure=cure)
    return HttpSettings(
        host,
        port + task if port else 0,
        token,
        f"{file}.{task}" if file and tasks > 1 else file,
        keys.whole("http.pending", 10_000),
        keys.whole("http.max.bytes", 1 << 20, 1, 1 << 26),
        keys.seconds("http.timeout.seconds", 30.0),
        keys.whole("http.tries", 3),
    )


def _token(keys: Keys, where: str) -> str | None:
    keys.at_most_one("http.token", "http.token.file")
    token, path = keys.text("http.token", "text"), keys.text("http.token.file", "the path of a file")
    if path is not None:
        try:
            token = Path(path).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("http.token.file", f"names {path!r}, which cannot be read ({error})", where=where) from error
        if not token:
            raise ConfigError("http.token.file", f"names {path!r}, which is empty", where=where)
    token = token or os.environ.get(TOKEN_VARIABLE) or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise ConfigError("http.token", "must be printable ASCII without spaces, so that a header can hold it", where=where)
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# ---- listening


class ServerThread:
    """Listens from when it is made, and answers until `stop`."""

    def __init__(self, host: str, port: int, intake: Intake) -> None:
        """Take the port.

        Raises:
            BrokenError: somebody else has it, or the host is not one of this machine.
        """
        try:
            self._listening = listening_socket(host, port)
        except OSError as error:
            where = f"cannot listen on {host} port {port}: {error.strerror or error}"
            raise BrokenError(f"{where}; set 'http.host' or 'http.port'") from error
        self._server = HttpServer(intake, self._listening)
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._server.url}/"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def alive(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End it; waits for what it has to say, some tenths of a second."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(2.0 * END_SECONDS)
        self._listening.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._server.serve())
        except Exception:  # noqa: BLE001 - the thread's door: the spout sees that it is over, and begins anew
            _log.exception("the server of a spout ended")


# ---- requests


class RefusedError(Exception):
    """A request that is not taken: the status, the words and more headers of the answer."""

    def __init__(self, status: int, detail: str, *headers: Header) -> None:
        self.status, self.detail, self.headers = status, detail, headers
        super().__init__(f"{status}: {detail}")


def _refused(answer: Answer) -> RefusedError:
    retry = () if answer.retry_seconds is None else ((b"retry-after", b"%d" % answer.retry_seconds),)
    return RefusedError(answer.status, answer.detail, *retry)


class Intake:
    """What the server does with a request, as an ASGI application. `close` may be called, and `accepting` set, from any thread."""

    def __init__(self, settings: HttpSettings, room: Room, hand_in: Callable[[Exchange], None], clock: Clock) -> None:
        self._settings = settings
        self._room = room
        self._hand_in = hand_in
        self._clock = clock
        self._numbers = count()
        self._expected = None if settings.token is None else f"Bearer {settings.token}".encode()
        self.accepting = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bodies: set[_Body] = set()
        """Of the requests that are here."""

    def close(self) -> None:
        """Wait for no body any more, and accept nothing. From any thread; before the desk refuses what it has."""
        self.accepting, self._closed = False, True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._cut_all)

    def _cut_all(self) -> None:
        for body in self._bodies:
            body.cut()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Asgi's call."""
        if scope["type"] != "http":
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        sent = _Body(receive)
        self._bodies.add(sent)
        self._loop = asyncio.get_running_loop()
        if self._closed:
            sent.cut()
        try:
            await self._serve(scope, headers, sent, send)
        finally:
            self._bodies.discard(sent)

    async def _serve(self, scope: Scope, headers: Mapping[bytes, str], sent: _Body, send: Send) -> None:
        more: tuple[Header, ...] = ()
        body: dict[str, object]
        try:
            status, body = await self._answer(scope, headers, sent)
        except RefusedError as refused:
            status, body, more = refused.status, {"detail": refused.detail}, refused.headers
        if b"expect" not in headers:  # who asks before sending sends nothing
            await sent.pass_over()
        content = msgspec.json.encode(body) + b"\n"
        head = [*more, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _answer(self, scope: Scope, headers: Mapping[bytes, str], sent: _Body) -> tuple[int, dict[str, object]]:
        """Status and body."""
        if scope["path"] != "/":
            raise RefusedError(404, f"no page {scope['path'][:60]!r}; POST / takes events, GET / says whether it does")
        accepting = self.accepting
        if scope["method"] in ("GET", "HEAD"):
            return (200 if accepting else 503), {"accepting": accepting}
        if scope["method"] != "POST":
            raise RefusedError(405, f"/ takes GET and POST, got {scope['method'][:20]!r}", (b"allow", b"GET, HEAD, POST"))
        if not self._may(headers):
            bearer = "expected the header Authorization: Bearer <the token that the spout was given>"
            raise RefusedError(401, bearer, (b"www-authenticate", b"Bearer"))
        kind = kind_of(headers.get(b"content-type", ""), headers.get(b"content-encoding", ""))
        key = key_of(headers.get(b"idempotency-key", "")) or secrets.token_hex(8)
        if not accepting:
            raise _refused(NOT_ACTIVE)
        return 200, {"events": await self._take(headers, sent, kind, key)}

    def _may(self, headers: Mapping[bytes, str]) -> bool:
        given = headers.get(b"authorization", "").encode("latin-1")
        return self._expected is None or hmac.compare_digest(given, self._expected)

    async def _take(self, headers: Mapping[bytes, str], sent: _Body, kind: str, key: str) -> int:
        """1. Hold room for the body. 2. Read it. 3. Hold room for its events. 4. Hand them in. 5. Wait until all are done.

        Returns:
            How many they are.
        """
        loop = asyncio.get_running_loop()
        when = loop.time() + self._settings.timeout_seconds
        most = self._settings.most_bytes
        length = headers.get(b"content-length", "")
        size = int(length) if length.isdecimal() and len(length) < 16 else most
        if size > most:
            raise _too_large(most)
        if not self._room.take(0, size):
            raise _refused(_FULL)
        kept = False
        try:
            body = await self._read(sent, size, when)
            self._room.give(0, size - len(body))
            size = len(body)
            events = events_in(body, kind)
            self._hold_room(len(events))
            kept = True
        finally:
            if not kept:
                self._room.give(0, size)
        answered: asyncio.Future[Answer] = loop.create_future()
        exchange = Exchange(next(self._numbers), key, events, size, self._clock.now(), _from_a_thread(loop, answered))
        self._hand_in(exchange)
        if self._closed:  # perhaps nobody takes it any more
            exchange.answer(NOT_ACTIVE)
        answer = await self._wait(exchange, answered, when)
        if answer.status != 200:
            raise _refused(answer)
        return len(events)

    async def _read(self, sent: _Body, most: int, when: float) -> bytes:
        parts, size = [], 0
        try:
            async with sent.until(when):
                while not sent.ended:
                    parts.append(await sent.next_part())
                    size += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
        except TimeoutError as late:
            sent.ended = True  # as far as it is waited for
            if sent.was_cut:
                raise _refused(NOT_ACTIVE) from late
            raise RefusedError(408, f"body: did not arrive within {self._settings.timeout_seconds:g} s; send it again") from late
        if sent.left:
            raise RefusedError(400, "the client closed its connection")
        return b"".join(parts)

    def _hold_room(self, events: int) -> None:
        if events > self._settings.most_pending:
            raise RefusedError(413, f"body: expected at most {self._settings.most_pending} events ('http.pending'), got {events}")
        if not self._room.take(events, 0):
            raise _refused(_FULL)

    async def _wait(self, exchange: Exchange, answered: asyncio.Future[Answer], when: float) -> Answer:
        try:
            async with asyncio.timeout_at(when):
                return await answered
        except TimeoutError as late:
            problem = f"not done within {self._settings.timeout_seconds:g} s ('http.timeout.seconds'), though it may still be"
            raise RefusedError(504, f"{problem}; send it again with the same Idempotency-Key") from late
        finally:
            if answered.cancelled():
                exchange.gone = True
                self._hand_in(exchange)


class _Body:
    """The body of a request, as it comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False
        self.left = False
        """The client closed its connection before it ended."""
        self.was_cut = False
        self._limit: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def until(self, when: float) -> AsyncIterator[None]:
        """Parts are waited for until then, or until it is cut.

        Raises:
            TimeoutError: they did not come.
        """
        async with asyncio.timeout_at(0.0 if self.was_cut else when) as self._limit:
            try:
                yield
            finally:
                self._limit = None

    def cut(self) -> None:
        """Wait for nothing more of it."""
        self.was_cut = True
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(0.0)

    async def next_part(self) -> bytes:
        """May be empty."""
        message = await self._receive()
        self.left = message["type"] == "http.disconnect"
        self.ended = self.left or not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    async def pass_over(self) -> None:
        """Take what is still to come, for a while: many clients look for an answer only when they have sent everything."""
        size = 0
        with contextlib.suppress(TimeoutError):
            async with self.until(asyncio.get_running_loop().time() + _LINGER_SECONDS):
                while not self.ended and size < _LINGER_BYTES:
                    size += len(await self.next_part())


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"body: expected at most {most} bytes ('http.max.bytes'), got more; send fewer events")


def _from_a_thread(loop: asyncio.AbstractEventLoop, answered: asyncio.Future[Answer]) -> Callable[[Answer], None]:
    def answer(given: Answer) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended, and with it whoever waits
            loop.call_soon_threadsafe(settle, given)

    def settle(given: Answer) -> None:
        if not answered.done():
            answered.set_result(given)

    return answer


# ---- from the header and the bytes of a request to its events; pure


def kind_of(content_type: str, content_encoding: str) -> str:
    """The media type, one of those that are read. One is needed: without it any page in a browser could send events.

    Raises:
        RefusedError: it is another one, or compressed.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind != _JSON and kind not in _LINES:
        raise RefusedError(415, f"expected the header Content-Type: {_JSON}, or {_LINES[0]} for a line for each event, got {kind[:60]!r}")
    if content_encoding.strip().lower() not in ("", "identity"):
        raise RefusedError(415, f"expected a body that is not compressed, got Content-Encoding: {content_encoding[:60]!r}")
    return kind


def key_of(header: str) -> str | None:
    """The idempotency key; None: the client sent none.

    Raises:
        RefusedError: it is too long, or has characters that no key should have.
    """
    key = header.strip().strip('"')
    if not key:
        return None
    if len(key) > _MOST_KEY or not key.isascii() or not key.isprintable():
        raise RefusedError(400, f"Idempotency-Key: expected at most {_MOST_KEY} printable ASCII characters")
    return key


def events_in(body: bytes, kind: str) -> list[Event]:
    """The events of a body of this kind: objects, at least one.

    Raises:
        RefusedError: it is not what it says, or holds something else.
    """
    if kind == _JSON:
        value = _decoded(body, "body")
        events = value if isinstance(value, list) else [value]
        where = "event {}" if isinstance(value, list) else "body"
        found = [_object(event, where.format(number)) for number, event in enumerate(events)]
    else:
        lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
        found = [_object(_decoded(line, f"line {number}"), f"line {number}") for number, line in lines]
    if not found:
        raise RefusedError(400, "body: expected at least one event, got none")
    return found


def _decoded(data: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RefusedError(400, f"{where}: expected JSON in UTF-8: {error}") from error
    except RecursionError as error:
        raise RefusedError(400, f"{where}: nested too deeply") from error


def _object(value: Any, where: str) -> Event:
    if not isinstance(value, dict):
        names = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "true or false", type(None): "null"}
        raise RefusedError(400, f"{where}: expected a JSON object, got {names.get(type(value), type(value).__name__)}")
    return value
