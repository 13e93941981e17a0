"""HTTP for whoever of this project answers over it: uvicorn, behind the `entrance` that every port of ours has."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from pasps.transport.entrance import Complaints, Entrance, Visitor, share_of_files

IDLE_SECONDS = 10.0
"""A connection on which no request is served is closed after so long."""
END_SECONDS = 2
MOST_KNOWN = 1024
"""So many connections may have made a request, fewer where the process may not open many files."""
_SHARE_OF_FILES = 4

_log = logging.getLogger(__name__)
# what strangers do is told by `Complaints`, once in a while
_quiet = logging.getLogger("uvicorn.error.connection")
_quiet.setLevel(logging.ERROR)


class HttpServer(uvicorn.Server):
    """Serves an ASGI application at a listening socket; `serve` is until `should_exit`, and closes the socket."""

    def __init__(self, app: Any, listening: socket.socket, lifespan: Literal["on", "off"] = "off") -> None:
        config = uvicorn.Config(
            app,
            http=HttpConnection,
            ws="none",
            lifespan=lifespan,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=END_SECONDS,
        )
        super().__init__(config)
        host, port = listening.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        """Where it listens."""
        self._listening = listening
        self._complaints: Complaints
        self._entrance: Entrance

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Of uvicorn, which is given no socket to listen on."""
        await super().startup([])
        self._complaints = Complaints(_log)
        most = share_of_files(_SHARE_OF_FILES, MOST_KNOWN)
        self._entrance = Entrance(self._listening, self._admit, IDLE_SECONDS, self._complaints, most)
        self._entrance.open()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Of uvicorn."""
        self._entrance.close()
        await super().shutdown([])

    def _admit(self, visitor: Visitor) -> None:
        visitor.give_to(HttpConnection(self.config, self.server_state, self.lifespan.state, None, visitor, self._complaints))


class HttpConnection(H11Protocol):
    """The header of a request is bounded, and so is the time until it has come: both also for those who hold no token.

    Uvicorn itself ends only connections on which nothing comes after an answer.
    """

    _idle: asyncio.TimerHandle | None = None

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        loop: asyncio.AbstractEventLoop | None,
        visitor: Visitor,
        complaints: Complaints,
    ) -> None:
        super().__init__(config, server_state, app_state, loop)
        self.logger = _quiet
        self._served_app, self.app = self.app, self._serve
        self._visitor, self._complaints = visitor, complaints

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Of asyncio."""
        super().connection_made(transport)
        self._note()

    def data_received(self, data: bytes) -> None:
        """Of asyncio."""
        super().data_received(data)
        self._note()

    def on_response_complete(self) -> None:
        """Of uvicorn."""
        self._visitor.idle()
        super().on_response_complete()
        self._note()

    def send_400_response(self, msg: str) -> None:
        """Of uvicorn."""
        self._complaints.tell(f"a connection with {self._visitor.address} is closed: {msg}")
        super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """Of asyncio."""
        self._stop()
        self._visitor.leave()
        super().connection_lost(exc)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if self._visitor.busy():
            await self._served_app(scope, receive, send)
            return
        head = [(b"connection", b"close"), (b"retry-after", b"1")]
        await send({"type": "http.response.start", "status": 503, "headers": head})
        await send({"type": "http.response.body", "body": b""})

    def _note(self) -> None:
        """While no request is served, the time runs; what comes slowly, also of a body that nobody waits for, does not stop it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._idle is None and not self.transport.is_closing():
            self._idle = self.loop.call_later(IDLE_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
