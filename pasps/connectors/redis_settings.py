"""What the keys `redis.*` say; standard library only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pasps.api.context import TopologyContext
from pasps.api.keys import Keys
from pasps.errors import ConfigError

PASSWORD_VARIABLE = "REDIS_PASSWORD"
_KEYS = (
    "redis.url",
    "redis.stream",
    "redis.group",
    "redis.start",
    "redis.pending",
    "redis.tries",
    "redis.dead.stream",
    "redis.claim.seconds",
    "redis.password.file",
)


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """What one task reads, under which name; it is task `index` of `tasks`. `start` is where a new group begins."""

    url: str = field(repr=False)
    password: str | None = field(repr=False)
    stream: str
    group: str
    consumer: str
    index: int
    tasks: int
    start: str
    most_pending: int
    most_tries: int | None
    dead_stream: str | None
    claim_seconds: float
    where: str


def settings_of(conf: Mapping[str, Any], ctx: TopologyContext) -> RedisSettings:
    """The settings in `conf`; other keys are left alone, and null is as if left out.

    Raises:
        ConfigError: a key is missing, wrong or misspelled, or the password's file cannot be read.
    """
    where = f"component {ctx.component_id!r}"
    keys = Keys(conf, _KEYS, where, "redis.")
    return RedisSettings(
        url=_url(conf.get("redis.url"), where),
        password=_password(keys.text("redis.password.file", "the path of a file"), where),
        stream=keys.needed("redis.stream", "the key of a stream"),
        group=keys.needed("redis.group", "the name of a consumer group: it keeps how far the stream is read"),
        consumer=f"{ctx.topology_name}-{ctx.component_id}-{ctx.task_index}",
        index=ctx.task_index,
        tasks=len(ctx.component_tasks(ctx.component_id)),
        start="$" if keys.choice("redis.start", ("earliest", "latest")) == "latest" else "0-0",
        most_pending=keys.whole("redis.pending", 10_000),
        most_tries=keys.whole_or_none("redis.tries"),
        dead_stream=keys.text("redis.dead.stream", "the key of a stream"),
        claim_seconds=keys.seconds("redis.claim.seconds", 60.0),
        where=where,
    )


def _url(value: object, where: str) -> str:
    """A wrong one is not shown: there may be a password in it."""
    if value is None:
        return "redis://127.0.0.1:6379/0"
    if isinstance(value, str) and value.startswith(("redis://", "rediss://", "unix://")):
        return value
    raise ConfigError("redis.url", "must begin with 'redis://', 'rediss://' or 'unix://'", where=where)


def _password(path: str | None, where: str) -> str | None:
    if path is None:
        return os.environ.get(PASSWORD_VARIABLE) or None
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError("redis.password.file", f"{path!r} cannot be read: {reason}", where=where) from error
