"""Lines appended to a file of bounded size. What is written is in the file at once, and survives the death of its writer."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

_log = logging.getLogger(__name__)

MOST_BYTES = 64 << 20


class LineFile:
    """`name.jsonl`, and `name.1.jsonl` with what was written before that one was full; older lines are dropped.

    For one thread at a time. Nothing raises: when the disk is full a warning is logged once, and lines are dropped whole.
    """

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self.path = path
        self.dropped = 0
        """Lines that could not be written."""
        self._most = most_bytes
        self._file: int | None = None
        self._size = 0
        self._closed = False

    def write(self, line: bytes) -> None:
        """Append a line, given without its end; nothing happens after `close`."""
        if self._closed:
            return
        try:
            self._append(line + b"\n")
        except OSError as error:
            if not self.dropped:
                _log.warning("%s: lines are lost: %s", self.path, error)
            self.dropped += 1

    def close(self) -> None:
        """No more lines. More calls do nothing."""
        self._closed = True
        self._shut()

    def _append(self, line: bytes) -> None:
        if self._file is not None and self._size and self._size + len(line) > self._most:
            self._shut()
            self.path.replace(self.path.with_suffix(f".1{self.path.suffix}"))
        if self._file is None:
            self._file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            self._size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(f"{written} of {len(line)} bytes were written")
        except OSError:
            # no half line before the next one
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def _shut(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file)
