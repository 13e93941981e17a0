"""The HTTP server of a spout task: uvicorn on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading

from pasps.connectors.http_intake import Intake
from pasps.connectors.http_listener import BACKLOG, listening
from pasps.errors import InvalidError

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise InvalidError(f"HttpSpout needs uvicorn, which cannot be imported ({error}); pip install 'pasps[http]'") from error

_IDLE_SECONDS = 10.0
_END_SECONDS = 2

_log = logging.getLogger(__name__)


class HttpServer:
    """Listens from when it is made, and answers until `stop`."""

    def __init__(self, host: str, port: int, intake: Intake) -> None:
        """Take the port.

        Raises:
            BrokenError: somebody else has it, or the host is not one of this machine.
        """
        self._listener = listening(host, port)
        self._server = _server(intake)
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._listener.getsockname()[:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

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
            self._thread.join(2.0 * _END_SECONDS)
        self._listener.close()

    def _run(self) -> None:
        try:
            # asyncio's own loop, whatever the process uses elsewhere: others do not accept as the listener does
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._server.serve([self._listener]))
        except Exception:  # noqa: BLE001 - the thread's door: the spout sees that it is over, and begins anew
            _log.exception("the server of a spout ended")


class HttpConnection(H11Protocol):
    """The header of a request is bounded, and so is the time until it has come: both also for those who hold no token.

    Uvicorn itself ends only connections on which nothing comes after an answer.
    """

    _idle: asyncio.TimerHandle | None = None

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
        super().on_response_complete()
        self._note()

    def connection_lost(self, exc: Exception | None) -> None:
        """Of asyncio."""
        self._stop()
        super().connection_lost(exc)

    def _note(self) -> None:
        """While no request is served, the time runs; what comes slowly, also of a body that nobody waits for, does not stop it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._idle is None and not self.transport.is_closing():
            self._idle = self.loop.call_later(_IDLE_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


def _server(intake: Intake) -> uvicorn.Server:
    config = uvicorn.Config(
        intake,
        http=HttpConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=_END_SECONDS,
    )
    return uvicorn.Server(config)
