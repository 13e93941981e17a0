"""What the server does with a request, as an ASGI application: checks it, hands it in, and waits until it is answered."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from itertools import count
from typing import Any

import msgspec

from pasps.clock import Clock
from pasps.connectors.http_body import RefusedError, events_in, key_of, kind_of
from pasps.connectors.http_desk import NOT_ACTIVE, Answer, Exchange, Room
from pasps.connectors.http_settings import HttpSettings

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_LINGER_BYTES = 16 << 20
_LINGER_SECONDS = 2.0
_FULL = Answer(503, "too many events wait or are in flight ('http.pending'); send it again", 1)


class Intake:
    """One for each server; everything here runs on its event loop, except `close`. `accepting` may be set from any thread."""

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
        extra: list[tuple[bytes, bytes]] = []
        body: dict[str, object]
        try:
            status, body = await self._answer(scope, headers, sent, extra)
        except RefusedError as refused:
            status, body = refused.status, {"detail": refused.detail}
        if b"expect" not in headers:  # who asks before sending sends nothing
            await sent.pass_over()
        content = msgspec.json.encode(body) + b"\n"
        extra += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": status, "headers": extra})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _answer(
        self, scope: Scope, headers: Mapping[bytes, str], sent: _Body, extra: list[tuple[bytes, bytes]]
    ) -> tuple[int, dict[str, object]]:
        """Status and body; what it adds to `extra` are headers of the answer."""
        if scope["path"] != "/":
            raise RefusedError(404, f"no page {scope['path'][:60]!r}; POST / takes events, GET / says whether it does")
        if scope["method"] in ("GET", "HEAD"):
            return (200, {"accepting": True}) if self.accepting else (503, {"accepting": False})
        if scope["method"] != "POST":
            extra.append((b"allow", b"GET, HEAD, POST"))
            raise RefusedError(405, f"/ takes GET and POST, got {scope['method'][:20]!r}")
        if not self._may(headers):
            extra.append((b"www-authenticate", b"Bearer"))
            raise RefusedError(401, "expected the header Authorization: Bearer <the token that the spout was given>")
        kind = kind_of(headers.get(b"content-type", ""), headers.get(b"content-encoding", ""))
        key = key_of(headers.get(b"idempotency-key", "")) or secrets.token_hex(8)
        events, answer = await self._take(headers, sent, kind, key) if self.accepting else (0, NOT_ACTIVE)
        if answer.retry_seconds is not None:
            extra.append((b"retry-after", b"%d" % answer.retry_seconds))
        if answer.status == 200:
            return 200, {"events": events}
        return answer.status, {"detail": answer.detail}

    def _may(self, headers: Mapping[bytes, str]) -> bool:
        given = headers.get(b"authorization", "").encode("latin-1")
        return self._expected is None or hmac.compare_digest(given, self._expected)

    async def _take(self, headers: Mapping[bytes, str], sent: _Body, kind: str, key: str) -> tuple[int, Answer]:
        """1. Hold room for the body. 2. Read it. 3. Hold room for its events. 4. Hand them in. 5. Wait for the answer."""
        loop = asyncio.get_running_loop()
        when = loop.time() + self._settings.timeout_seconds
        most = self._settings.most_bytes
        length = headers.get(b"content-length", "")
        size = int(length) if length.isdecimal() and len(length) < 16 else most
        if size > most:
            raise _too_large(most)
        if not self._room.take(0, size):
            return 0, _FULL
        kept = False
        try:
            body = await self._read(sent, size, when)
            if body is None:
                return 0, NOT_ACTIVE
            self._room.give(0, size - len(body))
            size = len(body)
            events = events_in(body, kind)
            kept = self._has_room(len(events))
        finally:
            if not kept:
                self._room.give(0, size)
        if not kept:
            return 0, _FULL
        answered: asyncio.Future[Answer] = loop.create_future()
        exchange = Exchange(next(self._numbers), key, events, size, self._clock.now(), _from_a_thread(loop, answered))
        self._hand_in(exchange)
        if self._closed:  # perhaps nobody takes it any more
            exchange.answer(NOT_ACTIVE)
        return len(events), await self._wait(exchange, answered, when)

    async def _read(self, sent: _Body, most: int, when: float) -> bytes | None:
        """None: it is not waited for any more."""
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
                return None
            raise RefusedError(408, f"body: did not arrive within {self._settings.timeout_seconds:g} s; send it again") from late
        if sent.left:
            raise RefusedError(400, "the client closed its connection")
        return b"".join(parts)

    def _has_room(self, events: int) -> bool:
        if events > self._settings.most_pending:
            raise RefusedError(413, f"body: expected at most {self._settings.most_pending} events ('http.pending'), got {events}")
        return self._room.take(events, 0)

    async def _wait(self, exchange: Exchange, answered: asyncio.Future[Answer], when: float) -> Answer:
        try:
            async with asyncio.timeout_at(when):
                return await answered
        except TimeoutError:
            late = f"not done within {self._settings.timeout_seconds:g} s ('http.timeout.seconds'), though it may still be"
            return Answer(504, f"{late}; send it again with the same Idempotency-Key")
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
