"""A hash of what a component's user wrote, to see whether a benchmark of it is still one of this code. Called at the start alone."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import textwrap
from functools import partial
from typing import Any

from pasps.api.blueprint import ComponentPlan
from pasps.api.function import FunctionBolt

PREFIX = "sha256:"
_SIZES = frozenset({"par", "pool"})
"""How many replicas there are does not change what an event costs one of them."""
_BUILT_ON = sys.stdlib_module_names | {"pasps"}


def source_hash(plan: ComponentPlan) -> str | None:
    """`sha256:` and 64 hexadecimal digits, the same in every process and on every machine.

    Covers a bolt's function, or its class and the bases up to those of pasps and of Python itself; not what these call. Comments,
    docstrings, formatting, `par` and `pool` do not count.

    Returns:
        None when the source is not to be had, as for what was typed at a prompt.
    """
    digest = hashlib.sha256()
    try:
        for part in _parts(getattr(plan.make, "component", None)):
            tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
            digest.update(repr(_meaning(tree)).encode())
    except (OSError, TypeError, SyntaxError, RecursionError):
        return None
    return PREFIX + digest.hexdigest()


def _parts(subject: Any) -> list[Any]:
    """The functions and classes whose source is the component's."""
    if isinstance(subject, FunctionBolt):
        subject = subject.function
        while isinstance(subject, partial):
            subject = subject.func
        if inspect.isroutine(subject):
            return [subject]
    kind = subject if isinstance(subject, type) else type(subject)
    return [kind, *(base for base in kind.__mro__[1:] if base.__module__.partition(".")[0] not in _BUILT_ON)]


def _meaning(node: Any) -> Any:
    """A tree without positions and without what is empty: `ast.dump` prints other empty fields in every version of Python."""
    if isinstance(node, list):
        return [_meaning(item) for item in node if not _is_idle(item)]
    if not isinstance(node, ast.AST):
        return node
    found = ((name, _counting(node, name, value)) for name, value in ast.iter_fields(node))
    return type(node).__name__, *((name, _meaning(value)) for name, value in found if value is not None and value != [])


def _is_idle(node: Any) -> bool:
    """A statement that does nothing, as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _counting(node: ast.AST, name: str, value: Any) -> Any:
    """A field without what says how many replicas there are: `par` and `pool` of a class, or of `@bolt(...)`."""
    if isinstance(node, ast.ClassDef) and name == "body":
        return [statement for statement in value if not _sets_size(statement)]
    if name == "decorator_list":
        return [_without_sizes(decorator) for decorator in value]
    return value


def _sets_size(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return all(isinstance(target, ast.Name) and target.id in _SIZES for target in targets)


def _without_sizes(decorator: ast.expr) -> ast.expr:
    if not isinstance(decorator, ast.Call):
        return decorator
    return ast.Call(decorator.func, decorator.args, [keyword for keyword in decorator.keywords if keyword.arg not in _SIZES])
