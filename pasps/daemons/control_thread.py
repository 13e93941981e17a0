"""The worker's end of the control connection, on a thread of its own: a long `process` must not look like death.

Beats are answered here; everything else goes to the worker's loop. The end of the connection is the end of the process.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable

import msgspec

from pasps.clock import Clock, SystemClock
from pasps.daemons.messages import Beat, FromWorker, ToWorker
from pasps.transport.frames import HEADER_BYTES, FrameReader, seal

_log = logging.getLogger(__name__)

MOST_CONTROL_BYTES = 2**30
SILENCE_SECONDS = 20.0
"""After so long without a beat, of which there is one each second, a master on another machine is gone."""
EXIT_ORPHANED = 3
"""Exit status of a worker whose master is gone."""


def encode_frame(message: ToWorker | FromWorker) -> bytes:
    """One control message as it travels."""
    return bytes(seal(bytearray(HEADER_BYTES) + msgspec.msgpack.encode(message)))


class ControlThread:
    """`deliver` is called on this thread with every message; `send` may be called from any."""

    def __init__(self, control: socket.socket, deliver: Callable[[ToWorker], None], clock: Clock | None = None) -> None:
        self._socket = control
        # a master on another machine may be gone without a word; one of this machine may be stopped, and is not gone
        self._is_far = control.family in (socket.AF_INET, socket.AF_INET6)
        self._clock = clock or SystemClock()
        self._socket.setblocking(False)
        self._deliver = deliver
        self._outgoing: deque[bytes] = deque()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._decode = msgspec.msgpack.Decoder(ToWorker).decode
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def send(self, message: FromWorker) -> None:
        """Send soon; never blocks."""
        self._outgoing.append(encode_frame(message))
        with contextlib.suppress(BlockingIOError):  # so many wake-ups wait already that one more says nothing
            os.write(self._wake_write, b"x")

    def flush(self, seconds: float) -> None:
        """Wait until everything is sent, or the time is over."""
        for _ in range(int(seconds / 0.01)):
            if not self._outgoing:
                return
            self._thread.join(0.01)

    def _run(self) -> None:
        reader, heard = FrameReader(MOST_CONTROL_BYTES), self._clock.now()
        try:
            while True:
                wanted: list[socket.socket] = [self._socket] if self._outgoing else []
                readable, writable, _ = select.select([self._socket.fileno(), self._wake_read], wanted, [], SILENCE_SECONDS)
                if self._socket.fileno() in readable:
                    heard = self._clock.now()
                elif self._is_far and self._clock.now() - heard > SILENCE_SECONDS:
                    _log.error("nothing was heard of the master for %g s", SILENCE_SECONDS)
                    break
                if self._wake_read in readable:
                    os.read(self._wake_read, 4096)
                if writable:
                    self._write()
                if self._socket.fileno() in readable and not self._read(reader):
                    break
        except OSError as error:
            _log.debug("control connection: %s", error)
        except Exception:  # noqa: BLE001 - the daemon's door: said, and the process ends
            _log.exception("the control connection failed")
        # whoever started this worker is gone, and with it everything that would restart, stop or hear it
        os._exit(EXIT_ORPHANED)

    def _write(self) -> None:
        while self._outgoing:
            data = self._outgoing[0]
            try:
                sent = self._socket.send(data)
            except BlockingIOError:
                return
            if sent < len(data):
                self._outgoing[0] = data[sent:]
                return
            self._outgoing.popleft()

    def _read(self, reader: FrameReader) -> bool:
        data = self._socket.recv(1 << 20)
        if not data:
            return False
        for payload in reader.feed(data):
            message = self._decode(payload)
            if isinstance(message, Beat):
                self._outgoing.append(encode_frame(Beat()))
            else:
                self._deliver(message)
        return True
