"""The HTTP server of a spout task: uvicorn on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading

from pasps.connectors.http_intake import Intake
from pasps.errors import BrokenError, InvalidError

try:
    import uvicorn
except ImportError as error:
    raise InvalidError(f"HttpSpout needs uvicorn, which cannot be imported ({error}); pip install 'pasps[http]'") from error

_BACKLOG = 256
_MOST_CONNECTIONS = 1024
_END_SECONDS = 2

_log = logging.getLogger(__name__)


class HttpServer:
    """Listens from when it is made, and answers until `stop`."""

    def __init__(self, host: str, port: int, intake: Intake) -> None:
        """Take the port.

        Raises:
            BrokenError: somebody else has it, or the host is not one of this machine.
        """
        self._listener = _listening(host, port)
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
            asyncio.run(self._server.serve([self._listener]))
        except Exception:  # noqa: BLE001 - the thread's door: the spout sees that it is over, and begins anew
            _log.exception("the server of a spout ended")


def _server(intake: Intake) -> uvicorn.Server:
    config = uvicorn.Config(
        intake,
        http="h11",  # its headers are bounded, also of those who hold no token
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_END_SECONDS,
    )
    return uvicorn.Server(config)


def _listening(host: str, port: int) -> socket.socket:
    listener = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # with the protocol named, asyncio turns Nagle's algorithm off, which would delay answers by 40 ms
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise BrokenError(f"cannot listen on {host} port {port}: {error.strerror or error}; set 'http.host' or 'http.port'") from error
    return listener
