"""A policy's own options: a frozen dataclass with defaults, set by keys `pasps.policy.options.<field>`. Pure.

They are checked as all keys of the configuration are, and the tables of the docs are made of them. A class of options may have three
things besides: `without`, what may not be set beside the others, `cautions`, what whoever configures it should know, and `models`,
which other models it means by some names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pasps.config import OPTIONS_PREFIX, Key
from pasps.control.situation import PolicySettings
from pasps.errors import ConfigError
from pasps.options import NoOptions, as_typed, files_of, nearest_option, option
from pasps.options import keys_of as keys_of_options

__all__ = [
    "GENERAL",
    "HOW_CHANGED",
    "NoOptions",
    "cautions",
    "files_of",
    "keys_of",
    "model_of",
    "option",
    "options_of",
    "text_of",
    "written",
]

HOW_CHANGED = "How changes are made: `pool` activates replicas, `restart` is what Storm's rebalance does"
"""Of the option `reconfigure` of a policy whose changes were restarts where it comes from; its plan has the value."""
_MOST_BYTES = 256 << 10
GENERAL: Mapping[str, tuple[str, str]] = {
    "target": ("target_utilisation", "pasps.target.utilisation"),
    "drain_seconds": ("drain_seconds", "pasps.drain.secs"),
    "scale_down_plans": ("scale_down_plans", "pasps.scale.down.plans"),
    "queue_share": ("queue_share", "pasps.queue.share"),
    "replicas": ("static_replicas", "pasps.static.replicas"),
}
"""Options that have an older key too, which holds for every policy that has an option of that name: the field of `PolicySettings`,
and the key. A policy's own option lies over it."""


def keys_of(options: type) -> dict[str, Key]:
    """The keys that set the fields of an options class, by field.

    Raises:
        InvalidError: it is no such class, see `pasps.options.keys_of`.
    """
    return keys_of_options(options, OPTIONS_PREFIX)


def options_of(policy: str, options: type, settings: PolicySettings, given: Mapping[str, Any]) -> Any:
    """The options of a policy as configured: its defaults, over them the general keys, over those `given`, by field.

    An option that the others leave no room for (by field and why: the mapping `without` of the options, if they have one) is refused.

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
    made = options(**{name: as_typed(keys[name], value) for name, value in found.items()})
    for name, why in _own(made, "without", {}).items():
        if name in _said(made, settings, given):
            raise ConfigError(_set_by(name, given), f"says nothing: {why}", where=f"policy {policy!r}", cure="leave it out")
    return made


def _own(options: Any, name: str, otherwise: Any) -> Any:
    """What options have besides their fields."""
    return otherwise if name in keys_of(type(options)) else getattr(options, name, otherwise)


def _said(options: Any, settings: PolicySettings, given: Mapping[str, Any]) -> dict[str, str]:
    """The keys that set fields, by field. What was written down has all of them, also those that nobody set: a default says nothing."""
    keys = keys_of(type(options))
    general = {name: getattr(settings, at) for name, (at, _) in GENERAL.items() if name in keys and name not in given}
    by_general = {name for name, value in general.items() if value is not None and keys[name].accepts(value)}
    own = {name for name in given if getattr(options, name) != keys[name].default}
    return {name: _set_by(name, given) for name in keys if name in by_general | own}


def _set_by(name: str, given: Mapping[str, Any]) -> str:
    """The key that set that field: its own, or the general one."""
    return OPTIONS_PREFIX + name if name in given or name not in GENERAL else GENERAL[name][1]


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


def cautions(policy: str, options: Any, settings: PolicySettings, given: Mapping[str, Any]) -> list[str]:
    """What whoever configured a policy so should know, a sentence each: general keys that were set and mean nothing to it, and what its
    options say themselves (`cautions(settings, said)` of theirs, if they have it; `said` are the keys by the fields that they set).
    """
    keys = keys_of(type(options))
    set_ = {name: (getattr(settings, at), key) for name, (at, key) in GENERAL.items() if getattr(settings, at) is not None}
    idle = [key for name, (value, key) in set_.items() if not (name in keys and keys[name].accepts(value))]
    own: Callable[[PolicySettings, Mapping[str, str]], list[str]] = _own(options, "cautions", lambda settings, said: [])
    return [f"configuration key {key!r} says nothing to policy {policy!r}" for key in idle] + own(settings, _said(options, settings, given))


def model_of(options: Any, name: str) -> str:
    """The model that is asked where that one was named: another one only where the options' `models` say so."""
    models: Mapping[str, str] = _own(options, "models", {})
    return models.get(name, name)


def written(options: Any) -> dict[str, Any]:
    """All options by field, as JSON has them."""
    found = msgspec.to_builtins(options)
    assert isinstance(found, dict)
    return found


def _cure(policy: str, name: str, keys: Iterable[str]) -> str:
    names = list(keys)
    if not names:
        return f"leave it out: {policy!r} has no options"
    near = nearest_option(name, names)
    return f"the nearest known name is {OPTIONS_PREFIX + near!r}" if near else f"it has {', '.join(names)}"
