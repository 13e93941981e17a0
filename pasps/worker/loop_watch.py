"""A thread that only watches: it speaks to the controller for a loop that does not come back, says what that is stuck in, and notices
that the controller is gone even then."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType

from pasps import runtime
from pasps.clock import Clock
from pasps.runtime.executor import Executor
from pasps.runtime.inbox import TaskSlot
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.worker.link import SILENCE_SECONDS, ControllerLink, end_orphaned
from pasps.worker.messages import Beat, Stuck
from pasps.worker.tracebacks import is_ours

_log = logging.getLogger("pasps.worker")

PASS_SECONDS = 0.5
"""How often the loop comes by and speaks, unasked."""
LATE_SECONDS = 0.7
"""After so long the thread speaks for it."""
STUCK_SECONDS = 5.0
"""After so long it is told what the loop has not come back from; again only after `_TOLD_AGAIN_SECONDS`."""
_TOLD_AGAIN_SECONDS = 600.0
_LOOK_SECONDS = 0.3
_ASYNCIO = os.path.dirname(asyncio.__file__) + os.sep
_RUNTIME = os.path.dirname(runtime.__file__) + os.sep


class LoopWatch:
    """`start` belongs to the loop. `look` is what the thread does a few times a second.

    While the loop runs it speaks for itself, at full speed too. The thread may wait for the interpreter for seconds then: a loop
    that gives it up for an instant after each pass wakes whoever waits for it, and has it again before they are there.
    """

    def __init__(self, link: ControllerLink, clock: Clock, stack: Callable[[], FrameType | None] | None = None) -> None:
        """`stack`: what the loop's thread does now; None: that of the thread that calls `start`."""
        self.telling = False
        """Whether it is told what the loop does not come back from; `initialize` may take its time."""
        self._link = link
        self._clock = clock
        self._stack = stack or (lambda: sys._current_frames().get(self._ident))  # noqa: SLF001 - the only way to see another thread's
        self._ident = 0
        self._passed = clock.now()
        self._told: tuple[str, float] | None = None
        """What was told last, and when; until the loop has come back from it `_away` is set."""
        self._away = ""

    def start(self) -> None:
        """Begin; the loop of the calling thread is the one to watch."""
        self._ident = threading.get_ident()
        self._come_by(asyncio.get_running_loop())
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def _come_by(self, loop: asyncio.AbstractEventLoop) -> None:
        self.passed()
        loop.call_later(PASS_SECONDS, self._come_by, loop)

    def passed(self) -> None:
        """The loop is here."""
        now = self._clock.now()
        late, self._passed = now - self._passed, now
        if self._away:
            _log.warning("%s: the worker's loop is back after %.0f s", self._away, late)
            self._away = ""
        self._link.send(Beat())

    def _run(self) -> None:
        poller = select.poll()
        # the end is seen although what came before it was not read; elsewhere than on Linux the loop sees it when it is back
        poller.register(self._link.fileno(), getattr(select, "POLLRDHUP", 0))
        while not poller.poll(_LOOK_SECONDS * 1000):
            self.look()
        end_orphaned("the control connection has ended")

    def look(self) -> None:
        """Speak for the loop when it is late. Ends the process when the controller has gone without a word."""
        if self._link.is_silent():
            _log.error("nothing was heard of the controller for %g s", SILENCE_SECONDS)
            end_orphaned("the controller is silent")
        late = self._clock.now() - self._passed
        if late > LATE_SECONDS:
            self._link.send(Beat(self._stuck(late)))

    def _stuck(self, late: float) -> Stuck | None:
        if late < STUCK_SECONDS or not self.telling:
            return None
        frame = self._stack()
        stack = _users_part([] if frame is None else traceback.extract_stack(frame))
        component, task = place_of(frame)
        where = f"{stack[0].filename}:{stack[0].lineno} in {stack[0].name}" if stack else ""
        what = f"component {component!r}, task {task}" if component else "code that no component called"
        self._tell(what, late, "".join(traceback.format_list(stack)).rstrip())
        return Stuck(component, task, late, where)

    def _tell(self, what: str, late: float, stack: str) -> None:
        now = self._clock.now()
        if self._told is not None and self._told[0] == what and now - self._told[1] < _TOLD_AGAIN_SECONDS:
            return
        self._told, self._away = (what, now), what
        text = "%s: the worker's loop has not come back for %.0f s, and nothing else runs in it meanwhile; it is in\n%s"
        _log.warning(text, what, late, stack)


def _users_part(stack: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """What was called last by us or by asyncio, and all that it called, up to what it calls of ours; when that is none of the
    user's, the innermost frame.

    What it calls of ours is an `emit`, or our handler of a signal: code in C that checks for signals lets nobody look but there.
    """
    ours = [is_ours(frame.filename) or frame.filename.startswith(_ASYNCIO) for frame in stack]
    end = next((i + 1 for i in reversed(range(len(ours))) if not ours[i]), 0)
    last = max((i for i in range(end) if ours[i]), default=-1)
    return stack[last + 1 : end] if last >= 0 or end == len(stack) else stack[-1:]


def place_of(frame: FrameType | None) -> tuple[str, int]:
    """Whose code runs there: a component and its task, by what the runtime's own frames hold; ("", -1): no component's."""
    found = "", -1
    while frame is not None:
        if frame.f_code.co_filename.startswith(_RUNTIME):  # user code's own variables are nobody's business
            known = frame.f_locals
            slot = next((value for value in known.values() if isinstance(value, TaskSlot)), None)
            if slot is not None:
                return slot.component, slot.task_id
            host = known.get("self")
            if isinstance(host, SpoutExecutor):
                return host.plan.id, host.task_id
            if isinstance(host, Executor) and not found[0]:
                found = host.plan.id, host.plan.first_task + host.replica
        frame = frame.f_back
    return found
