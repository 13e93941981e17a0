"""What a Kafka spout emits when nobody says otherwise."""

from __future__ import annotations

from pasps import Bolt, Topology
from pasps.connectors.kafka import KafkaRecord, KafkaSpout
from pasps.testing import complete_topology


def test_the_tuple_of_a_message_has_where_it_stands_and_what_it_holds() -> None:
    record = KafkaRecord("orders", 3, 12, None, b"tea", 1.5)
    assert KafkaSpout().values(record) == ("orders", 3, 12, None, b"tea")


def test_a_topology_with_it_is_tested_with_lists() -> None:
    class Count(Bolt):
        outputs = ["size"]

        def process(self, tup):
            self.emit([len(tup.values.value)])

    class Shop(Topology):
        orders = KafkaSpout.spec(par=2)
        count = Count.spec(inputs=[orders])

    done = complete_topology(Shop, {"orders": [["orders", 0, 0, None, b"tea"], ["orders", 0, 1, b"k", b""]]})
    assert sorted(done.rows("count")) == [(0,), (3,)]
