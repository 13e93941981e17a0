"""A Kafka cluster inside this process: librdkafka's mock brokers, on loopback, reached through its C interface (rdkafka_mock.h).

What it is not: it keeps no log on disk, and a member's fixed name (`group.instance.id`) brings it no partitions back.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import confluent_kafka

from tests.integration.kafka_tasks import SECONDS, Brokers

_HANDLE, _NUMBER, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
_CALLS: dict[str, tuple[Any, list[Any] | None]] = {
    "rd_kafka_conf_new": (_HANDLE, []),
    "rd_kafka_conf_set": (_NUMBER, [_HANDLE, _TEXT, _TEXT, _TEXT, ctypes.c_size_t]),
    "rd_kafka_new": (_HANDLE, [_NUMBER, _HANDLE, _TEXT, ctypes.c_size_t]),
    "rd_kafka_destroy": (None, [_HANDLE]),
    "rd_kafka_flush": (_NUMBER, [_HANDLE, _NUMBER]),
    "rd_kafka_producev": (_NUMBER, None),  # as many arguments as one likes
    "rd_kafka_mock_cluster_new": (_HANDLE, [_HANDLE, _NUMBER]),
    "rd_kafka_mock_cluster_destroy": (None, [_HANDLE]),
    "rd_kafka_mock_cluster_bootstraps": (_TEXT, [_HANDLE]),
    "rd_kafka_mock_topic_create": (_NUMBER, [_HANDLE, _TEXT, _NUMBER, _NUMBER]),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [_HANDLE, ctypes.c_int32]),
    "rd_kafka_mock_set_group_consumer_heartbeat_interval_ms": (None, [_HANDLE, _NUMBER]),
    "rd_kafka_mock_push_request_errors_array": (None, [_HANDLE, ctypes.c_int16, ctypes.c_size_t, _HANDLE]),
    "rd_kafka_mock_broker_set_down": (_NUMBER, [_HANDLE, ctypes.c_int32]),
    "rd_kafka_mock_broker_set_up": (_NUMBER, [_HANDLE, ctypes.c_int32]),
}
_PRODUCER = 0
_PRODUCE = 0
"""The number of that request."""
_END, _TOPIC, _VALUE, _HEADER = 0, 1, 4, 9
"""What follows in the arguments of rd_kafka_producev."""


@cache
def _library() -> ctypes.CDLL:
    """The librdkafka that confluent-kafka brings along, which is loaded already."""
    place = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    found = sorted(place.glob("librdkafka*"))
    assert found, f"these tests use the librdkafka of confluent-kafka's wheel for Linux, and there is none in {place}"
    library = ctypes.CDLL(str(found[0]))
    for name, (result, arguments) in _CALLS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class KafkaMock(Brokers):
    """One broker; topics with the partitions that are asked for. Its threads serve processes that run beside it too."""

    def __init__(self) -> None:
        self._library = _library()
        self._client = self._producer(b"log_level", b"0")
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        # it waits 3 s for more members otherwise, and members that are to be gone sooner break it
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 100)
        self._library.rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(self._cluster, 100)
        self.brokers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def close(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)

    def topic(self, name: str, partitions: int) -> None:
        assert self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1) == 0

    def down(self) -> None:
        """The broker closes its connections, and takes none."""
        self._library.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def up(self) -> None:
        self._library.rd_kafka_mock_broker_set_up(self._cluster, 1)

    def refuse_produce(self, *errors: int) -> None:
        """The next requests to append are answered so."""
        answers = (ctypes.c_int * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(self._cluster, _PRODUCE, len(errors), answers)

    def send_with_header(self, topic: str, name: bytes, value: bytes) -> None:
        """As producers in C, Go or Rust may: the header's name is any bytes."""
        producer = self._producer(b"bootstrap.servers", self.brokers.encode())
        where = (_TOPIC, _TEXT(topic.encode()), _VALUE, _TEXT(value), ctypes.c_size_t(len(value)))
        header = (_HEADER, _TEXT(name), _TEXT(b"v"), ctypes.c_ssize_t(1))
        assert self._library.rd_kafka_producev(_HANDLE(producer), *where, *header, _END) == 0
        assert self._library.rd_kafka_flush(producer, int(SECONDS * 1000)) == 0
        self._library.rd_kafka_destroy(producer)

    def _producer(self, name: bytes, value: bytes) -> Any:
        error = ctypes.create_string_buffer(512)
        conf = self._library.rd_kafka_conf_new()
        self._library.rd_kafka_conf_set(conf, name, value, error, len(error))
        producer = self._library.rd_kafka_new(_PRODUCER, conf, error, len(error))
        assert producer, error.value.decode()
        return producer
