"""Messages to frames and back. No I/O: `tcp` and `inproc` move the bytes, the runtime wraps the rows first (`values.RowWrapper`)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pasps.errors import ProtocolError, WireError
from pasps.transport.classes import Definitions
from pasps.transport.frames import HEADER_BYTES, MOST_BYTES, seal
from pasps.transport.messages import Acks, Bundle, Define, Handover, Message, WireBatch
from pasps.transport.unwrap import Unwrapper, first_unusable
from pasps.transport.values import RowWrapper, mended

DEFAULT_MOST_BYTES = 256 * 2**20
"""Largest frame by default: a batch is far smaller, the state of a keyed task that moves may not be."""

_FIRST_BYTES = 2048
"""Room a frame starts with; growing from nothing costs more than clearing this."""

Refused = Callable[[WireBatch, WireError], None]
"""Called with a batch of one row that was left out and why: its tuple has to be failed, and nobody else will give back its credit.

On the sending side for a row that is larger than a frame; on the receiving side, before the rest of its message, for one with a
value that cannot be had in that process, such as one of a class that only its peer can import.
"""


class Encoder:
    """Messages of one connection to frames; keeps which classes its peer knows already. Never blocks."""

    def __init__(self, rows: RowWrapper, most_bytes: int = DEFAULT_MOST_BYTES, on_refused: Refused | None = None) -> None:
        """`rows` is the wrapper through which all rows came that will be given to `encode`."""
        self._defines = rows.classes.defines
        self._defined = 0
        self._most_bytes = min(most_bytes, MOST_BYTES)
        self._on_refused = on_refused
        self._encode_into = msgspec.msgpack.Encoder().encode_into

    def encode(self, message: Message) -> list[bytearray]:
        """The frames, header included, in the order to send them: new classes first, then the message.

        A bundle that is larger than a frame becomes several; a row that is larger by itself is left out and given to `on_refused`.

        Raises:
            WireError: a message other than a bundle, a handover above all, is larger than a frame; or there is no `on_refused`.
        """
        frame = self._frame(message)
        frames = [frame] if len(frame) - HEADER_BYTES <= self._most_bytes else self._split(message)
        if self._defined < len(self._defines):
            # after the message was encoded: nothing is counted as sent when that failed
            frames[:0] = [self._frame(define) for define in self._defines[self._defined :]]
            self._defined = len(self._defines)
        return frames

    def _frame(self, message: Message) -> bytearray:
        frame = bytearray(_FIRST_BYTES)
        try:
            self._encode_into(message, frame, HEADER_BYTES)
        except (OverflowError, UnicodeEncodeError):
            if not isinstance(message, Bundle | Handover):
                raise
            batches = [msgspec.structs.replace(batch, rows=mended(batch.rows)) for batch in message.batches]
            self._encode_into(msgspec.structs.replace(message, batches=batches), frame, HEADER_BYTES)
        return seal(frame)

    def _split(self, message: Message) -> list[bytearray]:
        """Frames of a message that is too large for one."""
        if not isinstance(message, Bundle):
            raise WireError(type(message).__name__, cure=f"it is larger than the {self._most_bytes} bytes of a frame")
        frames = [self._frame(Bundle([], message.credits, message.acks, message.fails, message.loads))]
        for batch in message.batches:
            frames += self._batch_frames(batch)
        return frames

    def _batch_frames(self, batch: WireBatch) -> list[bytearray]:
        frame = self._frame(Bundle([batch]))
        if len(frame) - HEADER_BYTES <= self._most_bytes:
            return [frame]
        if len(batch.rows) > 1:
            middle = len(batch.rows) // 2
            return self._batch_frames(_part(batch, 0, middle)) + self._batch_frames(_part(batch, middle, None))
        error = WireError("tuple", cure=f"it takes {len(frame)} bytes and a frame holds {self._most_bytes}; send a reference to it instead")
        if self._on_refused is None:
            raise error
        self._on_refused(batch, error)
        return []


def _part(batch: WireBatch, start: int, end: int | None) -> WireBatch:
    cut = slice(start, end)
    roots = batch.roots[cut] if batch.roots is not None else None
    edges = batch.edges[cut] if batch.edges is not None else None
    links = batch.links[cut] if batch.links is not None else None
    return WireBatch(batch.edge, batch.task, batch.source, batch.rows[cut], roots, edges, links)


class Decoder:
    """Frames of one connection to messages; keeps the classes its peer has defined. Only for authenticated peers."""

    def __init__(self, allow_pickle: bool = False, on_refused: Refused | None = None) -> None:
        self._definitions = Definitions()
        self._unwrapper = Unwrapper(self._definitions, allow_pickle)
        self._on_refused = on_refused
        self._decode = msgspec.msgpack.Decoder(Message, ext_hook=self._unwrapper.ext_hook).decode

    def decode(self, payload: bytes | bytearray | memoryview) -> Message | None:
        """The message, or None for one that concerned the decoder alone. Nothing in it refers to `payload`'s memory.

        Raises:
            ProtocolError: it is none, whatever the bytes are; or a row has to be refused and there is no `on_refused`.
        """
        self._unwrapper.unusable.clear()
        try:
            message: Message = self._decode(payload)
        except ProtocolError:
            raise
        except Exception as error:
            raise ProtocolError(f"malformed message of {len(payload)} bytes: {error!r}"[:500]) from error
        if isinstance(message, Bundle):
            for batch in message.batches:
                _check_batch(batch)
            for acks in message.acks:
                _check_acks(acks)
        elif isinstance(message, Define):
            self._definitions.define(message)
            return None
        elif isinstance(message, Handover):
            _check_handover(message)
        if self._unwrapper.unusable:
            for batch in message.batches if isinstance(message, Bundle | Handover) else ():
                self._take_out_unusable(batch)
        return message

    def _take_out_unusable(self, batch: WireBatch) -> None:
        errors = [first_unusable(row) for row in batch.rows]
        good = [index for index, error in enumerate(errors) if error is None]
        for index, error in enumerate(errors):
            if error is not None:
                if self._on_refused is None:
                    raise ProtocolError(f"batch of edge {batch.edge}: {error}") from error
                self._on_refused(_part(batch, index, index + 1), error)
        batch.rows = [batch.rows[index] for index in good]
        batch.roots = None if batch.roots is None else [batch.roots[index] for index in good]
        batch.edges = None if batch.edges is None else [batch.edges[index] for index in good]
        batch.links = None if batch.links is None else [batch.links[index] for index in good]


def _check_batch(batch: WireBatch) -> None:
    count = len(batch.rows)
    if batch.roots is None:
        if batch.edges is None and batch.links is None:
            return
    elif (
        len(batch.roots) == count
        and (batch.edges is None or len(batch.edges) == count)
        and (batch.links is None or len(batch.links) == count)
    ):
        return
    raise ProtocolError(f"batch of edge {batch.edge}: expected an id for each of {count} rows in each list of ids")


def _check_acks(acks: Acks) -> None:
    if acks.deltas is not None and len(acks.deltas) != len(acks.roots):
        raise ProtocolError(f"acks of task {acks.owner}: expected {len(acks.roots)} deltas, got {len(acks.deltas)}")


def _check_handover(message: Handover) -> None:
    if len(message.origins) != len(message.batches):
        raise ProtocolError(f"handover of task {message.task}: expected {len(message.batches)} origins, got {len(message.origins)}")
    for batch in message.batches:
        _check_batch(batch)
