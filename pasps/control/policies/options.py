"""A policy's own options: a frozen dataclass with defaults, set by keys `pasps.policy.options.<field>`. Pure.

They are checked as all keys of the configuration are, and the tables of the docs are made of them.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from pasps.config import OPTIONS_PREFIX, Key
from pasps.control.situation import PolicySettings
from pasps.errors import ConfigError, InvalidError

HOW_CHANGED = "How changes are made: `pool` activates replicas, `restart` is what Storm's rebalance does"
"""Of the option `reconfigure` of a policy whose changes were restarts where it comes from; its plan has the value."""
_MOST_BYTES = 256 << 10
_KINDS = (int, float, bool, str)
GENERAL: Mapping[str, tuple[str, str]] = {
    "target": ("target_utilisation", "pasps.target.utilisation"),
    "drain_seconds": ("drain_seconds", "pasps.drain.secs"),
    "scale_down_plans": ("scale_down_plans", "pasps.scale.down.plans"),
    "queue_share": ("queue_share", "pasps.queue.share"),
    "replicas": ("static_replicas", "pasps.static.replicas"),
}
"""Options that have an older key too, which holds for every policy that has an option of that name: the field of `PolicySettings`,
and the key. A policy's own option lies over it."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Of a policy that has none."""


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

    `file`: it is set to a file, and is the text in it, JSON; so a policy stays pure, and a record has all that was decided by.
    """
    return field(default=default, metadata={"doc": doc, "unit": unit, "least": least, "above": above, "most": most, "file": file})


def keys_of(options: type) -> dict[str, Key]:
    """The keys that set the fields of an options class, by field.

    Raises:
        InvalidError: it is no such class: each field needs a default, and a number, a text, true or false, or one of several texts.
    """
    if not isinstance(options, type) or not is_dataclass(options):
        raise InvalidError(f"expected a frozen dataclass as a policy's options, got {options!r}")
    try:
        hints = get_type_hints(options)
    except NameError as error:
        raise InvalidError(f"options {options.__name__}: a field's type is not known in its module: {error}") from error
    return {each.name: _key(options, each, hints[each.name]) for each in fields(options)}


def _key(options: type, each: Field[Any], hint: Any) -> Key:
    where = f"options {options.__name__}, field {each.name!r}"
    if each.default is MISSING:
        raise InvalidError(f"{where}: expected a default, so that a policy runs without being told anything")
    kind, choices, nullable = _taken(hint)
    if kind is None:
        raise InvalidError(f"{where}: expected int, float, bool, str or a Literal of texts, or one of them and None, got {hint!r}")
    if nullable != (each.default is None):
        raise InvalidError(f"{where}: expected None as its default if it may be None, and only then, got {each.default!r} for {hint!r}")
    said = each.metadata
    key = Key(
        OPTIONS_PREFIX + each.name,
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


def options_of(policy: str, options: type, settings: PolicySettings, given: Mapping[str, Any]) -> Any:
    """The options of a policy as configured: its defaults, over them the general keys, over those `given`, by field.

    Raises:
        ConfigError: the policy has no such option (with the nearest name, or all of them), or it does not take that value.
    """
    keys, files = keys_of(options), files_of(options)
    for name, value in given.items():
        key = keys.get(name)
        if key is None:
            raise ConfigError(OPTIONS_PREFIX + name, f"is no option of policy {policy!r}", cure=_cure(policy, name, keys))
        if not key.accepts(value):
            expected = f"must be {key.expected()}, got {value!r} ({type(value).__name__})"
            raise ConfigError(key.name, expected, where=f"policy {policy!r}")
    given = {name: text_of(keys[name].name, value) if name in files else value for name, value in given.items()}
    general = {name: getattr(settings, at) for name, (at, _) in GENERAL.items() if name in keys}
    found = {name: value for name, value in general.items() if value is not None and keys[name].accepts(value)} | dict(given)
    return options(**{name: float(value) if keys[name].kind is float and value is not None else value for name, value in found.items()})


def files_of(options: type) -> set[str]:
    """The fields that are set to a file."""
    return {each.name for each in fields(options) if each.metadata.get("file")}


def text_of(key: str, value: str | None) -> str | None:
    """What is in the file that an option is set to; or that text itself, as records have it, which begins with a brace. Blocks.

    Raises:
        ConfigError: there is no such file, or it is too much for every record to have it.
    """
    if value is None or value.lstrip().startswith("{"):
        return value
    path = Path(value)
    try:
        size, text = path.stat().st_size, path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(key, f"names a file that cannot be read: {error}") from error
    if size > _MOST_BYTES:
        raise ConfigError(key, f"names a file of {size:,} bytes, at most {_MOST_BYTES:,} are taken, since every decision's record has them")
    return text


def ignored(options: type, settings: PolicySettings) -> list[str]:
    """The general keys that were set and mean nothing to a policy with these options."""
    keys = keys_of(options)
    set_ = {name: (getattr(settings, at), key) for name, (at, key) in GENERAL.items()}
    return [key for name, (value, key) in set_.items() if value is not None and not (name in keys and keys[name].accepts(value))]


def written(options: Any) -> dict[str, Any]:
    """All options by field, as JSON has them."""
    found = msgspec.to_builtins(options)
    assert isinstance(found, dict)
    return found


def _cure(policy: str, name: str, keys: Iterable[str]) -> str:
    names = list(keys)
    if not names:
        return f"leave it out: {policy!r} has no options"
    near = get_close_matches(name.lower().replace("-", "_"), names, n=1)
    return f"the nearest known name is {OPTIONS_PREFIX + near[0]!r}" if near else f"it has {', '.join(names)}"
