"""The HTTP server of a spout task, on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading

from pasps.connectors.http_intake import Intake
from pasps.errors import BrokenError, InvalidError
from pasps.transport.entrance import listening_socket

try:
    from pasps.transport.http_server import END_SECONDS
    from pasps.transport.http_server import HttpServer as Server
except ImportError as error:
    raise InvalidError(f"HttpSpout needs uvicorn, which cannot be imported ({error}); pip install 'pasps[http]'") from error

_log = logging.getLogger(__name__)


class HttpServer:
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
        self._server = Server(intake, self._listening)
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
