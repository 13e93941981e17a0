"""Runs another program to its end, or to the end of its time; leaves nothing of it behind."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

_MOST_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How it ended: `code` is None when its time was over, negative when a signal ended it. The texts are the ends of what it wrote."""

    code: int | None
    output: str
    errors: str


async def run_child(command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None) -> ChildResult:
    """Run it in a process group of its own, without input; the whole group is killed at the end, whatever the end is.

    Raises:
        OSError: it cannot be started.
    """
    # files and not pipes: what it started may keep them open, and it may write more than anybody wants to hold
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=errors, env=environment, start_new_session=True
        )
        code: int | None
        try:
            async with asyncio.timeout(seconds):
                code = await process.wait()
        except TimeoutError:
            code = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        return ChildResult(code, _end_of(output), _end_of(errors))


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_READ_BYTES))
    return file.read().decode(errors="replace")
