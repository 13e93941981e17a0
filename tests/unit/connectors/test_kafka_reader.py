"""The member of a consumer group, step by step: a client without brokers, a clock that stands still, no thread."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from threading import Event as Flag
from typing import cast

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

from tests.unit.connectors.kafka_consumer import KEY, OTHER, Error, Message, Run

STABLE = ConsumerGroupState.STABLE


def test_messages_are_read_ahead_and_taken_in_order() -> None:
    run = Run()
    run.client.assign(KEY, OTHER)
    run.client.give(KEY, 4, 5)
    run.client.give(OTHER, 9)
    run.read()
    assert run.client.topics == ["orders"]
    assert (run.take(2), run.take(2), run.take(2)) == ([4, 5], [9], [])
    run.client.give(KEY, 6)
    run.read()
    assert run.take() == [6]
    record = run.events[0].record
    assert (record.key, record.value, record.headers) == (b"key", b"value", (("trace", b"1"),))
    assert run.events[0].due == record.seconds == 1_700_000_000.5


def test_of_large_messages_as_many_are_read_as_fit() -> None:
    run = Run()
    run.client.assign(KEY)
    large = b"x" * (1 << 20)
    run.client.events.extend(Message(KEY, offset, data=large) for offset in range(100))
    run.read(20)
    assert len(run.client.events) == 84
    assert run.take(4, 3 << 20) == [0, 1, 2]
    assert run.take(4, 0) == []
    run.read(20)
    assert len(run.client.events) == 81


def test_a_message_without_a_time_is_due_when_nobody_knows() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, 4)
    run.client.events[-1] = replace(run.client.events[-1], stamp=(0, -1))
    run.read()
    assert (run.take(), run.events[0].due) == ([4], None)


def test_a_message_whose_headers_cannot_be_read_is_an_event_and_those_after_it_come() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, 4, 5, 6)
    error = SystemError("returned a result with an exception set")
    error.__cause__ = UnicodeDecodeError("utf-8", b"caf\xe9", 3, 4, "unexpected end of data")
    run.client.events[-2] = replace(run.client.events[-2], bad_headers=error)
    run.read()
    assert run.take() == [4, 5, 6]
    assert [event.trouble[:21] for event in run.events] == ["", "its headers: 'utf-8' ", ""]
    assert (run.events[1].record.value, run.events[1].record.headers) == (b"value", ())
    for event in run.events:
        run.reader.done(event)
    run.clock.advance(1.0)
    run.read()
    assert run.client.commits == [{KEY: 7}]


def test_a_message_that_was_polled_is_kept_though_the_client_raises_then() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, 4, 5)
    run.client.breaks = KafkaException(KafkaError(KafkaError.UNKNOWN, "not now"))
    with pytest.raises(KafkaException):
        run.read()
    run.client.breaks = None
    run.read()
    assert run.take() == [4, 5]


def test_offsets_are_committed_once_a_second_up_to_the_first_that_is_not_done() -> None:
    run = Run()
    run.given(4, 5, 6)
    run.reader.done(run.events[0])
    run.reader.done(run.events[2])
    run.read()
    assert run.client.commits == []
    run.clock.advance(1.0)
    run.read(2)
    assert run.client.commits == [{KEY: 5}]


def test_one_commit_is_under_way_at_a_time() -> None:
    run = Run()
    run.given(4, 5)
    run.clock.advance(1.0)
    run.read()
    run.reader.done(run.events[0])
    run.clock.advance(1.0)
    run.read()
    assert run.client.commits == [{KEY: 4}]
    run.client.answer({KEY: 4})
    run.read(2)
    assert run.client.commits == [{KEY: 4}, {KEY: 5}]


def test_a_commit_that_fails_is_told_and_tried_again() -> None:
    run = Run()
    run.given(4)
    run.clock.advance(1.0)
    run.read()
    run.client.answer({KEY: 4}, Error("GROUP_AUTHORIZATION_FAILED", "no"))
    run.clock.advance(1.0)
    run.read(2)
    assert run.client.commits == [{KEY: 4}, {KEY: 4}]
    assert run.reader.news() == [
        "Kafka: no; the user needs READ on the group, or another 'kafka.group'; offset 4 of ('orders', 0) is not committed, and tried again"
    ]


def test_a_commit_that_came_too_late_is_nothing_to_tell() -> None:
    run = Run()
    run.given(4)
    run.clock.advance(1.0)
    run.read()
    run.client.answer({KEY: 4}, Error("ILLEGAL_GENERATION"))
    run.read()
    assert run.reader.news() == []


def test_a_commit_that_the_client_refuses_is_told() -> None:
    run = Run()
    run.given(4)
    run.client.refuses = KafkaException(KafkaError(KafkaError.UNKNOWN, "not now"))
    run.clock.advance(1.0)
    run.read()
    assert run.reader.news() == ["Kafka: not now"]


def test_before_partitions_go_what_is_done_is_committed_and_the_rest_forgotten() -> None:
    run = Run()
    run.given(4, 5, 6)
    run.client.give(KEY, 7)
    run.client.assign(OTHER)
    run.read(2)
    run.reader.done(run.events[0])
    run.client.revoke(KEY)
    run.read()
    assert run.client.commits == [{KEY: 5}]
    assert [run.reader.owns(event) for event in run.events] == [False] * 3
    assert run.take() == [], "what was read ahead of it is not given out, and of the other nothing has come"
    run.client.give(OTHER, 1)
    run.client.give(KEY, 8)
    run.read()
    assert run.take() == [1]


def test_of_partitions_that_are_lost_nothing_is_committed() -> None:
    run = Run()
    run.given(4)
    run.reader.done(run.events[0])
    run.client.revoke(KEY, lost=True)
    run.read()
    assert (run.client.commits, run.reader.backlog()) == ([], None)


def test_a_late_ack_of_a_partition_that_came_back_changes_nothing() -> None:
    run = Run()
    run.given(4, 5)
    old = run.events[0]
    run.client.revoke(KEY)
    run.client.assign(KEY)
    run.client.give(KEY, 4)
    run.read()
    assert run.take() == [4]
    run.reader.done(old)
    run.client.commits.clear()
    run.clock.advance(1.0)
    run.read()
    assert run.client.commits == [{KEY: 4}]


def test_the_backlog_is_what_is_not_taken() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, 4, 5)
    run.read()
    assert run.reader.backlog() is None
    run.client.ends[KEY] = 14
    run.clock.advance(0.5)
    run.read()
    assert run.reader.backlog() == 10
    run.take(1)
    assert run.reader.backlog() == 9


def test_the_end_of_a_partition_is_reached_when_all_before_it_is_taken() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.give(KEY, 4)
    run.client.at_end(KEY, 7)
    run.read()
    run.client.ends[KEY] = 7
    run.clock.advance(0.5)
    run.read()
    assert (run.reader.backlog(), run.take(), run.reader.backlog()) == (3, [4], 0)


def test_an_empty_partition_has_no_backlog_and_its_beginning_is_committed() -> None:
    run = Run()
    run.client.assign(KEY)
    run.client.at_end(KEY, 30)
    run.read()
    assert (run.take(), run.reader.backlog()) == ([], 0)
    run.clock.advance(1.0)
    run.read()
    assert run.client.commits == [{KEY: 30}]


def test_messages_that_failed_for_good_are_left_out_without_a_topic_for_them() -> None:
    run = Run(**{"kafka.tries": 2})
    run.given(4)
    assert run.reader.set_aside(run.events[0], "failed 2 times") == "it is left out; with 'kafka.dead.topic' it would be kept"
    run.clock.advance(1.0)
    run.read()
    assert run.client.commits == [{KEY: 5}]


def test_errors_are_told() -> None:
    run = Run()
    run.client.events.append(lambda: run.client.on_error(Error("_TRANSPORT", "one:9092: refused")))
    run.client.events.append(lambda: run.client.on_error(Error("_ALL_BROKERS_DOWN", "2/2 brokers are down")))
    run.read()
    told = "Kafka: none of the brokers 'one:9092,two:9092' can be reached: one:9092: refused; it is tried again"
    assert run.reader.news() == [told]


def test_at_the_end_what_is_done_is_committed_and_the_group_left() -> None:
    run = Run()
    run.given(4, 5)
    for event in run.events:
        run.reader.done(event)
    run.reader.end()
    assert run.client.commits[0] == {KEY: 6}
    assert run.client.closed
    assert not run.reader.owns(run.events[0])


def test_at_the_end_a_commit_that_met_a_rebalance_is_sent_again() -> None:
    run = Run()
    run.given(4, 5)
    run.reader.done(run.events[0])
    run.client.verdicts.extend([Error("REBALANCE_IN_PROGRESS"), Error("ILLEGAL_GENERATION"), None])
    run.reader.end()
    assert run.client.commits == [{KEY: 5}] * 3
    assert run.client.closed
    assert run.reader.news() == []


def test_at_the_end_it_stays_for_members_that_the_group_waits_for() -> None:
    run = Run()
    run.admin.states = deque([ConsumerGroupState.PREPARING_REBALANCING] * 3 + [ConsumerGroupState.COMPLETING_REBALANCING, STABLE])
    run.reader.end()
    assert run.admin.questions == 5
    assert run.client.polls >= 5, "it answers the group meanwhile"
    assert run.client.closed


def test_it_does_not_stay_for_ever() -> None:
    run = Run()
    run.admin.states = deque([ConsumerGroupState.PREPARING_REBALANCING])
    before = run.clock.now()
    run.reader.end()
    assert run.client.closed
    assert run.clock.now() - before == pytest.approx(3.5, abs=0.1)


@pytest.mark.parametrize("silent", [True, False])
def test_who_is_not_told_what_the_group_does_leaves(silent: bool) -> None:
    run = Run()
    run.admin.silent, run.admin.states = silent, deque([None])
    before = run.clock.now()
    run.reader.end()
    assert run.client.closed
    assert run.clock.now() - before <= 1.1


def test_in_the_new_protocol_nobody_waits_for_others() -> None:
    run = Run(**{"consumer__group.protocol": "consumer"})
    run.reader.end()
    assert (run.admin.questions, run.client.closed) == (0, True)


def test_what_could_not_be_committed_at_the_end_is_told(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    run.client.assign(KEY, OTHER)
    run.client.give(KEY, 4, 5, 6)
    run.client.give(OTHER, 9)
    run.read()
    run.take()
    for event in run.events:
        if event.record.offset != 6:
            run.reader.done(event)
    run.client.answer({KEY: 5})
    run.read()
    run.reader.end()
    told = "Kafka: what is done could not be committed, and comes again at the next start: orders[0] 5 to 5, orders[1] 9 to 9"
    assert run.reader.news() == [told]
    assert told in caplog.text
    assert run.client.closed


def test_a_right_that_is_missing_is_not_asked_for_again_at_the_end() -> None:
    run = Run()
    run.given(4)
    run.reader.done(run.events[0])
    run.client.verdicts.append(Error("GROUP_AUTHORIZATION_FAILED", "no"))
    run.reader.end()
    assert run.client.commits[0] == {KEY: 5}
    assert [problem[:40] for problem in run.reader.news()] == [
        "Kafka: no; the user needs READ on the gr",
        "Kafka: what is done could not be committ",
    ]


def test_before_the_group_is_joined_again_what_stays_is_committed_too() -> None:
    run = Run()
    run.client.assign(KEY, OTHER)
    run.client.give(KEY, 4)
    run.client.give(OTHER, 9)
    run.read()
    run.take()
    for event in run.events:
        run.reader.done(event)
    run.client.revoke(KEY)
    run.read()
    assert run.client.commits[-1] == {KEY: 5, OTHER: 10}


def test_a_commit_of_partitions_that_went_is_told_when_it_fails() -> None:
    run = Run()
    run.given(4)
    run.reader.done(run.events[0])
    run.client.revoke(KEY)
    run.client.answer({KEY: 5}, Error("ILLEGAL_GENERATION", "too late"))
    run.read()
    assert run.reader.news() == ["Kafka: too late; offset 5 of ('orders', 0) is not committed: what is done before it comes again"]


def test_of_partitions_that_are_lost_what_was_done_and_not_committed_is_told() -> None:
    run = Run()
    run.given(4, 5)
    run.reader.done(run.events[0])
    run.client.revoke(KEY, lost=True)
    run.read()
    told = "Kafka: what is done could not be committed, and comes again, since the group has given the partitions away: orders[0] 4 to 4"
    assert run.reader.news() == [told]


class Never:
    """A flag that is not set, and no time passes until that is known."""

    def is_set(self) -> bool:
        return False

    def wait(self, seconds: float) -> bool:
        return False


def test_a_client_that_gave_up_is_replaced() -> None:
    run = Run()
    run.reader.over = cast("Flag", Never())
    run.given(4)
    run.client.events.append(lambda: run.client.on_error(Error("FENCED_INSTANCE_ID", "fenced", deadly=True)))
    run.read()
    assert run.reader.news()[0].startswith("Kafka: fenced; a task of the same name reads too")
    run.read()
    assert (run.client.closed, run.reader.owns(run.events[0]), run.client.connected) == (True, False, 2)
    run.given(4)
    assert [event.record.offset for event in run.events] == [4]
