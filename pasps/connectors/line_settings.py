"""What the keys `lines.*` say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pasps.api.keys import Keys
from pasps.errors import ConfigError

_KEYS = (
    "lines.path",
    "lines.start",
    "lines.follow",
    "lines.bytes",
    "lines.max.bytes",
    "lines.pending",
    "lines.tries",
    "lines.scan.seconds",
    "lines.rotated.seconds",
)


@dataclass(frozen=True, slots=True)
class LineSettings:
    """Which files, from where, and the bounds; `path` is absolute."""

    path: str
    from_end: bool
    follow: bool
    as_bytes: bool
    most_bytes: int
    most_pending: int
    most_tries: int | None
    scan_seconds: float
    rotated_seconds: float


def settings_of(conf: Mapping[str, Any], where: str) -> LineSettings:
    """The settings in `conf`; other keys are left alone.

    Raises:
        ConfigError: a key is missing, wrong or misspelled.
    """
    keys = Keys(conf, _KEYS, where, "lines.")
    path = os.path.abspath(os.path.expanduser(keys.needed("lines.path", "the path of a file, or a pattern such as '/var/log/app*.log'")))
    from_end = keys.choice("lines.start", ("beginning", "end")) == "end"
    follow = keys.flag("lines.follow", True)
    if from_end and not follow:
        raise ConfigError(
            "lines.start", "is 'end', while 'lines.follow' is false: nothing would be read", where=where, cure="set one of them"
        )
    return LineSettings(
        path,
        from_end,
        follow,
        keys.flag("lines.bytes", False),
        keys.whole("lines.max.bytes", 1 << 20, 1, 1 << 26),
        keys.whole("lines.pending", 10_000),
        keys.whole_or_none("lines.tries"),
        keys.seconds("lines.scan.seconds", 1.0),
        keys.seconds("lines.rotated.seconds", 60.0),
    )
