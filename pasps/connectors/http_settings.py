"""What the keys `http.*` say, and the token, which may stand elsewhere."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pasps.api.keys import Keys
from pasps.errors import ConfigError

TOKEN_VARIABLE = "PASPS_HTTP_TOKEN"
_KEYS = (
    "http.host",
    "http.port",
    "http.token",
    "http.token.file",
    "http.address.file",
    "http.pending",
    "http.max.bytes",
    "http.timeout.seconds",
    "http.tries",
)


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where a task listens, who may send, and the bounds. `port` 0 is any that is free."""

    host: str
    port: int
    token: str | None = field(repr=False)
    address_file: str | None
    most_pending: int
    most_bytes: int
    timeout_seconds: float
    most_tries: int


def settings_of(conf: Mapping[str, Any], where: str, task: int = 0, tasks: int = 1) -> HttpSettings:
    """The settings in `conf` for one of several tasks; other keys are left alone.

    Raises:
        ConfigError: a key is wrong or misspelled, or a token is missing where others can reach the port.
    """
    keys = Keys(conf, _KEYS, where, "http.")
    host = keys.text("http.host", "an address or a name of this machine") or "127.0.0.1"
    port = keys.whole("http.port", 8080, 0, 65535)
    if port and port + tasks - 1 > 65535:
        raise ConfigError("http.port", f"leaves no port to the last of {tasks} tasks", where=where, cure="choose a smaller one")
    file = keys.text("http.address.file", "the path of a file")
    token = _token(keys, where)
    if token is None and not _is_loopback(host):
        cure = f"set 'http.token.file', 'http.token' or the environment's {TOKEN_VARIABLE}, or listen on 127.0.0.1"
        raise ConfigError("http.host", f"is {host!r}, which others can reach, and there is no token", where=where, cure=cure)
    return HttpSettings(
        host,
        port + task if port else 0,
        token,
        f"{file}.{task}" if file and tasks > 1 else file,
        keys.whole("http.pending", 10_000),
        keys.whole("http.max.bytes", 1 << 20, 1, 1 << 26),
        keys.seconds("http.timeout.seconds", 30.0),
        keys.whole("http.tries", 3),
    )


def _token(keys: Keys, where: str) -> str | None:
    keys.at_most_one("http.token", "http.token.file")
    token, path = keys.text("http.token", "text"), keys.text("http.token.file", "the path of a file")
    if path is not None:
        try:
            token = Path(path).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("http.token.file", f"names {path!r}, which cannot be read ({error})", where=where) from error
        if not token:
            raise ConfigError("http.token.file", f"names {path!r}, which is empty", where=where)
    token = token or os.environ.get(TOKEN_VARIABLE) or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise ConfigError("http.token", "must be printable ASCII without spaces, so that a header can hold it", where=where)
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
