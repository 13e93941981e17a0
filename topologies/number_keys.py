"""Numbers in an application's configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pasps.errors import ConfigError

LARGEST = (1 << 63) - 1
"""The largest whole number that every database takes."""


def whole(conf: Mapping[str, Any], key: str, usual: int, least: int, most: int, where: str) -> int:
    """The whole number under `key`, or the usual one.

    Args:
        where: Whose configuration it is, for the message.

    Raises:
        ConfigError: it is none from `least` to `most`.
    """
    value = conf.get(key)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(key, f"must be a whole number from {least} to {most}, got {value!r}", where=where)
    return value


def above_zero(conf: Mapping[str, Any], key: str, usual: float, where: str) -> float:
    """The number under `key`, or the usual one.

    Raises:
        ConfigError: it is not above 0.
    """
    value = conf.get(key)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(key, f"must be a number above 0, got {value!r}", where=where)
    return float(value)
