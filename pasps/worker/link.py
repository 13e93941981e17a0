"""The worker's end of the control connection, on the worker's event loop; anybody may write to it.

Beats are answered here; everything else goes to the worker. The end of the connection is the end of the process.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import select
import socket
import struct
import termios
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import msgspec

from pasps.clock import Clock, Deadline, SystemClock
from pasps.errors import ProtocolError
from pasps.transport.frames import HEADER_BYTES, FrameReader, seal
from pasps.worker.messages import Beat, FromWorker, Problem, ToWorker

_log = logging.getLogger(__name__)

MOST_CONTROL_BYTES = 2**30
SILENCE_SECONDS = 20.0
"""After so long without a beat, of which there is one each second, a controller on another machine is gone."""
_MANY_UNREAD = 1 << 14
"""Bytes of beats that wait unread after a quarter of an hour. The system takes no more at some point, and then nothing is known."""
EXIT_ORPHANED = 3
"""Exit status of a worker whose controller is gone."""
EXIT_FAILED = 4
"""Exit status of a worker in which something of ours raised."""


def encode_frame(message: ToWorker | FromWorker) -> bytes:
    """One control message as it travels."""
    return bytes(seal(bytearray(HEADER_BYTES) + msgspec.msgpack.encode(message)))


def end_orphaned(why: str) -> NoReturn:
    """End the process: whoever started it is gone, and with it everything that would restart, stop or hear it."""
    _log.debug("%s", why)
    os._exit(EXIT_ORPHANED)


class ControllerLink:
    """`start` and `deliver` belong to the event loop. `send` may be called from any thread, and never blocks, raises or tears a frame."""

    def __init__(self, control: socket.socket, deliver: Callable[[ToWorker], None], clock: Clock | None = None) -> None:
        # a controller on another machine may be gone without a word; one of this machine may be stopped, and is not gone
        self._is_far = control.family in (socket.AF_INET, socket.AF_INET6)
        self._socket = control
        self._socket.setblocking(False)
        self._deliver = deliver
        self._clock = clock or SystemClock()
        self._heard, self._unread = self._clock.now(), 0
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(ToWorker).decode
        # the loop and the thread that speaks for it write: what is begun is at the head of the queue, and goes on before the next
        self._outgoing: deque[bytes] = deque()
        self._writing = threading.Lock()
        self._loop: asyncio.AbstractEventLoop
        self._refused = ""

    def start(self) -> None:
        """Begin to listen, on the loop that runs."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._readable)

    def fileno(self) -> int:
        """Of the socket, for whoever watches for its end."""
        return self._socket.fileno()

    # ---- writing

    def send(self, message: FromWorker) -> None:
        """Send soon. What cannot be written is told to the controller in place of the message."""
        try:
            frame = encode_frame(message)
        except Exception as error:  # noqa: BLE001 - some value of user code in it; a word that is not said is better than a dead worker
            refused = f"its {type(message).__name__} cannot be written: {error}"
            if refused == self._refused:  # the next one most often has the same fault
                return
            self._refused = refused
            _log.error("control connection: %s", refused)
            frame = encode_frame(Problem("", -1, refused.encode(errors="backslashreplace").decode()))
        with self._writing:
            self._outgoing.append(frame)
            left = self._write()
        if left:
            with suppress(RuntimeError):  # it is closed: the process ends
                self._loop.call_soon_threadsafe(self._write_on)

    def push(self) -> bool:
        """Write what is left, as far as there is room for it now; False when all is written."""
        with self._writing:
            return self._write()

    def flush(self, seconds: float) -> None:
        """Wait until everything is sent, or the time is over."""
        deadline = Deadline(self._clock, seconds)
        while self.push() and not deadline.expired():
            select.select([], [self._socket], [], deadline.remaining())

    def _write_on(self) -> None:
        """On the loop: go on when there is room."""
        if self.push():
            self._loop.add_writer(self._socket, self._write_on)
        else:
            self._loop.remove_writer(self._socket)

    def _write(self) -> bool:
        """With the lock held. Whether anything is left."""
        while self._outgoing:
            data = self._outgoing[0]
            try:
                sent = self._socket.send(data)
            except BlockingIOError:
                return True
            except OSError as error:
                end_orphaned(f"control connection: {error}")
            if sent < len(data):
                self._outgoing[0] = data[sent:]
                return True
            self._outgoing.popleft()
        return False

    # ---- reading

    def _readable(self) -> None:
        try:
            data = self._socket.recv(1 << 20)
            if not data:
                end_orphaned("the control connection has ended")
            self._heard, self._unread = self._clock.now(), 0
            messages = [self._decode(payload) for payload in self._reader.feed(data)]
        except BlockingIOError:
            return
        except OSError as error:
            end_orphaned(f"control connection: {error}")
        except (ProtocolError, msgspec.MsgspecError) as error:
            _log.error("the control connection failed: %s", error)
            end_orphaned("its controller sends what no controller sends")
        for message in messages:
            if isinstance(message, Beat):
                self.send(Beat())
            else:
                self._deliver(message)

    def is_silent(self) -> bool:
        """Whether a controller on another machine has said nothing for too long. May be asked by another thread while the loop is stuck:
        what has come and was not read counts, as long as it can be told from what came before."""
        if not self._is_far:
            return False
        unread = struct.unpack("i", fcntl.ioctl(self._socket, termios.FIONREAD, b"\0" * 4))[0]
        if unread > self._unread or unread > _MANY_UNREAD:
            self._heard, self._unread = self._clock.now(), unread
        return self._clock.now() - self._heard > SILENCE_SECONDS
