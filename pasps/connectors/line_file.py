"""One file that is followed: how far it was read, what of it is in flight, and whether its content is still the same.

It reads when it is told to, in bounded pieces, and keeps no part of a line between two calls.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from hashlib import blake2b
from typing import Any

MOST_LINES = 512
"""In one piece."""
_PIECE_BYTES = 65_536
_MARK_BYTES = 64
_HEAD_BYTES = 256
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ")
"""How gzip, zstd and xz begin."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Bytes that a file has for as long as it is only appended to."""

    start: int
    size: int
    crc: int

    @classmethod
    def of(cls, data: bytes, start: int) -> Mark:
        """The mark of `data`, which begins at `start`."""
        return cls(start, len(data), zlib.crc32(data))

    def holds(self, handle: int) -> bool:
        """Whether they are still there."""
        data = os.pread(handle, self.size, self.start)
        return len(data) == self.size and zlib.crc32(data) == self.crc


@dataclass(frozen=True, slots=True)
class Place:
    """How far a file is done, as a position keeps it: everything before `offset`. `name` is "" before its first line was read.

    The marks are its beginning, and what lies at the offset; None where nothing was read. `whole`: nothing was left of it then.
    """

    path: str
    inode: int
    name: str
    life: int
    offset: int
    head: Mark | None
    here: Mark | None
    whole: bool

    def saved(self) -> tuple[Any, ...]:
        """The fields in their order, for a position. The path is bytes, as the system has it: it need not be UTF-8."""
        return (os.fsencode(self.path), *astuple(self)[1:])

    @classmethod
    def read(cls, saved: Sequence[Any]) -> Place:
        """Out of a position."""
        path, inode, name, life, offset, head, here, whole = saved
        head, here = (None if mark is None else Mark(*mark) for mark in (head, here))
        return cls(os.fsdecode(path), inode, name, life, offset, head, here, whole)


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines without their newlines, from byte `start` to byte `end`, and the start and length of a line that was too long.

    `mark` is the end of it.
    """

    start: int
    end: int
    lines: list[bytes]
    mark: Mark
    too_long: tuple[int, int] | None = None


@dataclass(eq=False, repr=False, slots=True)
class FollowedFile:
    """One content of one file; when it is truncated or written anew, that is another `FollowedFile`, of the next `life`.

    `name` identifies it: made of the path and the inode at which it was found, its life and its first line, so that an instance
    that begins anew gives it the same one.
    """

    path: str
    device: int
    inode: int
    life: int = 0
    name: str = ""
    offset: int = 0
    """Of the first byte that was not taken."""
    size: int = 0
    """As last seen."""
    changed_ns: int = 0
    """When it was written to last, as last seen."""
    pending: dict[int, bytes] = field(default_factory=dict)
    """Lines by offset, in order. What failed stays until it is acked."""
    handle: int | None = None
    grew_at: float = 0.0
    left_at: float | None = None
    """Since when the pattern does not match it any more."""
    final: bool = False
    """Nothing more will be written to it."""
    ended: bool = False
    """Nothing more is read of it; lines may be pending."""
    lost: bool = False
    """What is pending could not be read again."""
    _head: Mark | None = None
    _here: Mark | None = None
    """What was read last, or what lies where a predecessor's place says."""
    _long: Mark | None = None
    """The beginning of a line that is too long, while it is passed over."""
    _idle_at: int = -1
    """The size at which there was no complete line."""
    _seen_ns: int = -1
    """The `changed_ns` of the content that was compared last: what is written anew may have the size it had."""

    @classmethod
    def at(cls, place: Place, path: str, device: int) -> FollowedFile:
        """A file that goes on where another instance was, at the path where it is now."""
        return cls(path, device, place.inode, place.life, place.name, place.offset, _head=place.head, _here=place.here)

    # ---- the file itself

    def open(self) -> None:
        """Open it, unless it is, and note how it begins, unless something of it was read.

        Raises:
            OSError: it cannot be; FileNotFoundError also when another file has its path by now.
        """
        if self.handle is None:
            handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            if os.fstat(handle).st_ino != self.inode:
                os.close(handle)
                raise FileNotFoundError(errno.ENOENT, "another file has its name now", self.path)
            self.handle = handle
        if not self.is_marked():
            data = os.pread(self.handle, _MARK_BYTES, 0)
            self._here = Mark.of(data, 0) if data else None

    def is_marked(self) -> bool:
        """Whether it can be told from another file with its inode."""
        return self._head is not None or self._here is not None

    def close(self) -> None:
        """Close it, if it is open; it may be opened again."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def look(self) -> None:
        """See how large it is, and when it was written to, if it is open."""
        if self.handle is not None:
            info = os.fstat(self.handle)
            self.size, self.changed_ns = info.st_size, info.st_mtime_ns

    def has_news(self) -> bool:
        """Whether it is to be read, as of the last look; one that is final also to see that it is over."""
        unseen = self.size > 0 and self.changed_ns != self._seen_ns
        return not self.ended and (self.final or self._grew() or unseen)

    def _grew(self) -> bool:
        return self.size not in (self.offset, self._idle_at)

    def is_read(self) -> bool:
        """Whether not even a part of a line is left, as of the last look."""
        return self.size == self.offset

    def unread_bytes(self) -> int:
        """How much is to be read; a line that is not complete yet counts as nothing."""
        return max(0, self.size - self.offset) if not self.ended and (self.final or self._grew()) else 0

    def begin_at_end(self, most_bytes: int) -> None:
        """Leave out all complete lines that are there. Open, and nothing of it read."""
        assert self.handle is not None
        self.look()
        self._seen_ns = self.changed_ns
        start = max(0, self.size - most_bytes - 1)
        data = os.pread(self.handle, self.size - start, start)
        self.offset = start + data.rfind(b"\n") + 1
        tail = data[: self.offset - start][-_MARK_BYTES:]
        self._here = Mark.of(tail, self.offset - len(tail))

    def is_another(self) -> bool:
        """Whether what was read of it is not there any more: it was truncated, or written anew. Open, and just looked at."""
        assert self.handle is not None
        self._seen_ns = self.changed_ns
        marks = [mark for mark in (self._head, self._here) if mark is not None]
        return self.size < self.offset or not all(mark.holds(self.handle) for mark in marks)

    def is_compressed(self) -> bool:
        """Whether it begins as compressed files do. Open; looks only before its first line was read."""
        assert self.handle is not None
        return not self.name and os.pread(self.handle, 8, 0).startswith(_COMPRESSED)

    # ---- reading

    def read(self, most_bytes: int) -> Piece | None:
        """The next complete lines; None when there is none. Open. `take` says that they were emitted.

        A line longer than `most_bytes` is passed over. The last line of a file that is final needs no newline.
        """
        assert self.handle is not None
        if self._long is not None:
            return self._pass_over(self._long)
        asked = min(_PIECE_BYTES, most_bytes + 1)
        data = os.pread(self.handle, asked, self.offset)
        if len(data) == asked and b"\n" not in data:
            data = os.pread(self.handle, most_bytes + 1, self.offset)
        lines = data.split(b"\n", MOST_LINES)
        rest = lines.pop()
        if not lines and len(data) > most_bytes:
            self._long = Mark.of(data[:_MARK_BYTES], self.offset)
            return self._piece(data, [])
        if not lines and self.final and data:
            return self._piece(data, [data])
        if not lines:
            self._idle_at = self.offset + len(data)
            return None
        return self._piece(data[: len(data) - len(rest)], lines)

    def _pass_over(self, long: Mark) -> Piece | None:
        assert self.handle is not None
        data = os.pread(self.handle, _PIECE_BYTES, self.offset)
        newline = data.find(b"\n")
        if newline < 0 and (data or not self.final):
            if not data:
                self._idle_at = self.offset
                return None
            return self._piece(data, [])
        self._long = None
        taken = data[: newline + 1]
        return self._piece(taken, [], (long.start, self.offset + max(0, newline) - long.start))

    def _piece(self, data: bytes, lines: list[bytes], too_long: tuple[int, int] | None = None) -> Piece:
        tail = data[-_MARK_BYTES:]
        end = self.offset + len(data)
        return Piece(self.offset, end, lines, Mark.of(tail, end - len(tail)), too_long)

    def take(self, piece: Piece, now: float) -> None:
        """What `read` gave was emitted, or put aside."""
        self.offset, self._here, self.grew_at = piece.end, piece.mark, now

    def identify(self) -> str:
        """Its name, from when its first line is complete. Open."""
        if not self.name:
            assert self.handle is not None
            head = os.pread(self.handle, _HEAD_BYTES, 0)
            head = head[: head.find(b"\n") + 1 or None]
            self._head = Mark.of(head, 0)
            found_at = f"{self.path}\0{self.inode}\0{self.life}\0".encode(errors="surrogateescape")
            self.name = blake2b(found_at + head, digest_size=8).hexdigest()
        return self.name

    # ---- how far it is done

    def place(self) -> Place:
        """Where to go on so that nothing is left out that is not acked."""
        offset, mark = self.offset, self._here
        if self._long is not None:
            offset, mark = self._long.start, self._long
        if self.pending:
            offset, line = next(iter(self.pending.items()))
            mark = Mark.of(line[:_MARK_BYTES], offset)
        return Place(self.path, self.inode, self.name, self.life, offset, self._head, mark, offset == self.size)
