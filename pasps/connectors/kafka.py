"""Messages of Kafka topics, at least once; the offsets of a consumer group say how far they are done (docs/kafka.md).

Layout: kafka_partitions (what is done) <- kafka_client (the keys, confluent-kafka) <- kafka_troubles (outages) <- kafka_reader (the
thread) <- kafka.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pasps.api.component import Outputs
from pasps.api.context import TopologyContext
from pasps.connectors.kafka_client import PATH_KEYS, settings_of
from pasps.connectors.kafka_partitions import KafkaRecord
from pasps.connectors.kafka_reader import KafkaReader
from pasps.connectors.read_ahead import ReadAheadSpout

__all__ = ["KafkaRecord", "KafkaSpout"]


class KafkaSpout(ReadAheadSpout):
    """Emits each message of its partitions until it is acked, and commits an offset when all before it are done.

    The tasks are members of one consumer group, which shares the partitions among them. After a crash, and when a partition goes
    to another task, what was not committed is emitted again. For tuples of its own a subclass declares `outputs` and defines
    `values(record)`.
    """

    outputs: Outputs = ("topic", "partition", "offset", "key", "value")
    path_keys: ClassVar[Mapping[str, str | None]] = dict.fromkeys(PATH_KEYS)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Join the group, in the background. A subclass that overrides it calls it too.

        Raises:
            ConfigError: a key is missing, wrong or misspelled.
        """
        settings = settings_of(conf, ctx)
        self.read_from(KafkaReader(settings, self.clock), settings.most_pending, settings.most_tries)

    def values(self, record: KafkaRecord) -> Sequence[Any] | None:
        """The tuple of a message; the same each time. None: it is of no use. If it raises, the message has failed."""
        return (record.topic, record.partition, record.offset, record.key, record.value)
