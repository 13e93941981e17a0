"""The master's HTTP API: who may ask, what is answered, what is read of requests, and errors as HTTP has them.

Everything but `/healthz` needs the token, and is done by the leader. `client` is its other end.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import URL, Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pasps import errors
from pasps.cluster.master.endings import Endings
from pasps.cluster.master.failures import (
    BodyTooLargeError,
    DriverUnreachableError,
    NotLeadingError,
    RefusedPackageError,
    UnknownTopologyError,
)
from pasps.cluster.master.leadership import Leadership
from pasps.cluster.master.rebalance import Rebalances
from pasps.cluster.master.records import Rebalance
from pasps.cluster.master.submissions import Submissions
from pasps.cluster.master.topologies import Topologies
from pasps.cluster.package.layout import MOST_PACKAGE_BYTES, megabytes
from pasps.cluster.store.contract import Store, StoreUnavailableError
from pasps.cluster.store.tokens import is_token
from pasps.errors import BrokenError, BusyError, ClosedError, InvalidError, PaspsError, TimeoutExpiredError

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

RETRY_SECONDS = 1
MOST_JSON_BYTES = 60 << 10
"""A driver's control port takes lines of 64 KiB."""
IDLE_SECONDS = 30.0
STATUSES: tuple[tuple[type[PaspsError], int], ...] = (
    (UnknownTopologyError, 404),
    (BodyTooLargeError, 413),
    (BusyError, 409),
    (InvalidError, 422),
    (TimeoutExpiredError, 504),
    (NotLeadingError, 503),
    (DriverUnreachableError, 503),
    (StoreUnavailableError, 503),
    (ClosedError, 503),
    (PaspsError, 502),
)
"""Most specific first; 502 is what a driver said of itself."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What answers requests. `incoming` is a directory for packages on their way in."""

    store: Store
    leadership: Leadership
    submissions: Submissions
    topologies: Topologies
    rebalances: Rebalances
    endings: Endings
    incoming: Path


def create_app(parts: Parts, token: str) -> FastAPI:
    """The application; a request passes the token's guard, then the leader's, then its route."""
    # no page for people: those load scripts from elsewhere
    app = FastAPI(title="pasps master", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.include_router(_Routes(parts).router())
    app.add_exception_handler(PaspsError, answer_pasps)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(Exception, answer_rest)
    # the last one added is the first one passed
    app.add_middleware(LeaderGuard, leadership=parts.leadership)
    app.add_middleware(TokenGuard, token=token)
    return app


class _Routes:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def router(self) -> APIRouter:
        router = APIRouter(redirect_slashes=False)
        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", "/healthz", self.health),
            ("POST", "/v1/topologies", self.submit),
            ("GET", "/v1/topologies", self.all),
            ("GET", "/v1/topologies/{name}", self.one),
            ("POST", "/v1/topologies/{name}/verbs/{verb}", self.verb),
            ("POST", "/v1/topologies/{name}/rebalance", self.rebalance),
            ("GET", "/v1/ended", self.ended),
        ]
        for method, path, function in routes:
            router.add_api_route(path, function, methods=[method], response_model=None)
        return router

    async def health(self) -> Response:
        leader = None
        if self._parts.store.connected:
            try:
                leader = await self._parts.leadership.leader()
            except PaspsError:
                leader = None
        ok = self._parts.store.connected
        told = {"ok": ok, "leads": self._parts.leadership.leads, "leader": leader.url if leader else None}
        return _json(told, 200 if ok else 503)

    async def submit(self, request: Request) -> Response:
        package = self._parts.incoming / f"{secrets.token_hex(16)}.zip"
        try:
            sha256 = await save(request, package)
            submitted = await self._parts.submissions.accept(package, sha256)
        finally:
            package.unlink(missing_ok=True)
        return _json(submitted, 201)

    async def all(self) -> Response:
        return _json({"topologies": await self._parts.topologies.all()})

    async def one(self, name: str) -> Response:
        return _json(await self._parts.topologies.one(name))

    async def verb(self, name: str, verb: str, request: Request) -> Response:
        arguments: Mapping[str, Any] = await read_json(request, dict[str, Any])
        return _json({"result": await self._parts.topologies.verb(name, verb, arguments)})

    async def rebalance(self, name: str, request: Request) -> Response:
        await self._parts.rebalances.rebalance(name, await read_json(request, Rebalance))
        return _json({"name": name}, 202)

    async def ended(self) -> Response:
        return _json({"ended": await self._parts.endings.ended()})


def _json(told: Any, status: int = 200) -> Response:
    # it may be megabytes: status, or a part of a file
    return Response(msgspec.json.encode(told), status, media_type="application/json")


# ---- who may ask

_OPEN = frozenset({"/healthz"})
_BEARER = "bearer "


class TokenGuard:
    """ASGI middleware: passes what carries `Authorization: Bearer TOKEN` on, answers 401 to the rest; `/healthz` is open."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Asgi's call."""
        if scope["type"] == "http" and scope["path"] not in _OPEN and not self._holds_token(Headers(scope=scope)):
            text = "expected the header Authorization: Bearer TOKEN with the master's token; set PASPS_TOKEN"
            await refusal(401, "AuthenticationError", text)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _holds_token(self, headers: Headers) -> bool:
        given = headers.get("authorization", "")
        return given[: len(_BEARER)].lower() == _BEARER and is_token(given[len(_BEARER) :], self._token)


class LeaderGuard:
    """ASGI middleware: a master that does not lead sends the client to the one that does, before it reads a body."""

    def __init__(self, app: ASGIApp, leadership: Leadership) -> None:
        self._app, self._leadership = app, leadership

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Asgi's call."""
        passes = scope["type"] != "http" or scope["path"] in _OPEN or self._leadership.leads
        act: Callable[[Scope, Receive, Send], Awaitable[None]] = self._app if passes else await self._elsewhere(URL(scope=scope))
        await act(scope, receive, send)

    async def _elsewhere(self, url: URL) -> Response:
        try:
            leader = await self._leadership.leader()
        except PaspsError as error:
            return answer_of(error)
        if leader is None or leader.url == self._leadership.me.url:
            return answer_of(NotLeadingError("no master leads now; another takes over in a few seconds, ask again"))
        return RedirectResponse(f"{leader.url}{url.path}{f'?{url.query}' if url.query else ''}", 307)


# ---- bodies: at most so many bytes, and never an endless wait for the next ones


async def read_json(request: Request, kind: type[_T]) -> _T:
    """The body as JSON; an empty one is `{}`.

    Raises:
        InvalidError: it is none, or not of this kind.
        BodyTooLargeError: it is too long.
    """
    body = b"".join([part async for part in _parts(request, MOST_JSON_BYTES)])
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"body: expected JSON: {error}") from error


async def save(request: Request, path: Path) -> str:
    """Write the body to a new file as it comes; returns its SHA-256. The file stays when it fails.

    Raises:
        BodyTooLargeError: it is too long.
        InvalidError: it is empty.
        BrokenError: it cannot be written, or the client has gone.
    """
    sink = _Sink(path)
    try:
        async for part in _parts(request, MOST_PACKAGE_BYTES):
            sink.write(part)
    except OSError as error:
        raise BrokenError(f"the package cannot be written to {path.parent}: {error.strerror or error}") from error
    finally:
        sink.close()
    if not sink.size:
        raise InvalidError("body: expected a package, got nothing")
    return sink.sha256


class _Sink:
    """A file that is written, and its hash."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        except OSError as error:
            raise BrokenError(f"the package cannot be written to {path.parent}: {error.strerror}") from error
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, part: bytes) -> None:
        self._file.write(part)
        self._hash.update(part)
        self.size += len(part)

    def close(self) -> None:
        self._file.close()


async def _parts(request: Request, most_bytes: int) -> AsyncIterator[bytes]:
    length: Any = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most_bytes:
        raise _too_large(most_bytes, megabytes(int(length)))
    size = 0
    stream = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                part = await anext(stream, None)
        except TimeoutError as late:
            raise TimeoutExpiredError(f"body: nothing came for {IDLE_SECONDS:g} s; send it again") from late
        except ClientDisconnect as gone:
            raise BrokenError("the client closed its connection") from gone
        if part is None:
            return
        size += len(part)
        if size > most_bytes:
            raise _too_large(most_bytes, "more")
        yield part


def _too_large(most_bytes: int, got: str) -> BodyTooLargeError:
    return BodyTooLargeError(f"body: expected at most {megabytes(most_bytes)}, got {got}")


# ---- errors: `{"error": {"kind", "text"}}` and a status


def refusal(status: int, kind: str, text: str) -> JSONResponse:
    """An answer that says no."""
    headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else None
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse({"error": {"kind": kind, "text": text}}, status, headers)


def answer_of(error: PaspsError) -> JSONResponse:
    """The answer that an error makes."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    return refusal(status, kind_of(error), str(error))


def kind_of(error: PaspsError) -> str:
    """The word that `verbs.error_of` makes an error of again; for a package the word of its check."""
    if isinstance(error, RefusedPackageError):
        return error.kind
    names = (kind.__name__ for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
    return next(names, "PaspsError")


async def answer_pasps(request: Request, error: Exception) -> JSONResponse:
    """For what this package raises."""
    assert isinstance(error, PaspsError)
    return answer_of(error)


async def answer_http(request: Request, error: Exception) -> JSONResponse:
    """For what has no route."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:100]
    text = {
        404: f"there is no {path!r}; the API begins with /v1/topologies",
        405: f"{path!r} does not take {request.method}",
    }.get(error.status_code, str(error.detail))
    return refusal(error.status_code, "InvalidError", text)


async def answer_rest(request: Request, error: Exception) -> JSONResponse:
    """The daemon's door: the request fails, the master goes on."""
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(500, "BrokenError", f"the master failed, see its log: {type(error).__name__}: {error}")
