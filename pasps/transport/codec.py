"""Messages to frames and back. No I/O: `tcp` and `inproc` move the bytes, the runtime wraps the rows first (`values.RowWrapper`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pasps.errors import ProtocolError, TooLargeError, WireError, shown
from pasps.transport.classes import Definitions
from pasps.transport.frames import HEADER_BYTES, MOST_BYTES, seal
from pasps.transport.messages import Acks, Bundle, Define, Fails, Handover, Message, Row, WireBatch
from pasps.transport.values import RowWrapper, Unwrapper, first_unusable, mended, spread

DEFAULT_MOST_BYTES = 256 * 2**20
"""Largest frame by default: a batch is far smaller, the state of a keyed task that moves may not be."""

_FIRST_BYTES = 2048
"""Room a frame starts with; growing from nothing costs more than clearing this."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was left out of a message, as a batch of its own, and why: its tuple has to be failed, and its credit given back.

    `origin` is the worker whose credit it holds where the message says so (a handover); empty: that of who sent the message.
    """

    batch: WireBatch
    error: WireError
    origin: str = ""


class Encoder:
    """Messages of one connection to frames; keeps which classes its peer knows already. Never blocks."""

    def __init__(self, rows: RowWrapper, most_bytes: int = DEFAULT_MOST_BYTES) -> None:
        """`rows` is the wrapper through which all rows came that will be given to `encode`."""
        self._rows = rows
        self._defines = rows.classes.defines
        self._defined = 0
        self._most_bytes = min(most_bytes, MOST_BYTES)
        self._encode_into = msgspec.msgpack.Encoder().encode_into

    def encode(self, message: Message, refused: list[Refusal] | None = None) -> list[bytearray]:
        """The frames, header included, in the order to send them: new classes first, then the message.

        A bundle or handover that is larger than a frame becomes several; a row that is larger by itself is left out and put
        into `refused`.

        Raises:
            WireError: what cannot be cut, the state of a task above all, is larger than a frame; or a row, and there is no `refused`.
        """
        frames = self._frames(message, refused)
        if self._defined < len(self._defines):
            # after the message was encoded: nothing is counted as sent when that failed
            frames[:0] = [seal(self._encoded(define)) for define in self._defines[self._defined :]]
            self._defined = len(self._defines)
        return frames

    def _frames(self, message: Message, refused: list[Refusal] | None) -> list[bytearray]:
        """The frame of a message, or those of the parts into which it has to be cut."""
        try:
            frame = self._encoded(message)
        except Exception as error:  # noqa: BLE001 - longer than MessagePack can say, or what nobody foresaw: costs its row, found by cutting
            failure: WireError = WireError("tuple", cure=f"it cannot be encoded ({shown(error)})")
            failure.__cause__ = error
        else:
            size = len(frame) - HEADER_BYTES
            if size <= self._most_bytes:
                return [seal(frame)]
            failure = _too_large(message, size, self._most_bytes)
        if isinstance(message, Bundle | Handover):
            batches = [msgspec.structs.replace(batch, rows=self._rows.unrolled(batch.rows)) for batch in message.batches]
            message = msgspec.structs.replace(message, batches=batches)
        halves = _halves(message)
        if halves:
            return [frame for half in halves for frame in self._frames(half, refused)]
        if refused is None or not isinstance(message, Bundle | Handover) or not message.batches:
            raise failure
        refused.append(Refusal(message.batches[0], failure, message.origins[0] if isinstance(message, Handover) else ""))
        return []

    def _encoded(self, message: Message) -> bytearray:
        frame = bytearray(_FIRST_BYTES)
        try:
            self._encode_into(message, frame, HEADER_BYTES)
        except (OverflowError, UnicodeEncodeError):
            if not isinstance(message, Bundle | Handover):
                raise
            batches = [msgspec.structs.replace(batch, rows=mended(batch.rows)) for batch in message.batches]
            self._encode_into(msgspec.structs.replace(message, batches=batches), frame, HEADER_BYTES)
        return frame


class Trial:
    """Tells whether rows could travel, without sending them; one per worker. Never blocks."""

    def __init__(self, rows: RowWrapper, most_bytes: int = DEFAULT_MOST_BYTES) -> None:
        """`rows` is the wrapper through which they would go, `most_bytes` the largest frame."""
        self._rows = rows
        self._encoder = Encoder(rows, most_bytes)

    def errors(self, rows: list[Row], component: str = "", stream: str = "", fields: Sequence[str] = ()) -> dict[int, WireError]:
        """Why some of the rows cannot travel, by their positions."""
        try:
            wired, errors = self._rows.wire_rows(rows, component, stream, fields), list[WireError]()
        except WireError:
            wired, errors = self._rows.wire_each(rows, component, stream, fields)
        found = {error.row: error for error in errors}
        if not self._refused(WireBatch(0, 0, 0, wired)):
            return found
        positions = [i for i in range(len(rows)) if i not in found]
        for refusal in self._refused(WireBatch(0, 0, 0, wired, positions)):
            for position in refusal.batch.roots or ():
                found[position] = refusal.error.of(component, stream)
        return found

    def _refused(self, batch: WireBatch) -> list[Refusal]:
        refused: list[Refusal] = []
        self._encoder.encode(Bundle([batch]), refused)
        return refused


def _too_large(message: Message, size: int, limit: int) -> TooLargeError:
    if isinstance(message, Handover) and not message.batches:
        return TooLargeError("pickled task", size, limit, cure="let the task keep less, or raise the setting")
    what = "tuple" if isinstance(message, Bundle | Handover) else type(message).__name__
    return TooLargeError(what, size, limit, cure="send a reference to it instead, or raise the setting")


def _halves(message: Message) -> tuple[Message, ...]:
    """Two messages that say what one says, in its order; none when it cannot be cut any further."""
    if isinstance(message, Handover):
        return _handover_halves(message)
    return _bundle_halves(message) if isinstance(message, Bundle) else ()


def _bundle_halves(whole: Bundle) -> tuple[Bundle, ...]:
    beside: tuple[list[Any], ...] = (whole.credits, whole.acks, whole.fails, whole.loads)
    if whole.batches and any(beside):
        return msgspec.structs.replace(whole, batches=[]), Bundle(whole.batches)
    if whole.batches:
        return tuple(Bundle(batches) for batches in _cut_batches(whole.batches))
    if max(len(part) for part in beside) > 1:
        credits, acks, fails, loads = _cut(whole.credits), _cut(whole.acks), _cut(whole.fails), _cut(whole.loads)
        return tuple(Bundle([], credits[i], acks[i], fails[i], loads[i]) for i in (0, 1))
    if (whole.credits or whole.acks) and (whole.fails or whole.loads):
        return Bundle([], whole.credits, whole.acks), Bundle([], [], [], whole.fails, whole.loads)
    if whole.acks and whole.credits:
        return Bundle([], whole.credits), Bundle([], [], whole.acks)
    if whole.fails and whole.loads:
        return Bundle([], [], [], whole.fails), Bundle([], [], [], [], whole.loads)
    if whole.acks and len(whole.acks[0].roots) > 1:
        return tuple(Bundle([], [], [acks]) for acks in _cut_acks(whole.acks[0]))
    if whole.fails and len(whole.fails[0].roots) > 1:
        return tuple(Bundle([], [], [], [Fails(whole.fails[0].owner, roots)]) for roots in _cut(whole.fails[0].roots))
    return ()


def _handover_halves(whole: Handover) -> tuple[Handover, ...]:
    def queue(batches: list[WireBatch], origins: list[str]) -> Handover:
        return Handover(whole.version, whole.component, whole.task, None, batches, origins, more=True)

    if not whole.batches:
        return ()
    if not whole.more:
        # the state last, in the part without `more`: what comes before it is put aside until then
        return queue(whole.batches, whole.origins), msgspec.structs.replace(whole, batches=[], origins=[])
    origins = _cut(whole.origins) if len(whole.origins) > 1 else [whole.origins, whole.origins]
    return tuple(queue(batches, origins[i]) for i, batches in enumerate(_cut_batches(whole.batches)))


def _cut(items: list[_Item]) -> list[list[_Item]]:
    middle = len(items) // 2
    return [items[:middle], items[middle:]]


def _cut_batches(batches: list[WireBatch]) -> list[list[WireBatch]]:
    """Two halves, of the rows where there is but one batch; none for a single row."""
    if len(batches) > 1:
        return _cut(batches)
    middle = len(batches[0].rows) // 2
    return [[_part(batches[0], 0, middle)], [_part(batches[0], middle, None)]] if middle else []


def _cut_acks(acks: Acks) -> list[Acks]:
    roots = _cut(acks.roots)
    deltas = [None, None] if acks.deltas is None else _cut(acks.deltas)
    return [Acks(acks.owner, roots[i], deltas[i]) for i in (0, 1)]


def _part(batch: WireBatch, start: int, end: int | None) -> WireBatch:
    cut = slice(start, end)
    roots = batch.roots[cut] if batch.roots is not None else None
    edges = batch.edges[cut] if batch.edges is not None else None
    links = batch.links[cut] if batch.links is not None else None
    return WireBatch(batch.edge, batch.task, batch.source, batch.rows[cut], roots, edges, links)


class Decoder:
    """Frames of one connection to messages; keeps the classes its peer has defined. Only for authenticated peers."""

    def __init__(self, allow_pickle: bool = False) -> None:
        self._definitions = Definitions()
        self._unwrapper = Unwrapper(self._definitions, allow_pickle)
        self._decode = msgspec.msgpack.Decoder(Message, ext_hook=self._unwrapper.ext_hook).decode

    def decode(self, payload: bytes | bytearray | memoryview, refused: list[Refusal] | None = None) -> Message | None:
        """The message, or None for one that concerned the decoder alone. Nothing in it refers to `payload`'s memory.

        A row with a value that cannot be had in this process, such as one of a class that only its peer can import, is left
        out and put into `refused`.

        Raises:
            ProtocolError: it is none, whatever the bytes are; or a row has to be left out and there is no `refused`.
        """
        unwrapper = self._unwrapper
        unwrapper.columns = 0
        unwrapper.unusable.clear()
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
        if (unwrapper.columns or unwrapper.unusable) and isinstance(message, Bundle | Handover):
            for index, batch in enumerate(message.batches):
                self._look_through(batch, message.origins[index] if isinstance(message, Handover) else "", refused)
            if unwrapper.columns:
                raise ProtocolError("a column of values that is none of a batch")
        return message

    def _look_through(self, batch: WireBatch, origin: str, refused: list[Refusal] | None) -> None:
        """Put columns into their rows, and take out the rows that cannot be used."""
        try:
            batch.rows, count = spread(batch.rows)
        except ValueError as error:
            raise ProtocolError(f"batch of edge {batch.edge}: {error}") from error
        self._unwrapper.columns -= count
        if not self._unwrapper.unusable:
            return
        good = []
        for index, row in enumerate(batch.rows):
            unusable = first_unusable(row)
            if unusable is None:
                good.append(index)
            elif refused is None:
                raise ProtocolError(f"batch of edge {batch.edge}: {unusable.error}") from unusable.error
            else:
                refused.append(Refusal(_part(batch, index, index + 1), unusable.error, origin))
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
