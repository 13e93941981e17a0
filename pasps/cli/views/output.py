"""File descriptors of the terminal: what user code prints, here and in the workers, must not tear the view or the JSON lines."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

MOST_LINES = 500


class Diverted:
    """While entered, what this process and the workers it starts write to `sources` goes to the descriptor `to` instead."""

    def __init__(self, sources: Sequence[int], to: int) -> None:
        self._sources = sources
        self._to = to
        self._saved: dict[int, int] = {}

    def original(self, source: int) -> int:
        """A descriptor of what `source` was before; valid while entered."""
        return self._saved[source]

    def __enter__(self) -> Self:
        _flush()
        for source in self._sources:
            self._saved[source] = os.dup(source)
            os.dup2(self._to, source)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _flush()
        while self._saved:
            source, saved = self._saved.popitem()
            os.dup2(saved, source)
            os.close(saved)


class LineCatcher:
    """Reads what is written to `descriptor`, on a thread of its own. Keeps the last lines when nobody takes them in time."""

    def __init__(self) -> None:
        self._read, self.descriptor = os.pipe()
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._seen = 0
        self._taken = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def take(self) -> list[str]:
        """The lines since the last call, with a word on those that were left out."""
        with self._lock:
            lines = list(self._lines)
            left_out = self._seen - self._taken - len(lines)
            self._lines.clear()
            self._taken = self._seen
        return [f"({left_out:,} lines of output left out)", *lines] if left_out else lines

    def close(self) -> None:
        """No more is wanted; what was written until now can still be taken."""
        os.close(self.descriptor)
        # a process that a worker started may still hold the other end
        self._thread.join(1.0)

    def _run(self) -> None:
        with open(self._read, encoding="utf-8", errors="replace") as source:
            for line in source:
                with self._lock:
                    self._lines.append(line.rstrip("\n"))
                    self._seen += 1


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
