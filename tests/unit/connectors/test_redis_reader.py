"""The member of a Redis group, step by step: a stream in memory, a clock that stands still, no thread."""

from __future__ import annotations

from tests.unit.connectors.redis_stream import Run, Stream


def test_entries_are_read_ahead_and_taken_in_order() -> None:
    run = Run()
    run.stream.add(1, 2, 3)
    run.read()
    assert (run.take(2), run.take()) == ([1, 2], [3])
    assert (run.events[0].due, str(run.events[0].record)) == (0.003, "entry 3-0 of 'orders'")


def test_what_is_done_is_acked_together() -> None:
    run = Run()
    run.stream.add(1, 2, 3)
    run.read()
    run.take()
    for event in run.events[:2]:
        run.reader.done(event)
    assert run.member.acks == []
    run.read(1)
    assert run.member.acks == [["1-0", "2-0"]]
    assert list(run.stream.pending) == ["3-0"]


def test_many_acks_go_in_several_commands() -> None:
    run = Run()
    run.stream.add(*range(1, 2501))
    taken: list[int] = []
    while len(taken) < 2500:
        run.read(1)
        taken += run.take()
        for event in run.events:
            run.reader.done(event)
    run.read(1)
    assert run.stream.pending == {}
    assert max(map(len, run.member.acks)) <= 1000


def test_a_new_group_begins_at_the_beginning_or_at_the_end() -> None:
    for start, expected in (("earliest", [1, 2, 3]), ("latest", [3])):
        run = Run(start=start)
        run.stream.add(1, 2)
        run.read()
        run.stream.add(3)
        run.read()
        assert run.take() == expected


def test_a_fresh_instance_is_given_what_the_dead_one_had_not_acked() -> None:
    dead = Run()
    dead.stream.add(*range(1, 11))
    dead.read()
    dead.take()
    for event in dead.events[:4]:
        dead.reader.done(event)
    dead.read()
    dead.stream.add(11)
    fresh = Run(dead.stream)
    fresh.read(1)
    assert fresh.reader.backlog() == 7
    fresh.read()
    assert fresh.take() == [*range(5, 12)]
    fresh.finish()
    assert fresh.stream.pending == {}


def test_much_that_is_left_is_read_as_there_is_room() -> None:
    dead = Run()
    dead.stream.add(*range(1, 3001))
    taken: list[int] = []
    while len(taken) < 3000:
        dead.read(1)
        taken += dead.take()
    fresh = Run(dead.stream)
    fresh.read(2)
    assert fresh.reader.backlog() == 3000
    again: list[int] = []
    while len(again) < 3000:
        again += fresh.take()
        assert fresh.reader.backlog() == 3000 - len(again)
        fresh.read(2)
    assert again == [*range(1, 3001)]


def test_while_redis_is_away_it_is_tried_after_pauses_and_told_once() -> None:
    run = Run()
    run.stream.add(1)
    run.read()
    run.stream.away = "Redis at here: refused"
    run.read(1)
    assert (run.reader.backlog(), run.member.closed) == (None, 1)
    run.read(5)
    assert run.member.closed == 1, "it waits"
    for pause in (0.1, 0.2, 0.4, 0.8):
        run.clock.advance(pause)
        run.read(2)
    assert (run.member.closed, run.reader.news()) == (5, ["Redis at here: refused; it is tried again"])
    run.stream.away = ""
    run.stream.add(2)
    run.clock.advance(1.6)
    run.read()
    assert (run.take(), run.reader.backlog()) == ([1, 2], 0)


def test_an_outage_that_lasts_is_told_again_now_and_then() -> None:
    run = Run()
    run.stream.away = "Redis at here: refused"
    for _ in range(100):
        run.read(1)
        run.clock.advance(1.0)
    assert 3 <= len(run.reader.news()) <= 4


def test_acks_that_did_not_arrive_are_sent_again() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.read()
    run.take()
    run.stream.away = "refused"
    run.finish()
    assert list(run.stream.pending) == ["1-0", "2-0"]
    run.stream.away = ""
    run.clock.advance(0.2)
    run.read()
    assert (run.stream.pending, run.take()) == ({}, [])


def test_an_answer_that_was_lost_is_read_again() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.stream.answers_lost = 1
    run.read(3)
    assert run.take() == []
    run.clock.advance(0.2)
    run.read()
    assert run.take() == [1, 2]


def test_what_is_in_flight_is_not_given_out_twice() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.read()
    assert run.take() == [1, 2]
    run.stream.crash()
    run.stream.group = True  # as if it had kept what it had a second ago
    run.stream.add(3)
    run.read()
    assert run.take() == [3]


def test_a_group_that_is_gone_is_made_anew_after_what_was_seen() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.read()
    run.take()
    run.finish()
    run.stream.crash()
    run.stream.add(3)
    run.read()
    assert (run.take(), run.member.joined_at) == ([3], ["0-0", "2-0"])
    (problem,) = run.reader.news()
    assert "the group 'shop' of stream 'orders' was gone, and reads on after 2-0" in problem


def test_a_group_that_is_gone_is_made_anew_where_it_stood_though_nothing_was_seen() -> None:
    run = Run(start="latest")
    run.stream.add(1, 2)
    run.read()
    assert run.take() == []
    run.stream.crash()
    run.stream.add(3)
    run.read()
    assert (run.take(), run.member.joined_at) == ([3], ["$", "2-0"])
    (problem,) = run.reader.news()
    assert "was gone, and reads on after 2-0" in problem


def test_a_group_that_is_gone_is_made_anew_before_what_it_had_given_to_nobody() -> None:
    run = Run(start="latest")
    run.stream.add(1, 2, 3, 4)
    run.stream.group, run.stream.given = True, "2-0"
    run.read(1)
    assert run.take() == [], "it has joined, and not read yet"
    run.stream.crash()
    run.read()
    assert (run.take(), run.member.joined_at) == ([3, 4], ["$", "2-0"])


def test_a_stream_that_begins_anew_is_read_from_its_beginning() -> None:
    run = Run(start="latest")
    run.stream.add(1)
    run.read()
    run.stream.add(50)
    run.read()
    assert run.take() == [50]
    run.stream.crash()
    run.stream.entries.clear()
    run.stream.add(7)
    run.read()
    assert run.take() == [7]
    run.stream.crash()
    run.stream.add(8)
    run.read()
    assert run.take() == [8], "from then on that stream counts"


def test_the_lag_is_shared_among_the_tasks() -> None:
    stream = Run().stream
    runs = [Run(stream, index, 3) for index in range(3)]
    stream.add(*range(1, 5001))
    for _ in range(10):
        for run in runs:
            run.read(1)
    assert all(len(run.stream.pending) == 3000 for run in runs)
    assert sum(run.reader.backlog() or 0 for run in runs) == 5000
    assert len(runs[0].take()) == 1000
    runs[0].read(1)
    assert sum(run.reader.backlog() or 0 for run in runs) == 4000


def test_the_backlog_is_not_known_while_redis_does_not_know_the_lag() -> None:
    run = Run()
    assert run.reader.backlog() is None
    run.stream.knows_lag = False
    run.read()
    assert run.reader.backlog() is None
    run.stream.knows_lag = True
    run.clock.advance(0.5)
    run.read()
    assert run.reader.backlog() == 0


def test_an_entry_that_failed_for_good_is_left_out_without_a_stream_for_it() -> None:
    run = Run(tries=2)
    run.stream.add(1)
    run.read()
    run.take()
    assert run.reader.set_aside(run.events[0], "failed 2 times") == "it is left out; with 'redis.dead.stream' it would be kept"
    run.read(1)
    assert run.stream.pending == {}


def test_at_the_end_what_is_done_is_acked() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.read()
    run.take(1)
    run.reader.done(run.events[0])
    run.reader.end()
    assert (list(run.stream.pending), run.member.closed) == (["2-0"], 1)


def test_an_end_while_redis_is_away_is_an_end() -> None:
    run = Run()
    run.stream.add(1)
    run.read()
    run.take()
    run.reader.done(run.events[0])
    run.stream.away = "refused"
    run.reader.end()
    assert run.member.closed == 1


def test_a_group_that_vanishes_again_and_again_is_not_made_in_a_busy_loop() -> None:
    class Cursed(Stream):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, False if name == "group" else value)

    run = Run(Cursed(Run().clock))
    run.read(50)
    assert len(run.member.joined_at) <= 3


def test_last_acks_that_did_not_arrive_are_told() -> None:
    run = Run()
    run.stream.add(1, 2, 3)
    run.read()
    run.take()
    for event in run.events[:2]:
        run.reader.done(event)
    run.stream.away = "Redis at here: refused"
    run.reader.end()
    told = "Redis at here: refused; 2 entries of stream 'orders' that are done could not be acked, and come again at the next start"
    assert run.reader.news() == [told]


def test_acks_that_waited_for_redis_are_sent_at_the_end_when_it_is_back() -> None:
    run = Run()
    run.stream.add(1, 2)
    run.read()
    run.take()
    run.stream.away = "Redis at here: refused"
    run.read(1)
    for event in run.events:
        run.reader.done(event)
    run.reader.news()
    run.stream.away = ""
    run.reader.end()
    assert (run.stream.pending, run.reader.news()) == ({}, [])


def test_however_many_acks_there_are_at_the_end_all_are_sent() -> None:
    run = Run()
    run.stream.add(*range(1, 25_001))
    events = []
    while len(events) < 25_000:
        run.read(1)
        run.take()
        events += run.events
    for event in events:
        run.reader.done(event)
    run.reader.end()
    assert (run.stream.pending, run.reader.news()) == ({}, [])


def test_at_the_end_nothing_is_told_of_an_outage_that_costs_nothing() -> None:
    run = Run()
    run.stream.away = "Redis at here: refused"
    run.read(1)
    run.reader.news()
    run.reader.end()
    assert run.reader.news() == []
