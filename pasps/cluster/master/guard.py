"""Who may ask, and who answers: without the token nothing is told, and only the leader acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.datastructures import URL, Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pasps.cluster.master.answers import answer_of, refusal
from pasps.cluster.master.failures import NotLeadingError
from pasps.cluster.master.leadership import Leadership
from pasps.cluster.store.tokens import is_token
from pasps.errors import PaspsError

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
