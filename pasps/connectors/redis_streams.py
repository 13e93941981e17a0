"""Entries of a Redis stream, at least once; a consumer group says which are done (docs/redis-streams.md).

Layout: redis_client (the keys, entries, the commands) <- redis_reader (the thread) <- redis_streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pasps.api.component import Outputs
from pasps.api.context import TopologyContext
from pasps.connectors.read_ahead import ReadAheadSpout
from pasps.connectors.redis_client import RedisEntry, RedisGroup, settings_of
from pasps.connectors.redis_reader import RedisReader

__all__ = ["RedisEntry", "RedisStreamSpout"]


class RedisStreamSpout(ReadAheadSpout):
    """Emits each entry that its consumer group gives it until it is acked, and acks it there.

    The tasks are members of one group, which shares the entries among them. After a crash a task of the same name is given again
    what the dead one had not acked. For tuples of its own a subclass declares `outputs` and defines `values(record)`.
    """

    outputs: Outputs = ("id", "fields")
    path_keys: ClassVar[Mapping[str, str | None]] = {"redis.password.file": None}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Join the group, in the background. A subclass that overrides it calls it too.

        Raises:
            ConfigError: a key is missing, wrong or misspelled.
        """
        settings = settings_of(conf, ctx)
        reader = RedisReader(settings, self.clock, RedisGroup(settings))
        self.read_from(reader, settings.most_pending, settings.most_tries)

    def values(self, record: RedisEntry) -> Sequence[Any] | None:
        """The tuple of an entry; the same each time. None: it is of no use. If it raises, the entry has failed."""
        return (record.id, dict(record.fields))
