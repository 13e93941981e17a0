"""With a token, who does not send it is told so and gets nothing else; `/healthz` stays open for probes."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_OPEN = frozenset({"/healthz"})


class Guard:
    """ASGI middleware: passes what carries `Authorization: Bearer <token>` on, answers 401 to the rest."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Asgi's call."""
        if scope["type"] == "http" and scope["path"] not in _OPEN and not self._holds_token(Headers(scope=scope)):
            detail = "expected the header Authorization: Bearer <the token that the service was started with>"
            await JSONResponse({"detail": detail}, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _holds_token(self, headers: Headers) -> bool:
        return hmac.compare_digest(headers.get("authorization", "").encode("latin-1"), self._expected)
