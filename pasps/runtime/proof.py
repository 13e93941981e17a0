"""Reads from a function's bytecode what need not be done for each tuple: a look at its result, objects that nobody would see.

Only the plain cases are recognised. When in doubt: no.
"""

from __future__ import annotations

import dis
from enum import IntEnum
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any

_NOT_PLAIN = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_SKIPPED = {"CACHE", "EXTENDED_ARG", "NOP"}
_TAKES_APART = {"UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "GET_ITER"}
_SEES_ALL = {"locals", "vars", "eval", "exec"}


class Seen(IntEnum):
    """What a method sees of the tuple that it is given."""

    TUPLE = 0
    VALUES = 1
    """`tup.values` and nothing else of it, whatever becomes of them."""
    ROW = 2
    """`tup.values`, which it takes apart at once, without their names: `*tup.values`, `a, b = tup.values`, `tup.values[0]`."""


def always_returns_row(function: Any, width: int) -> bool:
    """Whether the function can only return a tuple of `width` values, or raise: every `return` builds one on the spot."""
    steps = _steps(function)
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


def _steps(function: Any) -> list[dis.Instruction]:
    """Its bytecode without what does nothing; empty for anything but a plain function."""
    if type(function) is not FunctionType or function.__code__.co_flags & _NOT_PLAIN:
        return []
    return [step for step in dis.get_instructions(function) if step.opname not in _SKIPPED]


def _builds_row(step: dis.Instruction, width: int) -> bool:
    if step.opname == "BUILD_TUPLE":
        return step.arg == width
    return step.opname == "LOAD_CONST" and isinstance(step.argval, tuple) and len(step.argval) == width


def seen_of_argument(function: Any) -> Seen:
    """What a method, as the plain function that it is, sees of its only argument: by every place that names it."""
    steps = _steps(function)
    if not steps or function.__code__.co_argcount != 2 or not _SEES_ALL.isdisjoint(function.__code__.co_names):
        return Seen.TUPLE
    name = function.__code__.co_varnames[1]
    seen = Seen.ROW
    for place, step in enumerate(steps):
        if step.argval == name or (isinstance(step.argval, tuple) and name in step.argval):
            if step.opname != "LOAD_FAST" or not _is(steps[place + 1], "LOAD_ATTR", "values"):
                return Seen.TUPLE
            if not _taken_apart(steps[place + 2], steps[place + 3 :]):
                seen = Seen.VALUES
    return seen


def _taken_apart(step: dis.Instruction, after: list[dis.Instruction]) -> bool:
    if step.opname == "LOAD_CONST":
        return bool(after) and after[0].opname == "BINARY_SUBSCR"
    # bit 0: named arguments lie above those that are taken apart
    return step.opname in _TAKES_APART or (step.opname == "CALL_FUNCTION_EX" and not (step.arg or 0) & 1)


def _is(step: dis.Instruction, name: str, argument: str) -> bool:
    return step.opname == name and step.argval == argument
