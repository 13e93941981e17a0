"""One member of a consumer group of a stream: its commands. The one place that imports redis.

Nothing here is tried again, and nothing is remembered: that is the reader's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pasps.connectors.redis_entries import RedisEntry, entries_of, entry_of
from pasps.connectors.redis_settings import PASSWORD_VARIABLE, RedisSettings
from pasps.errors import BrokenError, ConfigError, InvalidError

try:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, NoPermissionError, ReadOnlyError, RedisError, ResponseError
    from redis.retry import Retry
except ImportError as error:
    raise InvalidError(f"RedisStreamSpout needs redis, which cannot be imported ({error}); pip install 'pasps[redis]'") from error

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
