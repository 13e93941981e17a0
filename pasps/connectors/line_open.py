"""Which files are open: those that were read last, and no more than a process may well have."""

from __future__ import annotations

from pasps.connectors.line_file import FollowedFile

_MOST = 128


class OpenFiles:
    """The one that was read last is the last."""

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
        while len(self._files) > _MOST:
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
