"""What a worker tells its controller: the protocol, which the daemon implements that holds the control connection, and its words."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol, TypeGuard

from pasps.api.tuples import name_fields
from pasps.errors import Interrupt, PaspsError

MOST_CHARACTERS = 8_000
"""Of what is told of one exception; the text of an exception is a user's, and may be as long as the input that it is about."""
_MOST_FRAMES = 60
"""The innermost ones; a recursion that went too deep has a thousand."""
_HOME = os.path.dirname(os.path.dirname(__file__)) + os.sep
# as the interpreter has them: the class is the user's, and may define what these names mean
_CAUSE, _CONTEXT = (BaseException.__dict__[name].__get__ for name in ("__cause__", "__context__"))
_GROUPED = BaseExceptionGroup.__dict__["exceptions"].__get__
_USED_AS_USER_CODE = tuple(_HOME + room + os.sep for room in ("spouts", "connectors"))


def told_of(error: BaseException | str) -> str:
    """An exception of user code in words that can travel: valid Unicode, cut, and with the frames of user code alone.

    What this package says of a call of the user's is one line with the user's own line of code; never raises for what is in `error`.
    """
    try:
        if not is_raised(error):
            return plain(str(error))
        name_fields(error)
        trace = traceback.TracebackException.from_exception(error, limit=-_MOST_FRAMES)
        for part in _chain(trace, set()):
            part.stack = _of_user(part.stack)
        if isinstance(error, PaspsError) and not error.__cause__:
            return plain(_one_line(error, trace.stack))
        return plain("".join(map(_short, trace.format())).rstrip())
    except Interrupt:
        raise
    except BaseException as another:  # noqa: BLE001 - whatever the exception's own methods do, there must be words for it
        return f"{type(error).__name__}, which cannot be told: telling it raised {type(another).__name__}"


def is_raised(error: object) -> TypeGuard[BaseException]:
    """Whether it is an exception, by its type: what an exception says of its class is user code, and may say text."""
    return issubclass(type(error), BaseException)


def let_go(error: BaseException) -> None:
    """Drop the traceback of an exception that nobody reads any more, and those of its causes; runs nothing of the user's.

    A traceback holds the frames of the step, ours too, which hold the whole chunk and the exception itself. Such a circle stays
    until the garbage collector runs, which counts objects and not bytes. And one exception object that is raised again and again
    has one traceback, which grows each time.
    """
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        BaseException.with_traceback(part, None)
        pending += [_CAUSE(part), _CONTEXT(part)]
        if issubclass(type(part), BaseExceptionGroup):
            pending += _GROUPED(part)


def said_by(error: BaseException) -> str:
    """What an exception of user code says of itself, in words that can travel."""
    try:
        return plain(str(error))
    except Interrupt:
        raise
    except BaseException as another:  # noqa: BLE001 - as above
        return f"<its str raises {type(another).__name__}>"


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text as any encoder takes it, and no longer than `most`: begin and end are kept."""
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}\n... ({len(text)} characters) ...\n{text[-(most // 3) :]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _short(line: str) -> str:
    return plain(line, MOST_CHARACTERS // 2)


def _chain(trace: traceback.TracebackException | None, seen: set[int]) -> Iterator[traceback.TracebackException]:
    """The exception with what caused it, and what it groups."""
    if trace is None or id(trace) in seen:
        return
    seen.add(id(trace))
    yield trace
    for part in (trace.__cause__, trace.__context__, *(trace.exceptions or ())):
        yield from _chain(part, seen)


def _of_user(stack: traceback.StackSummary) -> traceback.StackSummary:
    return traceback.StackSummary.from_list([frame for frame in stack if _is_user(frame.filename)])


def _is_user(filename: str) -> bool:
    return not filename.startswith(_HOME) or filename.startswith(_USED_AS_USER_CODE)


def line_of(frame: FrameType) -> str:
    """Where a thread is: the line of the user's function that was called by the runtime."""
    stack = traceback.extract_stack(frame)
    last = max((i for i, each in enumerate(stack) if not _is_user(each.filename)), default=-1)
    return _in(stack[last + 1 : last + 2] or stack[-1:])


def _in(stack: list[traceback.FrameSummary]) -> str:
    return "".join(f"in {last.name} ({os.path.basename(last.filename)}:{last.lineno}): {last.line}" for last in stack)


def _one_line(error: PaspsError, stack: traceback.StackSummary) -> str:
    text = f"{type(error).__name__}: {error}"
    if not stack:
        return text
    return f"{text}, {_in(stack[-1:])}"


class Reports(Protocol):
    """Never blocks; called on the worker's loop."""

    def applied(self, version: int) -> None:
        """This worker routes by that table, and has marked it to every peer."""

    def parked(self, component: str, replica: int, version: int) -> None:
        """A replica that table `version` put out has worked off everything; it processes nothing until it is activated."""

    def moved(self, version: int, component: str, task: int) -> None:
        """A keyed task has arrived here, with its state or without."""

    def move_failed(self, version: int, component: str, task: int, attribute: str, reason: str) -> None:
        """A keyed task could not be pickled; it stays here and waits for the next table."""

    def error(self, component: str, task: int, text: str) -> None:
        """An exception of user code, already throttled."""

    def link_lost(self, peer: str, incarnation: int) -> None:
        """A connection broke; the peer itself may live."""

    def pressed(self, component: str) -> None:
        """What waits before a bolt here takes a while, and longer than a moment ago: more comes than its replicas take."""

    def finished(self, task: int, done: bool) -> None:
        """A spout task has raised EndOfInput (or, not done any more, has something to replay)."""


class Throttle:
    """`pass_on` gives the texts to tell now."""

    __slots__ = ("_most", "_seconds", "_seen")

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._seen: dict[str, tuple[float, int]] = {}

    def pass_on(self, component: str, text: Callable[[], str], now: float) -> list[str]:
        """The text itself, which is made only then, or nothing; with a word on those left out before it."""
        start, count = self._seen.get(component, (now, 0))
        told: list[str] = []
        if now - start >= self._seconds:
            if count > self._most:
                told.append(f"{count - self._most} more errors in {now - start:.0f} s were left out")
            start, count = now, 0
        self._seen[component] = (start, count + 1)
        return [*told, text()] if count < self._most else told
