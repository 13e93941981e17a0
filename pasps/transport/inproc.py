"""The connection for tests and single-step runs: two ends in one process, real frames between them, moved only by `pump`.

Keeps the contract of `connection.Connection` as `tcp` does; what differs is that nothing arrives by itself and nobody shakes hands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pasps.errors import BrokenError, ClosedError, PaspsError
from pasps.transport.codec import DEFAULT_MOST_BYTES, Decoder, Encoder, Refusal
from pasps.transport.connection import OnLost, OnMessage, OnRefused
from pasps.transport.frames import FrameReader
from pasps.transport.handshake import Identity
from pasps.transport.messages import Message
from pasps.transport.values import RowWrapper


class InprocConnection:
    """One end; made by `InprocLink`. Implements `connection.Connection`."""

    def __init__(
        self,
        peer: Identity,
        on_message: OnMessage,
        on_lost: OnLost,
        rows: RowWrapper,
        allow_pickle: bool,
        most_frame_bytes: int,
        on_refused: OnRefused | None,
    ) -> None:
        self.peer = peer
        self.outbox: deque[bytearray] = deque()
        self._on_message, self._on_lost, self._on_refused = on_message, on_lost, on_refused
        self._encoder = Encoder(rows, most_frame_bytes)
        self._decoder = Decoder(allow_pickle)
        self._reader = FrameReader(most_frame_bytes)
        self._is_closing = self._is_lost = False

    def send(self, message: Message) -> Sequence[Refusal]:
        """See `Connection.send`; it waits for `InprocLink.pump`."""
        if self._is_closing:
            raise ClosedError(f"connection with {self.peer}: it is closed")
        if self._is_lost:
            raise BrokenError(f"connection with {self.peer}: it is lost")
        refused: list[Refusal] = []
        self.outbox += self._encoder.encode(message, refused)
        return refused

    def close(self, reason: str = "") -> None:
        """See `Connection.close`."""
        self._is_closing = True

    def abort(self, reason: str = "") -> None:
        """See `Connection.abort`."""
        self._is_closing = True
        self.outbox.clear()

    def is_over(self) -> bool:
        """Whether this end was closed and has nothing left to deliver, or was lost."""
        return self._is_lost or (self._is_closing and not self.outbox)

    def receive(self, data: bytes | bytearray) -> Exception | None:
        """Takes bytes as if the peer had sent them; gives the reason if the connection has to end for it."""
        try:
            for payload in self._reader.feed(data):
                if self._is_closing or self._is_lost:
                    break
                refused: list[Refusal] | None = None if self._on_refused is None else []
                message = self._decoder.decode(payload, refused)
                if refused and self._on_refused is not None:
                    self._on_refused(self, refused)
                if message is not None:
                    self._on_message(self, message)
        except PaspsError as error:
            return error
        return None

    def lose(self, error: Exception) -> None:
        """Ends this end; its owner hears of it once, without `error` when it had closed it."""
        if not self._is_lost:
            self._is_lost = True
            self.outbox.clear()
            self._on_lost(self, None if self._is_closing else error)


class InprocLink:
    """Two connected ends: `ends[0]` belongs to `identities[0]`. `pump` moves frames, `drop` breaks the link."""

    def __init__(
        self,
        identities: tuple[Identity, Identity],
        on_message: tuple[OnMessage, OnMessage],
        on_lost: tuple[OnLost, OnLost],
        rows: tuple[RowWrapper, RowWrapper] | None = None,
        allow_pickle: bool = False,
        most_frame_bytes: int = DEFAULT_MOST_BYTES,
        on_refused: tuple[OnRefused, OnRefused] | None = None,
    ) -> None:
        wrappers = rows or (RowWrapper(allow_pickle), RowWrapper(allow_pickle))
        first, second = (
            InprocConnection(
                identities[1 - i],
                on_message[i],
                on_lost[i],
                wrappers[i],
                allow_pickle,
                most_frame_bytes,
                None if on_refused is None else on_refused[i],
            )
            for i in (0, 1)
        )
        self.ends = (first, second)

    def pump(self, most_frames: int | None = None) -> int:
        """Delivers frames in the order they were sent, taking turns between the ends, until none is left; how many they were.

        What the callbacks send meanwhile is delivered too; `most_frames` ends a conversation that does not end by itself.
        A fault in a callback comes out of here, unlike over TCP, so that a test sees it.
        """
        moved = 0
        while most_frames is None or moved < most_frames:
            ready = [end for end in self.ends if end.outbox]
            if not ready:
                break
            for end in ready:
                # an earlier delivery of this round may have cleared it
                if end.outbox and (most_frames is None or moved < most_frames):
                    self._deliver(end)
                    moved += 1
        if any(end.is_over() for end in self.ends):
            self.drop("closed by its peer")
        return moved

    def drop(self, reason: str = "dropped") -> None:
        """Breaks the link: what was not pumped is gone, and both owners hear of it. More calls do nothing."""
        for end in self.ends:
            end.lose(BrokenError(f"connection with {end.peer}: lost ({reason})"))

    def _deliver(self, end: InprocConnection) -> None:
        other = self.ends[1] if end is self.ends[0] else self.ends[0]
        error = other.receive(end.outbox.popleft())
        if error is not None:
            other.lose(error)
            self.drop("closed by its peer")
