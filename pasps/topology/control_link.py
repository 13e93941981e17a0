"""The controller's end of a control connection: frames to messages, on the controller's event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import cast

import msgspec

from pasps.errors import ProtocolError
from pasps.transport.frames import FrameReader
from pasps.worker.link import MOST_CONTROL_BYTES, encode_frame
from pasps.worker.messages import FromWorker, ToWorker

_log = logging.getLogger(__name__)


class ControlLink(asyncio.Protocol):
    """`on_message` for each message, `on_refused` with the reason for one that cannot be taken, `on_lost` once, when the worker is gone.

    One wrong message is left out: most often it has a value of user code in it. What is no frame at all ends the connection.
    """

    def __init__(self, on_message: Callable[[FromWorker], None], on_refused: Callable[[str], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_refused = on_refused
        self._on_lost = on_lost
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(FromWorker).decode
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def over(
        cls,
        control: socket.socket,
        on_message: Callable[[FromWorker], None],
        on_refused: Callable[[str], None],
        on_lost: Callable[[], None],
    ) -> ControlLink:
        """A link over a connected socket."""
        control.setblocking(False)
        link = cls(on_message, on_refused, on_lost)
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
                self._take(payload)
        except ProtocolError as error:
            self._on_refused(f"it sent what no worker sends, and was ended: {error}")
            self.close()

    def _take(self, payload: memoryview) -> None:
        try:
            self._on_message(self._decode(payload))
        except msgspec.MsgspecError as error:
            self._on_refused(f"a message of it cannot be read and was left out: {error}")
        except Exception as error:  # noqa: BLE001 - the control cycle's door: the message is left out, the topology goes on
            _log.exception("a message of a worker could not be taken")
            self._on_refused(f"a message of it could not be taken and was left out: {type(error).__name__}: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        """asyncio's."""
        self._transport = None
        self._on_lost()
