"""Typed access to the keys that components bring along for their configuration, such as `kafka.*` and `trace.*`.

One reader for all of them, so that a wrong value is refused in the same words wherever it stands. What the keys of pasps itself
take stands in pasps/config.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

from pasps.errors import ConfigError

__all__ = ["Keys"]

_SECRETS = frozenset({"token", "password", "url"})
"""In a key's name: its value is in no message. A URL may hold a password."""


class Keys:
    """The keys of one component that begin with a prefix; other keys are left alone, and null is as if left out.

    Where a method has no default, it gives None for a key that is not there. Every method raises ConfigError for a value that its
    key does not take.
    """

    def __init__(self, conf: Mapping[str, Any], names: Collection[str], where: str, prefix: str = "") -> None:
        """`names` are all keys that there are, `where` is whose they are, for messages: `component 'input'`.

        Without a `prefix` all keys are looked at: it may be what is misspelled.

        Raises:
            ConfigError: a key is nearly one of `names`: a slip of the pen. Others may be somebody else's.
        """
        self._given = {name: value for name, value in conf.items() if name.startswith(prefix) and value is not None}
        self._where = where
        for name in self._given.keys() - set(names):
            near = get_close_matches(name, names, n=1, cutoff=0.8)
            if near:
                raise ConfigError(name, "is unknown", where=where, cure=f"the nearest known name is {near[0]!r}")

    def at_most_one(self, one: str, other: str) -> None:
        """Not both."""
        if one in self._given and other in self._given:
            raise ConfigError(one, f"and {other!r} say the same thing twice", where=self._where, cure="set one of them")

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

    def content(self, name: str) -> str | None:
        """The text of the file that it names, without white space at its ends; what it says is in no message."""
        path = self.text(name, "the path of a file")
        if path is None:
            return None
        try:
            return Path(path).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
            raise ConfigError(name, f"{path!r} cannot be read: {reason}", where=self._where) from error

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
        value = self.whole_or_none(name, least, most)
        return default if value is None else value

    def whole_or_none(self, name: str, least: int = 1, most: int | None = None, why: str = "") -> int | None:
        """An integer within bounds; `why` these is for the message."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
            bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise self._wrong(name, f"an integer {bounds}{why}", value)
        return value

    def number(self, name: str, unit: str = "") -> Fraction | None:
        """A number above 0, exactly as it was written: 0.1 is a tenth."""
        value = self._given.get(name)
        if value is None:
            return None
        number = _exact(value)
        if number is None or number <= 0:
            raise self._wrong(name, "a number above 0" + (f" ({unit})" if unit else ""), value)
        return number

    def seconds(self, name: str, default: float) -> float:
        """A number above 0."""
        value = self.number(name, "seconds")
        return default if value is None else float(value)

    def counts(self, name: str) -> list[int | Fraction] | None:
        """At least one; each is 0 or above, exactly as it was written."""
        values = self._given.get(name)
        if values is None:
            return None
        if not isinstance(values, (list, tuple)) or not values:
            raise self._wrong(name, "a list of counts", values)
        counts: list[int | Fraction] = []
        for place, value in enumerate(values):
            count = _exact(value)
            if count is None or count < 0:
                raise self._wrong(name, f"counts of at least 0 (place {place})", value)
            counts.append(count)
        return counts

    def _wrong(self, name: str, expected: str, value: object) -> ConfigError:
        kind = type(value).__name__
        if not _is_secret(name):
            return ConfigError(name, f"must be {expected}, got {value!r} ({kind})", where=self._where)
        cure = "what looks like a number, true or false is text in double quotes" if isinstance(value, (int, float)) else ""
        return ConfigError(name, f"must be {expected}, got a value of type {kind}, which is not shown", where=self._where, cure=cure)


def _is_secret(name: str) -> bool:
    """Also a key for a file: the secret itself may have been put there."""
    return not _SECRETS.isdisjoint(name.split("."))


def _exact(value: object) -> Fraction | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))
