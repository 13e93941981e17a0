"""A process that must not outlive its parent. Linux can see to that even in the middle of a fit; elsewhere this does nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends; it ends at once when that has happened."""
    _set_signal(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def end_by_itself() -> None:
    """Take that back."""
    _set_signal(0)


def _set_signal(number: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
