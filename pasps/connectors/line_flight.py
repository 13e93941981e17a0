"""Lines in flight: of which file, and how far each file is done."""

from __future__ import annotations

from collections.abc import Iterable

from pasps.connectors.line_file import FollowedFile, Place


class LinesInFlight:
    """Knows files by their names, from their first line until they are over and nothing of them is pending."""

    def __init__(self) -> None:
        self._named: dict[str, FollowedFile] = {}
        self._parting: dict[str, FollowedFile] = {}
        """Over, with lines pending."""

    def begin(self, file: FollowedFile) -> None:
        """Lines of it are about to be emitted. Open."""
        self._named[file.identify()] = file

    def over(self, file: FollowedFile) -> None:
        """Nothing more of it will be emitted for the first time."""
        if file.pending:
            self._parting[file.name] = file
        else:
            self._named.pop(file.name, None)

    def pending(self, name: str, offset: int) -> tuple[FollowedFile, bytes] | None:
        """A line that is in flight or has failed, and its file; None when it is neither."""
        file = self._named.get(name)
        line = None if file is None else file.pending.get(offset)
        return None if file is None or line is None else (file, line)

    def done(self, name: str, offset: int) -> bytes | None:
        """A line is acked or put aside: gives it; None when it was not pending."""
        file = self._named.get(name)
        line = None if file is None else file.pending.pop(offset, None)
        if file is None or line is None:
            return None
        if not file.pending and self._parting.pop(name, None) is not None:
            self.over(file)
        return line

    def places(self, files: Iterable[FollowedFile]) -> tuple[Place, ...]:
        """Where to go on, for each file that can be read again; `files` are those that are not over."""
        return tuple(file.place() for file in [*self._parting.values(), *files] if not file.lost)
