"""What the keys `sql.*` say; standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pasps.errors import ConfigError

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
    given = {name: value for name, value in conf.items() if name.startswith("sql.") and value is not None}
    for name in given.keys() - set(_KEYS):
        near = get_close_matches(name, _KEYS, n=1, cutoff=0.8)
        if near:
            raise ConfigError(name, "is unknown", where=where, cure=f"the nearest known name is {near[0]!r}")
    usual = SqlSettings()
    batch = given.get("sql.batch", usual.batch)
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ConfigError("sql.batch", f"must be an integer of at least 1, got {batch!r} ({type(batch).__name__})", where=where)
    refused = given.get("sql.refused", usual.refused)
    if refused not in (ASIDE, FAIL):
        raise ConfigError("sql.refused", f"must be {ASIDE!r} or {FAIL!r}, got {refused!r}", where=where)
    return SqlSettings(_text(given, "sql.url", usual.url, where), _text(given, "sql.password.file", None, where), batch, refused)


def _text(given: Mapping[str, Any], name: str, usual: Any, where: str) -> Any:
    value = given.get(name, usual)
    if value is not None and not (isinstance(value, str) and value):
        raise ConfigError(name, f"must be text, got a value of type {type(value).__name__}", where=where)
    return value
