"""The files of a run, read leniently: a run that was killed ends in half a line and has no summary. The only module here that reads.

run.json          what was run: the command, the topology, its configuration
metrics.jsonl     a sample a second (`control.run_log`); metrics.1.jsonl before it, when it was rotated
decisions.jsonl   a record a decision (`control.decision_log`); decisions.1.jsonl before it
summary.json      how it ended; missing when it was killed, or is not over
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from pasps.control import decision_log, run_log
from pasps.control.decision_log import Record
from pasps.control.run_log import Sample
from pasps.errors import InvalidError

METRICS_NAME = "metrics.jsonl"
MOST_LINE_BYTES = 4 << 20
"""No line of ours is longer; a file that is no log is not read into memory as one."""

Line = TypeVar("Line")


class Log(Generic[Line]):
    """The lines of one log, oldest first; can be gone through more than once, and holds one line at a time.

    After a pass `unreadable` says how many lines were none of ours and left out, and `cut_off` whether the last one has no end.
    """

    def __init__(self, directory: Path, name: str, read: Callable[[bytes], Line]) -> None:
        self.files = [path for path in (directory / f"{name}.1.jsonl", directory / f"{name}.jsonl") if path.is_file()]
        self.unreadable = 0
        self.cut_off = False
        self._read = read

    def __iter__(self) -> Iterator[Line]:
        self.unreadable, self.cut_off = 0, False
        for path in self.files:
            with path.open("rb") as file:
                while line := file.readline(MOST_LINE_BYTES):
                    yield from self._parsed(line)

    def _parsed(self, line: bytes) -> Iterator[Line]:
        self.cut_off = not line.endswith(b"\n")
        if not line.strip():
            return
        try:
            parsed = self._read(line)
        except InvalidError:
            # half of the last line is how a killed run ends, and no damage
            self.unreadable += not self.cut_off
            return
        yield parsed


class RunFiles:
    """One run's directory.

    Raises:
        InvalidError: it is not there, or there are no samples in it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        if not directory.is_dir():
            raise InvalidError(f"{directory}: expected the directory of a run, got {'a file' if directory.exists() else 'nothing there'}")
        self.samples: Log[Sample] = Log(directory, "metrics", run_log.read)
        self.records: Log[Record] = Log(directory, "decisions", decision_log.read)
        if not self.samples.files:
            raise InvalidError(
                f"{directory}: expected {METRICS_NAME} in the directory of a run, found none; "
                "a run writes its first sample after a second, so let it run for longer, or name another directory"
            )
        self.run = _object(directory / "run.json")
        self.summary = _object(directory / "summary.json")

    @property
    def ended(self) -> bool:
        """Whether it ended in order: it wrote a summary."""
        return bool(self.summary)


def _object(path: Path) -> dict[str, Any]:
    """What a file of JSON says; nothing when it is missing, damaged, or no object."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
