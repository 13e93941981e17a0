"""Runs the service until a signal, or until its standard input ends; says on one line where it listens."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from types import FrameType

from pasps.transport.entrance import listening_socket
from pasps.transport.http_server import HttpServer
from predictor_service.app import create_app
from predictor_service.errors import SettingsError
from predictor_service.fitting import Fitting
from predictor_service.settings import Settings

_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(settings: Settings, *, end_with_stdin: bool = False) -> None:
    """Blocks; for the main thread. SIGTERM and SIGINT end it, also when its parent had them blocked. Leaves no process behind.

    Raises:
        SettingsError: it cannot listen there.
    """
    _take_signals()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    with _listening(settings) as listener:
        fitting = Fitting(settings)
        server = _Server(settings, fitting, listener)
        if end_with_stdin:
            threading.Thread(target=server.end_with_stdin, name="stdin", daemon=True).start()
        server.run()


class _Server(HttpServer):
    """Says where it listens, and ends fits before connections: a fit must not keep a service from ending."""

    def __init__(self, settings: Settings, fitting: Fitting, listening: socket.socket) -> None:
        super().__init__(create_app(settings, fitting), listening, lifespan="on")
        self._fitting = fitting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"predictor listening on {self.url}\n")
        sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._fitting.close()
        await super().shutdown(sockets)

    def end_with_stdin(self) -> None:
        """Blocks until standard input ends, or is none, then asks the server to end."""
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        self.should_exit = True


def _listening(settings: Settings) -> socket.socket:
    try:
        return listening_socket(settings.host, settings.port)
    except OSError as error:
        raise SettingsError(f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}; choose another") from error


def _take_signals() -> None:
    for number in _ENDING:
        # uvicorn raises the signal that ended it once more when it is done
        signal.signal(number, _exit)
    if hasattr(signal, "pthread_sigmask"):
        # a mask is inherited; after the handlers, since one that waits is delivered here. What is started later inherits this mask
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
