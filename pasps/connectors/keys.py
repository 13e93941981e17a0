"""Typed access to the keys of one connector in a component's configuration."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from pasps.errors import ConfigError

_SECRETS = frozenset({"token", "password"})
"""In a key's name: its value is in no message."""


class Keys:
    """The keys that begin with a connector's prefix; other keys are left alone, and null is as if left out.

    Every method raises ConfigError for a value that its key does not take.
    """

    def __init__(self, conf: Mapping[str, Any], prefix: str, names: Collection[str], where: str) -> None:
        """`names` are all keys that there are, `where` is whose they are, for messages: `component 'input'`.

        Raises:
            ConfigError: a key is nearly one of `names`: a slip of the pen. Others may be somebody else's.
        """
        self._given = {name: value for name, value in conf.items() if name.startswith(prefix) and value is not None}
        self._where = where
        for name in self._given.keys() - set(names):
            near = get_close_matches(name, names, n=1, cutoff=0.8)
            if near:
                raise ConfigError(name, "is unknown", where=where, cure=f"the nearest known name is {near[0]!r}")

    def text(self, name: str, what: str) -> str | None:
        """Text that is not empty; `what` it is to be is for the message."""
        value = self._given.get(name)
        if value is not None and not (isinstance(value, str) and value):
            raise self._wrong(name, what, value)
        return value

    def needed(self, name: str, what: str) -> str:
        """The same, which must be there."""
        value = self.text(name, what)
        if value is None:
            raise ConfigError(name, "is missing", where=self._where, cure=f"set it to {what}")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of `choices`; the first is the default."""
        value = self._given.get(name, choices[0])
        if value not in choices:
            raise self._wrong(name, " or ".join(map(repr, choices)), value)
        return str(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._given.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def whole(self, name: str, default: int, least: int = 1, most: int | None = None) -> int:
        """An integer within bounds."""
        value = self._given.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
            raise self._wrong(name, f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}", value)
        return value

    def whole_or_none(self, name: str) -> int | None:
        """An integer of at least 1; None when it is not there."""
        return self.whole(name, 1) if name in self._given else None

    def seconds(self, name: str, default: float) -> float:
        """A number above 0."""
        value = self._given.get(name, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
            raise self._wrong(name, "a number above 0 (seconds)", value)
        return float(value)

    def _wrong(self, name: str, expected: str, value: object) -> ConfigError:
        kind = type(value).__name__
        if not _is_secret(name):
            return ConfigError(name, f"must be {expected}, got {value!r} ({kind})", where=self._where)
        cure = "what looks like a number, true or false is text in double quotes" if isinstance(value, (int, float)) else ""
        return ConfigError(name, f"must be {expected}, got a value of type {kind}, which is not shown", where=self._where, cure=cure)


def _is_secret(name: str) -> bool:
    """Also a key for a file: the secret itself may have been put there."""
    return not _SECRETS.isdisjoint(name.split("."))
