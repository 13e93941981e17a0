"""The master's end of a control connection: frames to messages, on the master's event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import cast

import msgspec

from pasps.daemons.control_thread import MOST_CONTROL_BYTES, encode_frame
from pasps.daemons.messages import FromWorker, ToWorker
from pasps.errors import ProtocolError
from pasps.transport.frames import FrameReader

_log = logging.getLogger(__name__)


class ControlLink(asyncio.Protocol):
    """`on_message` for each message, `on_lost` once, when the worker is gone or sends what no worker sends."""

    def __init__(self, on_message: Callable[[FromWorker], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(FromWorker).decode
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def over(cls, control: socket.socket, on_message: Callable[[FromWorker], None], on_lost: Callable[[], None]) -> ControlLink:
        """A link over a connected socket."""
        control.setblocking(False)
        link = cls(on_message, on_lost)
        loop = asyncio.get_running_loop()
        if control.family == socket.AF_UNIX:
            await loop.create_unix_connection(lambda: link, sock=control)
        else:
            control.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.create_connection(lambda: link, sock=control)
        return link

    def send(self, message: ToWorker) -> None:
        """Send soon; nothing happens when the worker is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encode_frame(message))

    def close(self) -> None:
        """End the connection, which ends the worker."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """asyncio's."""
        try:
            for payload in self._reader.feed(data):
                self._on_message(self._decode(payload))
        except (ProtocolError, msgspec.MsgspecError) as error:
            _log.error("control connection closed: %s", error)
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """asyncio's."""
        self._transport = None
        self._on_lost()
