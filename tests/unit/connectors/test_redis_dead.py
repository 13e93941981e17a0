"""Entries that are given up, on their way to a stream of their own."""

from __future__ import annotations

from tests.unit.connectors.redis_stream import Run


def given_up(*numbers: int) -> Run:
    """These were read and failed for good."""
    run = Run(tries=2, dead__stream="dead")
    run.stream.add(*numbers)
    run.read()
    run.take()
    for event in run.events:
        assert run.reader.set_aside(event, "failed 2 times") == "it goes to the stream 'dead'"
    return run


def test_an_entry_that_failed_for_good_goes_to_its_stream_and_is_acked() -> None:
    run = given_up(1)
    run.stream.away = "away"
    run.read(1)
    assert (run.stream.dead, run.reader.parting()[0]) == ([], 1)
    run.stream.away = ""
    run.clock.advance(0.2)
    run.read(2)
    assert (run.stream.dead, run.stream.pending) == ([("dead:1-0", b"failed 2 times")], {})
    assert run.reader.parting() == (0, 0)


def test_what_the_stream_does_not_take_is_not_acked_and_everything_else_goes_on() -> None:
    run = given_up(1)
    run.stream.refuses = "WRONGTYPE"
    run.stream.add(2)
    run.read(2)
    assert run.take() == [2]
    run.finish()
    assert (list(run.stream.pending), run.reader.parting()[0], run.member.closed) == (["1-0"], 1, 0)
    assert run.reader.news() == ["WRONGTYPE; what is given up waits for the stream 'dead' (1 entries now), and is tried again"]


def test_what_waits_for_its_stream_shows_signs_of_life() -> None:
    run = given_up(1)
    run.stream.refuses = "WRONGTYPE"
    for _ in range(30):
        run.clock.advance(10.0)
        run.read(1)
    ((_, at),) = run.stream.pending.values()
    assert run.clock.now() - at < 60.0


def test_the_stream_is_tried_after_pauses_and_told_of_now_and_then() -> None:
    run = given_up(1, 2)
    run.stream.refuses = "NOPERM"
    for _ in range(1000):
        run.clock.advance(0.1)
        run.read(1)
    assert 15 <= run.member.refused <= 30, "at the end every five seconds"
    assert 3 <= len(run.reader.news()) <= 4
    run.stream.refuses = ""
    run.clock.advance(5.0)
    run.read(2)
    assert ([target for target, _ in run.stream.dead], run.stream.pending) == (["dead:1-0", "dead:2-0"], {})


def test_an_end_does_not_ack_what_is_not_there() -> None:
    run = given_up(1)
    run.stream.refuses = "WRONGTYPE"
    run.reader.end()
    assert list(run.stream.pending) == ["1-0"]
