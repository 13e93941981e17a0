"""Tracebacks of user code without the frames of ours that called it. Pure."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

_OURS = str(Path(__file__).parents[1]) + os.sep
_FRAME = '  File "'


def users_traceback(error: BaseException) -> str:
    """The traceback of an exception, without our frames and importlib's."""
    told = traceback.TracebackException.from_exception(error)
    seen: list[traceback.TracebackException] = []
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        part = pending.pop()
        if part is None or any(part is other for other in seen):
            continue
        seen.append(part)
        part.stack = traceback.StackSummary.from_list(frame for frame in part.stack if not is_ours(frame.filename))
        pending += [part.__cause__, part.__context__]
    return "".join(told.format()).rstrip()


def without_our_frames(text: str) -> str:
    """The same for a traceback that is text already; one that has no other frames stays whole, since then the error is ours."""
    lines = text.rstrip().splitlines()
    frames = [line for line in lines if line.startswith(_FRAME)]
    if all(_is_our_frame(line) for line in frames):
        return text.rstrip()
    kept: list[str] = []
    skipping = False
    for line in lines:
        if line.startswith(_FRAME):
            skipping = _is_our_frame(line)
        elif not line.startswith("    "):
            skipping = False
        if not skipping:
            kept.append(line)
    return "\n".join(kept)


def _is_our_frame(line: str) -> bool:
    return is_ours(line.removeprefix(_FRAME).partition('"')[0])


def is_ours(filename: str) -> bool:
    """Whether that file is one of pasps, or of the machinery of imports."""
    return filename.startswith((_OURS, "<frozen importlib"))
