"""What the keys `sql.*` say; standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pasps.api.keys import Keys

DEFAULT_URL = "sqlite:///pasps.db"
ASIDE, FAIL = "aside", "fail"
_KEYS = ("sql.url", "sql.password.file", "sql.batch", "sql.refused")


@dataclass(frozen=True, slots=True)
class SqlSettings:
    """Where to, with whose password, how many rows in a transaction, and what becomes of a row that is refused."""

    url: str = DEFAULT_URL
    password_file: str | None = None
    batch: int = 1024
    refused: str = ASIDE


def settings_of(conf: Mapping[str, Any], where: str) -> SqlSettings:
    """The settings in `conf`; other keys are left alone, and null is as if left out.

    Raises:
        ConfigError: a key that is nearly one of ours, or a value that its key does not take.
    """
    keys, usual = Keys(conf, _KEYS, where, "sql."), SqlSettings()
    return SqlSettings(
        keys.text("sql.url", "text") or usual.url,
        keys.text("sql.password.file", "text"),
        keys.whole("sql.batch", usual.batch),
        keys.choice("sql.refused", (ASIDE, FAIL)),
    )
