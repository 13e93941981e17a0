"""What of a partition may be committed, and how far it is behind."""

from __future__ import annotations

import random

from pasps.connectors.kafka_partitions import KafkaRecord, Partition, Partitions

KEY, OTHER = ("orders", 0), ("orders", 1)


def taken(key: tuple[str, int], *offsets: int) -> Partition:
    partition = Partition(key)
    for offset in offsets:
        partition.arrived(offset)
        partition.take(offset)
    return partition


def test_only_what_has_no_gap_before_it_may_be_committed() -> None:
    partition = taken(KEY, 5, 6, 7, 8)
    partition.done(6)
    partition.done(7)
    assert partition.low == 5
    partition.done(5)
    assert partition.low == 8
    partition.done(8)
    assert partition.low == 9


def test_done_in_any_order_it_is_the_first_open_offset() -> None:
    draw = random.Random(4)
    partition, left = taken(KEY, *range(200)), set(range(200))
    for offset in draw.sample(range(200), 200):
        partition.done(offset)
        left.discard(offset)
        assert partition.low == min(left, default=200)


def test_offsets_that_hold_no_message_are_passed() -> None:
    partition = taken(KEY, 3, 10, 11)
    partition.done(3)
    assert partition.low == 10
    partition.done(10)
    partition.done(11)
    partition.reach(15)
    assert (partition.low, partition.lag) == (15, 0)


def test_nothing_is_known_before_the_first_message_or_the_end() -> None:
    partition = Partition(KEY)
    partition.met(100)
    assert (partition.low, partition.lag) == (None, None)
    partition.arrived(40)
    assert (partition.low, partition.lag) == (40, 60), "what waits is not taken"
    partition.arrived(41)
    assert partition.low == 40


def test_where_it_will_begin_counts_for_the_lag_and_is_not_committed() -> None:
    partition = Partition(KEY)
    partition.met(100)
    partition.begins = 70
    assert (partition.low, partition.lag) == (None, 30)


def test_a_truncated_partition_has_no_negative_lag() -> None:
    partition = taken(KEY, 99)
    partition.met(50)
    assert partition.lag == 0


def test_partitions_commit_what_is_new_and_where_they_begin() -> None:
    parts = Partitions()
    parts.assign([KEY, OTHER])
    assert parts.to_commit() == []
    parts.owned[KEY].arrived(7)
    assert parts.to_commit() == [(KEY, 7)]
    parts.committed(KEY, 7)
    assert parts.to_commit() == []
    parts.owned[KEY].take(7)
    parts.owned[KEY].done(7)
    assert parts.to_commit() == [(KEY, 8)]


def test_an_answer_for_a_partition_that_is_gone_is_dropped() -> None:
    parts = Partitions()
    parts.committed(KEY, 7)
    assert parts.owned == {}


def test_a_partition_that_comes_back_is_another_one() -> None:
    parts = Partitions()
    parts.assign([KEY])
    before = parts.owned[KEY]
    parts.revoke([KEY])
    parts.assign([KEY])
    assert (parts.owns(before), parts.owns(parts.owned[KEY])) == (False, True)


def test_the_backlog_is_known_when_all_have_told() -> None:
    parts = Partitions()
    assert parts.backlog() is None
    parts.assign([])
    assert parts.backlog() == 0, "a task more than there are partitions has nothing to do"
    parts.assign([KEY, OTHER])
    parts.owned[KEY].reach(5)
    assert parts.backlog() is None
    parts.owned[OTHER].arrived(2)
    parts.owned[OTHER].met(12)
    assert parts.backlog() == 10
    parts.revoke([KEY, OTHER])
    assert parts.backlog() is None, "until the group has said what comes instead"


def test_a_record_says_where_it_stands() -> None:
    assert str(KafkaRecord("orders", 3, 12, None, b"")) == "message 12 of orders[3]"
