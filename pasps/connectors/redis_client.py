"""What the keys `redis.*` say, and one member of a consumer group of a stream: its commands. The one place that imports redis.

Nothing here is tried again, and nothing is remembered: that is the reader's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pasps.api.context import TopologyContext
from pasps.api.keys import Keys
from pasps.errors import BrokenError, ConfigError, InvalidError

try:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, NoPermissionError, ReadOnlyError, RedisError, ResponseError
    from redis.retry import Retry
except ImportError as error:
    raise InvalidError(f"RedisStreamSpout needs redis, which cannot be imported ({error}); pip install 'pasps[redis]'") from error

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
    password = keys.content("redis.password.file")
    return RedisSettings(
        url=_url(conf.get("redis.url"), where),
        password=(os.environ.get(PASSWORD_VARIABLE) or None) if password is None else password,
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


# ---- entries, and the order of their ids

FIRST = "0-0"
"""Before every id."""


@dataclass(frozen=True, slots=True)
class RedisEntry:
    """An entry as `values` gets it; the values of `fields` are bytes, as Redis has them."""

    stream: str
    id: str
    fields: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """Bytes of the fields."""
        return sum(len(name) + len(value) for name, value in self.fields.items())

    @property
    def seconds(self) -> float:
        """When it was added, since the epoch, as its id says."""
        return int(self.id.partition("-")[0]) / 1000

    def __str__(self) -> str:
        return f"entry {self.id} of {self.stream!r}"


def entry_of(stream: str, raw: tuple[bytes, Mapping[bytes, bytes] | None]) -> RedisEntry:
    """From what the client gives. An entry that was deleted while it was pending has no fields; every other has some."""
    fields = raw[1] or {}
    return RedisEntry(stream, raw[0].decode(), {name.decode("utf-8", "backslashreplace"): value for name, value in fields.items()})


def place_of(entry_id: str) -> tuple[int, int]:
    """What ids are ordered by."""
    millis, _, number = entry_id.partition("-")
    return int(millis), int(number or 0)


def share_of(count: int, index: int, tasks: int) -> int:
    """What one task counts of something that all have together; the shares add up."""
    return count // tasks + (index < count % tasks)


def entries_of(stream: str, answer: Any) -> list[RedisEntry]:
    """From the answer to XREADGROUP of one stream."""
    return [entry_of(stream, raw) for _, entries in answer or () for raw in entries]


# ---- the member

_ANSWER_SECONDS = 10.0
_CONNECT_SECONDS = 5.0


class AwayError(BrokenError):
    """Redis did not do it; the message says why, and what to do where that is known. Whether it was done is not known."""


class RefusedError(AwayError):
    """Redis is there and has answered no: it was not done."""


class NoGroupError(AwayError):
    """The stream or its group is not there (any more)."""


class RedisGroup:
    """Connects when it is used, and again after an error. Every method but `close` raises AwayError."""

    def __init__(self, settings: RedisSettings) -> None:
        """Connects to nothing yet.

        Raises:
            ConfigError: the URL cannot be understood.
        """
        self._settings = settings
        self._names = (settings.stream, settings.group, settings.consumer)
        options: dict[str, Any] = {"protocol": 2, "socket_timeout": _ANSWER_SECONDS, "socket_connect_timeout": _CONNECT_SECONDS}
        if settings.password is not None:
            options["password"] = settings.password
        try:
            self._client = Redis.from_url(settings.url, retry=Retry(NoBackoff(), 0), **options)
        except (ValueError, TypeError):  # its words may hold a part of a password
            cure = "write redis://user@host:6379/0"
            raise ConfigError("redis.url", "cannot be understood as a URL", where=settings.where, cure=cure) from None
        known = self._client.connection_pool.connection_kwargs
        if known["protocol"] != 2 or known.get("decode_responses"):
            raise ConfigError("redis.url", "must not set protocol or decode_responses", where=settings.where)
        self.place = str(known.get("path") or f"{known.get('host', 'localhost')}:{known.get('port', 6379)}")
        """Where it is, for people."""

    def join(self, start: str) -> bool:
        """Make the stream and the group where they are missing; True: they were. `start` is where a new group begins."""
        try:
            self._client.xgroup_create(self._settings.stream, self._settings.group, id=start, mkstream=True)
        except (RedisError, OSError) as error:
            if isinstance(error, ResponseError) and str(error).startswith("BUSYGROUP"):
                return False
            raise self._away(error) from error
        return True

    def newest(self) -> str | None:
        """The highest id that the stream ever had; None: there is no stream."""
        try:
            return str(self._do("xinfo_stream", self._settings.stream)["last-generated-id"].decode())
        except NoGroupError:
            return None

    def own(self, after: str, most: int) -> list[RedisEntry]:
        """What was given to this member and is not acked, from `after` on; without fields: deleted since."""
        return self._read(after, most, None)

    def fresh(self, most: int, seconds: float) -> list[RedisEntry]:
        """What was given to nobody; waits so long when there is nothing."""
        return self._read(">", most, max(1, int(seconds * 1000)))

    def _read(self, after: str, most: int, block: int | None) -> list[RedisEntry]:
        stream, group, consumer = self._names
        return entries_of(stream, self._do("xreadgroup", group, consumer, {stream: after}, count=most, block=block))

    def claim(self, idle_seconds: float, after: str, most: int) -> tuple[str, list[RedisEntry], int]:
        """Take over what other members have had for so long without a sign of life.

        Returns:
            Where to go on ("0-0": that was all), the entries (without fields: deleted), and how many more were deleted meanwhile.
        """
        answer = self._do("xautoclaim", *self._names, int(idle_seconds * 1000), after, count=most)
        next_id, raw, *deleted = answer  # Redis 6.2 does not tell of deleted ones, and gives an entry that is none
        entries = [entry_of(self._settings.stream, found) for found in raw if found and found[0]]
        return next_id.decode(), entries, len(deleted[0]) if deleted else 0

    def hold(self, ids: Sequence[str]) -> None:
        """A sign of life: this member still has these."""
        self._do("xclaim", *self._names, 0, list(ids), justid=True)

    def ack(self, ids: Sequence[str]) -> None:
        """These are done."""
        self._do("xack", *self._names[:2], *ids)

    def copy(self, entry: RedisEntry, target: str, reason: bytes) -> None:
        """Append it to another stream. Not in one transaction with its ack: Redis would ack it also where it cannot append it.

        Raises:
            RefusedError: it cannot be appended there.
        """
        fields: dict[Any, Any] = {**entry.fields, "pasps.stream": entry.stream, "pasps.id": entry.id, "pasps.reason": reason}
        try:
            self._client.xadd(target, fields)
        except ResponseError as error:
            cure = self._cure(error, target, "redis.dead.stream")
            raise RefusedError(self._words(error, cure)) from error
        except (RedisError, OSError) as error:
            raise self._away(error) from error

    def lag(self) -> int | None:
        """How many entries were given to nobody; None when Redis does not know, or is older than 7."""
        lag = self._info().get("lag")
        return None if lag is None else int(lag)

    def given(self) -> str:
        """The last id that was given to anybody, or where the group began."""
        return str(self._info()["last-delivered-id"].decode())

    def _info(self) -> dict[str, Any]:
        stream, group, _ = self._names
        for found in self._do("xinfo_groups", stream):
            if found["name"] == group.encode():
                return dict(found)
        raise NoGroupError(f"Redis at {self.place}: stream {stream!r} has no group {group!r}")

    def pending(self) -> int:
        """How many entries this member has."""
        stream, group, consumer = self._names
        return sum(found["pending"] for found in self._do("xinfo_consumers", stream, group) if found["name"] == consumer.encode())

    def close(self) -> None:
        """Close the connection; the next command makes another."""
        self._client.close()
        self._client.connection_pool.disconnect()

    def _do(self, command: str, *arguments: Any, **more: Any) -> Any:
        try:
            return getattr(self._client, command)(*arguments, **more)
        except (RedisError, OSError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> AwayError:
        words = str(error)
        kind = NoGroupError if words.startswith("NOGROUP") or "no such key" in words else AwayError
        return kind(self._words(error, self._cure(error, self._settings.stream, "redis.stream")))

    def _words(self, error: Exception, cure: str) -> str:
        return f"Redis at {self.place}: {str(error).rstrip('.')}" + (f"; {cure}" if cure else "")

    def _cure(self, error: Exception, stream: str, key: str) -> str:
        words = str(error)
        if isinstance(error, AuthenticationError):
            return f"correct the user in 'redis.url', and the password in 'redis.password.file' or {PASSWORD_VARIABLE}"
        if isinstance(error, NoPermissionError):
            return f"its user needs the stream commands on {stream!r}"
        if isinstance(error, ReadOnlyError):
            return "that is a replica; 'redis.url' must name the primary"
        if words.startswith("WRONGTYPE"):
            return f"the key {stream!r} holds something that is no stream; correct {key!r}"
        if "unknown command" in words:
            return "Redis 6.2 or newer is needed"
        return ""
