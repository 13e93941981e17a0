"""How the server and its processes talk: pickled values with their length before them, over a socket pair that nobody else can reach."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!I")


def packed(value: object) -> bytes:
    """One message."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Puts messages together from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Any:
        """The message that these bytes complete, or None; one at a time is under way, so nothing follows it."""
        self._received += data
        if len(self._received) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
        if len(self._received) < end:
            return None
        message = pickle.loads(memoryview(self._received)[_LENGTH.size : end])
        self._received.clear()
        return message


def receive(connection: socket.socket) -> Any:
    """Block until a whole message is there; None when the other end is closed."""
    unpacker = Unpacker()
    while data := connection.recv(1 << 18):
        message = unpacker.feed(data)
        if message is not None:
            return message
    return None
