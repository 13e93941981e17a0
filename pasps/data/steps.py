"""Steps of time, and times as traces write them; whole microseconds since 1970 in UTC. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from pasps.errors import InvalidError

SECOND = 1_000_000
FIRST_MICROS = -62_135_596_800 * SECOND
"""The first moment of the year 1; what is before it, or from END_MICROS on, is no time that ISO 8601 writes with four digits."""
END_MICROS = 253_402_300_800 * SECOND

_LONGEST = 10_000 * 86_400 * SECOND
"""The longest step: thousands of them in microseconds are numbers of 64 bits."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"ms": 1000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND}


def step_micros(text: str) -> int:
    """The length of a step such as `500ms`, `1s`, `5min`, `1h`, `1d`.

    Raises:
        InvalidError: it is none.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,8})(ms|s|min|h|d)", text)
    if match is None:
        raise InvalidError(f"step: expected a whole number and a unit, such as 500ms, 1s, 5min, 1h or 1d, got {text!r}")
    micros = int(match[1]) * _UNITS[match[2]]
    if micros > _LONGEST:
        raise InvalidError(f"step: expected at most 10000d, got {text!r}")
    return micros


def first_whole_start(step: int) -> int:
    """The first start of a step that is not before the year 1, and so can be written."""
    return -(-FIRST_MICROS // step) * step


def step_start(micros: int, step: int) -> int:
    """The start of the step that a moment is in; steps are counted from 1970-01-01T00:00:00Z on, and back."""
    return micros - micros % step


def iso_time(micros: int) -> str:
    """`2024-02-29T23:59:59Z`; with as many digits of a second as it takes, of 0, 3 or 6."""
    moment = _EPOCH + timedelta(microseconds=micros)
    digits = "seconds" if micros % SECOND == 0 else "milliseconds" if micros % 1000 == 0 else "microseconds"
    return moment.isoformat(timespec=digits).replace("+00:00", "Z")


def time_digits(step: int) -> int:
    """How many digits of a second the starts of steps need: 0, 3 or 6."""
    return 0 if step % SECOND == 0 else 3 if step % 1000 == 0 else 6
