"""What a Redis spout emits when nobody says otherwise."""

from __future__ import annotations

from pasps import Bolt, Topology
from pasps.connectors.redis_streams import RedisEntry, RedisStreamSpout
from pasps.testing import complete_topology


def test_the_tuple_of_an_entry_is_its_id_and_its_fields() -> None:
    entry = RedisEntry("orders", "17-0", {"item": b"tea"})
    assert RedisStreamSpout().values(entry) == ("17-0", {"item": b"tea"})


def test_a_topology_with_it_is_tested_with_lists() -> None:
    class Item(Bolt):
        outputs = ["item"]

        def process(self, tup):
            self.emit([tup.values.fields["item"].decode()])

    class Shop(Topology):
        orders = RedisStreamSpout.spec(par=2)
        item = Item.spec(inputs=[orders])

    assert complete_topology(Shop, {"orders": [["17-0", {"item": b"tea"}]]}).rows("item") == [("tea",)]
