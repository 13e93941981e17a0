"""Where one message ends and the next begins: four bytes of length, big-endian, then the payload.

Pure, no I/O; called by `codec`, `tcp` and `inproc`."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pasps.errors import ProtocolError

HEADER_BYTES = 4
MOST_BYTES = 2**31 - 1
"""What the header can say: it is read as signed, so that no length is ever taken for another."""

_pack_into = struct.Struct(">i").pack_into
_unpack_from = struct.Struct(">i").unpack_from


def seal(frame: bytearray) -> bytearray:
    """Writes the header into the first `HEADER_BYTES` of `frame`, which were left free for it."""
    _pack_into(frame, 0, len(frame) - HEADER_BYTES)
    return frame


class FrameReader:
    """Cuts a stream of bytes into payloads.

    `most_bytes` may be changed between two payloads: what is read before a peer has proved who it is stays small.
    """

    __slots__ = ("_body", "_header", "_missing", "most_bytes")

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._header = bytearray()
        self._body: bytearray | None = None
        self._missing = 0

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[memoryview]:
        """The payloads that `data` completes, one by one; take them all before the next call.

        A payload that lies within `data` is not copied. It stays valid as long as `data` is not changed.

        Raises:
            ProtocolError: a length is negative or above `most_bytes`; raised before a byte of that payload is kept.
        """
        view = memoryview(data)
        size, at = len(view), 0
        while at < size:
            if self._body is not None:
                take = min(self._missing, size - at)
                self._body += view[at : at + take]
                self._missing, at = self._missing - take, at + take
                if not self._missing:
                    body, self._body = self._body, None
                    yield memoryview(body)
                continue
            if self._header or size - at < HEADER_BYTES:
                take = min(HEADER_BYTES - len(self._header), size - at)
                self._header += view[at : at + take]
                at += take
                if len(self._header) < HEADER_BYTES:
                    return
                (length,) = _unpack_from(self._header)
                self._header.clear()
            else:
                (length,) = _unpack_from(view, at)
                at += HEADER_BYTES
            if not 0 <= length <= self.most_bytes:
                raise ProtocolError(f"frame of {length} bytes: expected 0 to {self.most_bytes}")
            if size - at >= length:
                at += length
                yield view[at - length : at]
            else:
                # grows with what comes: a length alone must not make anybody take memory
                self._body, self._missing = bytearray(), length

    def is_between_frames(self) -> bool:
        """Whether all that came so far was whole frames."""
        return self._body is None and not self._header
