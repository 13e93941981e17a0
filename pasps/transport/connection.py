"""What the runtime may ask of a connection, whatever moves its bytes; `tcp` and `inproc` are the two that exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pasps.transport.codec import Refusal
from pasps.transport.handshake import Identity
from pasps.transport.messages import Message


class Connection(Protocol):
    """One end of an authenticated connection. Everything is called on the event loop, nothing blocks."""

    @property
    def peer(self) -> Identity:
        """Who is at the other end, proved."""

    def send(self, message: Message) -> Sequence[Refusal]:
        """Hands a message to the system at once or as soon as it takes it; messages arrive in order, or the connection is lost.

        Returns the rows that were left out because they are larger than a frame; nobody but the caller hears of them.

        Raises:
            ClosedError: `close` or `abort` was called on this end.
            BrokenError: the connection is lost; what it had not delivered will not be.
            WireError: the message is too large, see `Encoder.encode`; nothing of it was sent, and the connection goes on.
        """

    def close(self, reason: str = "") -> None:
        """Ends the connection after all that was sent is delivered; takes no further messages. More calls do nothing."""

    def abort(self, reason: str = "") -> None:
        """Ends it at once; what was not delivered is dropped. Also ends a `close` that waits for its peer to read."""


OnMessage = Callable[[Connection, Message], None]
"""Called for each message in the order it was sent; never after `OnLost`, nor after `close` or `abort` on this end."""

OnRefused = Callable[[Connection, Sequence[Refusal]], None]
"""Called with the rows that came and cannot be had in this process, before the rest of their message."""

OnLost = Callable[[Connection, Exception | None], None]
"""Called once for each connection that was accepted or dialled; None when this end closed it, else why it is lost.

A peer that closed is an error too: the end of a stream looks the same whether its process said goodbye or was killed.
"""
