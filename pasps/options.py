"""Options of what packages bring, policies and groupings: a frozen dataclass with defaults, whose fields are checked as keys are. Pure."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pasps.config import Key
from pasps.errors import InvalidError

_KINDS = (int, float, bool, str)


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Of what has none."""


def option(
    default: Any,
    doc: str,
    *,
    unit: str = "",
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    file: bool = False,
) -> Any:
    """A field of an options class with its bounds, and what it does in a few words. A default of None may be set to null again.

    `file`, for policies alone: it is set to a file, and is the text in it, JSON; so a policy stays pure, and a record has all that was
    decided by.
    """
    return field(default=default, metadata={"doc": doc, "unit": unit, "least": least, "above": above, "most": most, "file": file})


def keys_of(options: type, prefix: str = "") -> dict[str, Key]:
    """What each field of an options class takes, by field; the names of the keys begin with `prefix`.

    Raises:
        InvalidError: it is no such class: each field needs a default, and a number, a text, true or false, or one of several texts.
    """
    if not isinstance(options, type) or not is_dataclass(options):
        raise InvalidError(f"expected a frozen dataclass of options, got {options!r}")
    try:
        hints = get_type_hints(options)
    except NameError as error:
        raise InvalidError(f"options {options.__name__}: a field's type is not known in its module: {error}") from error
    return {each.name: _key(options, each, hints[each.name], prefix) for each in fields(options)}


def _key(options: type, each: Field[Any], hint: Any, prefix: str) -> Key:
    where = f"options {options.__name__}, field {each.name!r}"
    if each.default is MISSING:
        raise InvalidError(f"{where}: expected a default, so that nobody has to say anything")
    kind, choices, nullable = _taken(hint)
    if kind is None:
        raise InvalidError(f"{where}: expected int, float, bool, str or a Literal of texts, or one of them and None, got {hint!r}")
    if nullable != (each.default is None):
        raise InvalidError(f"{where}: expected None as its default if it may be None, and only then, got {each.default!r} for {hint!r}")
    said = each.metadata
    key = Key(
        prefix + each.name,
        kind,
        each.default,
        said.get("doc", ""),
        said.get("unit", ""),
        said.get("least"),
        said.get("above"),
        said.get("most"),
        choices=choices,
    )
    if not key.accepts(each.default):
        raise InvalidError(f"{where}: expected {key.expected()} as its default, got {each.default!r}")
    return key


def _taken(hint: Any) -> tuple[type | None, tuple[str, ...], bool]:
    """The type of a field's values, the only ones it may have, and whether None is one more; no type when it is none of ours."""
    parts, nullable = [hint], False
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        nullable = len(parts) < len(get_args(hint))
    if len(parts) != 1:
        return None, (), nullable
    choices = get_args(parts[0]) if get_origin(parts[0]) is Literal else ()
    if choices:
        return (str, choices, nullable) if all(isinstance(choice, str) for choice in choices) else (None, (), nullable)
    return (parts[0] if parts[0] in _KINDS else None), (), nullable


def files_of(options: type) -> set[str]:
    """The fields that are set to a file."""
    return {each.name for each in fields(options) if each.metadata.get("file")}


def as_typed(key: Key, value: Any) -> Any:
    """A value that `key` accepts, in the type of its field: a whole number given for a float is one."""
    return float(value) if key.kind is float and value is not None else value


def nearest_option(name: str, known: Iterable[str]) -> str | None:
    """The name among `known` that was most likely meant."""
    near = get_close_matches(name.lower().replace("-", "_"), list(known), n=1)
    return near[0] if near else None
