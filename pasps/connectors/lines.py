"""A spout that emits the lines of files, and follows the files as they grow.

Layout: line_file (one file), line_search (the keys, and which files there are) <- line_files (those of one task) <- lines.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pasps.api.component import Outputs
from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.clock import Clock, SystemClock
from pasps.connectors.backoff import Tries
from pasps.connectors.line_file import MOST_LINES, FollowedFile, Piece, Place
from pasps.connectors.line_files import LineFiles
from pasps.connectors.line_search import LineSearch, PathProblems, settings_of
from pasps.errors import EndOfInput

_MOST_BYTES = 64 << 20
"""Of lines in flight."""
_SAVE_SECONDS = 0.5
_LINES_OF_MEAN = 100_000
"""After so many the older lines count half."""

LineId = tuple[str, int]
"""A file's name, and the byte at which the line begins: the tuple id."""


class LineSpout(Spout):
    """Emits the complete lines of the files that `lines.path` matches; the keys `lines.*` are in docs/connectors.md.

    At least once: a line that fails is emitted again until it is acked (`lines.tries`), and the position is, for each file, the
    first line that is not acked. Of several tasks each has the files whose inode says so; a file keeps its task when it is renamed.
    Memory is bounded by what is in flight, which is bounded by `lines.pending`.
    """

    outputs: Outputs = ("line", "path", "id")
    path_keys: ClassVar[Mapping[str, str | None]] = {"lines.path": None}
    clock: ClassVar[Clock] = SystemClock()
    """A test puts its own here."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Find the files. A subclass that overrides it calls it first.

        Raises:
            InvalidError: a key is wrong, or the path can never be followed.
        """
        where = f"component {ctx.component_id!r}"
        tasks = len(ctx.component_tasks(ctx.component_id))
        self._settings = settings = settings_of(conf, where)
        problems = PathProblems(ctx.report_error)
        search = LineSearch(settings.path, lambda inode: zlib.crc32(b"%d" % inode) % tasks == ctx.task_index, problems)
        self._files = LineFiles(settings, search, problems)
        self._tries = Tries[LineId](self.clock, settings.most_tries)
        self._pending = self._pending_bytes = 0
        self._bytes_read = self._lines_read = 0
        self._undecodable = 0
        self._scan_at = self._save_at = 0.0
        self._over = False
        if ctx.position is None:
            search.check(where, settings.follow)
        else:
            self._files.restore(map(Place.read, ctx.position["places"]))
            self._bytes_read, self._lines_read = ctx.position["read"]
        self._look()

    def values(self, line: str | bytes, path: str, line_id: str) -> Sequence[Any]:
        """The tuple of a line, for subclasses with `outputs` of their own. The same each time: a line that failed is made again.

        Args:
            line: Without its newline and a carriage return before it; bytes with `lines.bytes`.
            path: Where the file was when it was read.
            line_id: The same whenever the line is emitted again, also by another instance, and no other line's.

        Raises:
            ValueError: the line is not what it should be: it is put aside, and reported with its place.
        """
        return (line, path, line_id)

    def next_tuple(self) -> float | None:
        """Emit what failed and is due again, or the next lines of a file: some hundred at most."""
        self._look()
        try:
            if not self._emit_again():
                self._emit_next()
        finally:  # also where there is no room, or a line that cannot be made: files come and go meanwhile
            self._save()
        return None

    def _emit_next(self) -> None:
        if self._pending >= self._settings.most_pending or self._pending_bytes >= _MOST_BYTES:
            return
        found = self._files.next_piece()
        if found is not None:
            self._emit_piece(*found)
        elif self._files.over() and not len(self._tries):
            self._over = True
            raise EndOfInput

    def _look(self) -> None:
        now = self.clock.now()
        if now >= self._scan_at:
            self._scan_at = now + self._settings.scan_seconds
            if self._files.scan(now):
                self._save_at = 0.0  # a file that is in no position would not be looked for

    # ---- emitting

    def _emit_piece(self, file: FollowedFile, piece: Piece) -> None:
        rows: list[Sequence[Any]] = []
        ids: list[LineId] = []
        kept: dict[int, bytes] = {}
        path, offset = _shown(file.path), piece.start
        for line in piece.lines:
            row = self._row(file, path, offset, line)
            if row is not None:
                kept[offset] = line
                rows.append(row)
                ids.append((file.name, offset))
            offset += len(line) + 1
        self.emit_batch(rows, ids)
        if piece.too_long is not None:
            start, length = piece.too_long
            problem = f"has {length} bytes, more than 'lines.max.bytes' ({self._settings.most_bytes})"
            self._put_aside(path, start, problem)
        file.pending |= kept
        self._pending += len(rows)
        self._pending_bytes += sum(map(len, kept.values()))
        if self._lines_read >= _LINES_OF_MEAN:
            self._bytes_read, self._lines_read = self._bytes_read // 2, self._lines_read // 2
        self._bytes_read += offset - piece.start
        self._lines_read += len(piece.lines)
        self._files.take(file, piece, self.clock.now())

    def _emit_again(self) -> bool:
        """Whether there was any."""
        emitted = False
        for key in self._tries.each_due(MOST_LINES):
            emitted = True
            found = self._files.pending(*key)
            if found is not None:
                row = self._row(found[0], _shown(found[0].path), key[1], found[1])
                if row is None:
                    self._done(key)
                else:
                    self.emit(row, key)
        return emitted

    def _row(self, file: FollowedFile, path: str, offset: int, line: bytes) -> Sequence[Any] | None:
        """None: it was put aside."""
        if line.endswith(b"\r"):
            line = line[:-1]
        try:
            text = line if self._settings.as_bytes else self._decoded(line, path, offset)
            return self.values(text, path, f"{file.name}:{offset}")
        except ValueError as error:
            self._put_aside(path, offset, f"cannot be read: {error}")
            return None

    def _decoded(self, line: bytes, path: str, offset: int) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError:
            self._undecodable += 1
            count = f"{self._undecodable} such lines so far"
            self.ctx.report_error(f"{path!r}: the line at byte {offset} is no UTF-8, its bad bytes were replaced; {count}")
            return line.decode(errors="replace")

    def _put_aside(self, path: str, offset: int, problem: str) -> None:
        self.ctx.report_error(f"{path!r}: the line at byte {offset} {problem}; put aside")

    # ---- fates

    def ack(self, tup_id: LineId) -> None:
        """Forget it."""
        self._done(tup_id)

    def fail(self, tup_id: LineId) -> None:
        """Emit it again, before anything new; or put it aside when it failed too often."""
        found = self._files.pending(*tup_id)
        if found is not None and not self._tries.failed(tup_id):
            self._put_aside(_shown(found[0].path), tup_id[1], f"failed {self._settings.most_tries} times")
            self._done(tup_id)

    def _done(self, tup_id: LineId) -> None:
        line = self._files.done(*tup_id)
        if line is not None:
            self._tries.forget(tup_id)
            self._pending -= 1
            self._pending_bytes -= len(line)
            if self._over:  # `next_tuple` is not called any more
                self._save()

    def backlog(self) -> int | None:
        """An estimate: the bytes that are there and were not read, over the mean length of the lines that were; None before any was."""
        self._look()
        self._save()  # it is asked also while `next_tuple` is not called
        self._files.look()
        unread = self._files.unread_bytes()
        if not unread:
            return 0
        return max(1, round(unread * self._lines_read / self._bytes_read)) if self._lines_read else None

    def _save(self, *, at_once: bool = False) -> None:
        """Twice a second, and when there is nothing left to do: how far each file is done, and bytes and lines for the mean length."""
        now = self.clock.now()
        if now < self._save_at and (self._pending or not self._over) and not at_once:
            return
        self._save_at = now + _SAVE_SECONDS
        places = [place.saved() for place in self._files.places()]
        self.save_position({"places": places, "read": (self._bytes_read, self._lines_read)})

    def close(self) -> None:
        """Save the position, and close the files."""
        self._save(at_once=True)
        self._files.close()


def _shown(path: str) -> str:
    """As text that can travel: names need not be UTF-8."""
    return os.fsencode(path).decode(errors="replace")
