"""Reads from a function's bytecode that every result is one row, so that results need not be looked at one by one.

Only the plain case is recognised: every `return` builds a tuple of the right width on the spot. When in doubt: no.
"""

from __future__ import annotations

import dis
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any

_NOT_PLAIN = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_SKIPPED = {"CACHE", "EXTENDED_ARG", "NOP"}


def always_returns_row(function: Any, width: int) -> bool:
    """Whether the function can only return a tuple of `width` values, or raise."""
    if type(function) is not FunctionType or function.__code__.co_flags & _NOT_PLAIN:
        return False
    steps = [step for step in dis.get_instructions(function) if step.opname not in _SKIPPED]
    returns = 0
    for before, step in zip([None, *steps], steps, strict=False):
        if step.opname == "RETURN_CONST":
            good = isinstance(step.argval, tuple) and len(step.argval) == width
        elif step.opname != "RETURN_VALUE":
            continue
        else:
            good = before is not None and not step.is_jump_target and _builds_row(before, width)
        if not good:
            return False
        returns += 1
    return returns > 0


def _builds_row(step: dis.Instruction, width: int) -> bool:
    if step.opname == "BUILD_TUPLE":
        return step.arg == width
    return step.opname == "LOAD_CONST" and isinstance(step.argval, tuple) and len(step.argval) == width
