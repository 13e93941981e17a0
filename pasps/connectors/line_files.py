"""The files of one task, from when they are found until they end: which has something to read, and what of it is in flight."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable

from pasps.connectors.line_file import FollowedFile, Piece, Place
from pasps.connectors.line_search import Found, Key, LineSearch, LineSettings, PathProblems, find_inode

_MOST_OPEN = 128
_MOST_TRIED = 64
"""Files opened and read in one call."""

_log = logging.getLogger(__name__)


class LineFiles:
    """A file is FOLLOWED while the pattern matches it. It is LEFT when it does not any more, and ENDED when it has not grown for
    `lines.rotated.seconds` since then, or is gone.

    Without `lines.follow` the files are those of the first scan, and each ends where it ends. Lines know their file by its name, from
    its first line until it is over and nothing of it is pending. Not thread-safe.
    """

    def __init__(self, settings: LineSettings, search: LineSearch, problems: PathProblems) -> None:
        self._settings = settings
        self._search = search
        self._problems = problems
        self._files: dict[Key, FollowedFile] = {}
        """Followed and left, and those that ended and are still matched, so that they are not found anew."""
        self._named: dict[str, FollowedFile] = {}
        """Those of which lines were emitted."""
        self._parting: dict[str, FollowedFile] = {}
        """Over, with lines pending."""
        self._ready: dict[FollowedFile, None] = {}
        self._open = OpenFiles()
        self._awaited: dict[int, Place] = {}
        self._scanned = False

    # ---- which there are

    def restore(self, places: Iterable[Place]) -> None:
        """Go on from these, whatever the files are called by now. Before the first scan."""
        self._awaited = {place.inode: place for place in places}
        self._scanned = True

    def scan(self, now: float) -> bool:
        """See which files there are, and how large; `now` in monotonic seconds. Whether there are others than before."""
        first, self._scanned = not self._scanned, True
        before = set(self._files.values())
        if self._settings.follow or first or self._awaited:
            found = self._search.found()
            for key, what in found.items():
                self._note(key, what, first)
            for place in self._awaited.values():
                self._go_after(place)
            self._awaited = {}
            for file in [file for key, file in self._files.items() if key not in found]:
                self._leave(file, now)
        self._ready |= dict.fromkeys(file for file in self._files.values() if file.has_news())
        return before != set(self._files.values())

    def _note(self, key: Key, what: Found, first: bool) -> None:
        file = self._files.get(key)
        if file is None:
            place = self._awaited.pop(key[1], None)
            file = FollowedFile(what.paths[0], *key) if place is None else FollowedFile.at(place, what.paths[0], key[0])
            file.final = not self._settings.follow
            self._files[key] = file
            if first and self._settings.from_end:
                self._begin_at_end(file, what.size)
        elif file.left_at is not None:
            file.left_at, file.final = None, not self._settings.follow
        if file.path not in what.paths:
            file.path = what.paths[0]
        file.size, file.changed_ns = what.size, what.changed_ns
        if what.size and not file.is_marked() and not file.ended:  # it may wait for long, and be looked for by its inode then
            try:
                self._open.mark(file)
            except OSError as error:
                self._trouble(file, error)

    def _begin_at_end(self, file: FollowedFile, size: int) -> None:
        file.offset = size
        try:
            self._ensure_open(file)
            file.begin_at_end(self._settings.most_bytes)
        except OSError as error:
            self._trouble(file, error)

    def _go_after(self, place: Place) -> None:
        """A file of the position that the pattern does not match any more."""
        file = FollowedFile.at(place, place.path, -1)
        file.final = not self._settings.follow
        if relocate(file):
            self._files[file.device, file.inode] = file
        elif place.whole:
            _log.info("%r is gone; all that was seen of it had been read", place.path)
        else:
            self._problems.tell(place.path, f"gone; what it had from byte {place.offset} on cannot be read")

    def _leave(self, file: FollowedFile, now: float) -> None:
        """Read on for a while: whoever writes it may not know yet."""
        if file.left_at is None:
            file.left_at = now
        if file.ended:
            self._forget(file)
        elif file.handle is None and not relocate(file):
            self._gone(file)
        elif not file.final:
            file.look()
            quiet = now - max(file.left_at, file.grew_at) >= self._settings.rotated_seconds
            file.final = quiet and not file.has_news()

    # ---- reading

    def look(self) -> None:
        """See how large those files are that are open."""
        self._open.look()

    def unread_bytes(self) -> int:
        """Of all files, as of the last look."""
        return sum(file.unread_bytes() for file in self._files.values())

    def next_piece(self) -> tuple[FollowedFile, Piece] | None:
        """Something to read, of one file after the other; None when there is nothing now. `take` says that it was emitted."""
        if not self._ready:
            self.look()
            self._ready = self._open.with_news()
        for _ in range(min(_MOST_TRIED, len(self._ready))):
            file = next(iter(self._ready))
            del self._ready[file]
            try:
                file, piece = self._read(file)
            except FileNotFoundError:
                if not relocate(file):
                    self._gone(file)
                continue
            except OSError as error:
                self._trouble(file, error)
                continue
            if piece is not None:
                return file, piece
            if file.final:
                self._end(file)
        return None

    def _read(self, file: FollowedFile) -> tuple[FollowedFile, Piece | None]:
        self._ensure_open(file)
        file.look()
        if file.is_another():
            if file.left_at is not None:  # then only its inode says that it is the one
                raise FileNotFoundError(errno.ENOENT, "another content has its inode now", file.path)
            file = self._begin_anew(file)
        if file.is_compressed():
            self._problems.tell(file.path, "compressed, which cannot be followed: unpack it; left out")
            file.final = True
            return file, None
        piece = file.read(self._settings.most_bytes)
        if piece is not None and piece.lines:
            self._named[file.identify()] = file
        return file, piece

    def take(self, file: FollowedFile, piece: Piece, now: float) -> None:
        """What `next_piece` gave was emitted."""
        file.take(piece, now)
        if file.has_news():
            self._ready[file] = None

    def _begin_anew(self, file: FollowedFile) -> FollowedFile:
        """It was truncated, or written anew."""
        _log.info("%r does not have any more what was read of it; reading it from its beginning", file.path)
        anew = FollowedFile(file.path, file.device, file.inode, file.life + 1)
        anew.size, anew.left_at, anew.final = file.size, file.left_at, file.final
        self._open.hand_over(file, anew)
        file.lost = True
        self._end(file)
        self._files[anew.device, anew.inode] = anew
        return anew

    def _ensure_open(self, file: FollowedFile) -> None:
        self._open.open(file)
        self._problems.well(file.path)

    def _trouble(self, file: FollowedFile, error: OSError) -> None:
        self._open.close(file)
        if not isinstance(error, FileNotFoundError):  # else the next scan sees where it went
            self._problems.tell(file.path, f"{error.strerror}; trying again")

    def _gone(self, file: FollowedFile) -> None:
        if not file.is_read():
            self._problems.tell(file.path, f"gone; what it had from byte {file.offset} on was not read")
        file.lost = True
        self._end(file)

    # ---- the end

    def _end(self, file: FollowedFile) -> None:
        self._open.close(file)
        file.ended = True
        self._ready.pop(file, None)
        if file.lost or file.left_at is not None:
            self._forget(file)

    def _forget(self, file: FollowedFile) -> None:
        key = (file.device, file.inode)
        if self._files.get(key) is file:
            del self._files[key]
        self._part(file)

    def _part(self, file: FollowedFile) -> None:
        """Nothing more of it will be emitted for the first time."""
        if file.pending:
            self._parting[file.name] = file
        else:
            self._named.pop(file.name, None)

    def over(self) -> bool:
        """Whether nothing will be read any more; never while files are followed."""
        return not self._settings.follow and self._scanned and all(file.ended for file in self._files.values())

    def close(self) -> None:
        """Close all files."""
        self._open.close_all()

    # ---- lines in flight

    def pending(self, name: str, offset: int) -> tuple[FollowedFile, bytes] | None:
        """A line that is in flight or has failed, and its file; None when it is neither."""
        file = self._named.get(name)
        line = None if file is None else file.pending.get(offset)
        return None if file is None or line is None else (file, line)

    def done(self, name: str, offset: int) -> bytes | None:
        """A line is acked or put aside: gives it; None when it was not pending."""
        found = self.pending(name, offset)
        if found is None:
            return None
        file, line = found
        del file.pending[offset]
        if not file.pending and self._parting.pop(name, None) is not None:
            self._part(file)
        return line

    def places(self) -> tuple[Place, ...]:
        """Where to go on, for each file that can be read again."""
        return tuple(file.place() for file in [*self._parting.values(), *self._files.values()] if not file.lost)


class OpenFiles:
    """Those that were read last, and no more than a process may well have. The one that was read last is the last."""

    def __init__(self) -> None:
        self._files: dict[FollowedFile, None] = {}

    def open(self, file: FollowedFile) -> None:
        """Open it, unless it is, and close others that were not read for long.

        Raises:
            OSError: it cannot be opened.
        """
        file.open()
        self._files.pop(file, None)
        self._files[file] = None
        while len(self._files) > _MOST_OPEN:
            self.close(next(iter(self._files)))

    def mark(self, file: FollowedFile) -> None:
        """Open it for a moment, which notes how it begins; no other is closed for it.

        Raises:
            OSError: it cannot be opened.
        """
        file.open()
        if file not in self._files:
            file.close()

    def hand_over(self, file: FollowedFile, to: FollowedFile) -> None:
        """`to` is the same file, with another content."""
        to.handle, file.handle = file.handle, None
        self._files.pop(file)
        self._files[to] = None

    def close(self, file: FollowedFile) -> None:
        """Close it, if it is open."""
        self._files.pop(file, None)
        file.close()

    def look(self) -> None:
        """See how large they are."""
        for file in self._files:
            file.look()

    def with_news(self) -> dict[FollowedFile, None]:
        """Those that are to be read, as of the last look."""
        return dict.fromkeys(file for file in self._files if file.has_news())

    def close_all(self) -> None:
        """Close all."""
        for file in list(self._files):
            self.close(file)


def relocate(file: FollowedFile) -> bool:
    """Find out what it is called now, and close it; False: it is gone.

    That a file has its inode is not enough: one that is free is used again, so it must also have what was read of it.
    """
    found = find_inode(os.path.dirname(file.path), file.inode)
    if found is None:
        return False
    path, size = file.path, file.size
    (file.device, _), what = found
    file.close()
    file.path, file.size, file.changed_ns = what.paths[0], what.size, what.changed_ns
    if _is_another(file):
        file.path, file.size = path, size
        return False
    return True


def _is_another(file: FollowedFile) -> bool:
    try:
        file.open()
        file.look()
        return file.is_another()
    except OSError:
        return False  # it is told when it is to be read
    finally:
        file.close()
