from __future__ import annotations

import signal

import pytest

from pasps.cli.stop import EndNow, StopRequest, signals_blocked
from pasps.clock import Deadline
from pasps.testing import FakeClock


def test_before_it_runs_a_signal_ends_at_once() -> None:
    with pytest.raises(EndNow) as caught:
        StopRequest().on_signal(signal.SIGINT)
    assert caught.value.number == signal.SIGINT


def test_the_first_signal_asks_the_second_ends_the_third_does_nothing() -> None:
    stop = StopRequest()
    stop.be_gentle()
    stop.on_signal(signal.SIGTERM)
    assert stop.asked == signal.SIGTERM
    with pytest.raises(EndNow):
        stop.on_signal(signal.SIGINT)
    stop.on_signal(signal.SIGINT)


def test_the_same_signal_twice_in_an_instant_asks_once() -> None:
    clock = FakeClock()
    stop = StopRequest(clock)
    stop.be_gentle()
    for _ in range(3):
        stop.on_signal(signal.SIGTERM)
    clock.advance(0.3)
    with pytest.raises(EndNow):
        stop.on_signal(signal.SIGTERM)


def test_when_another_terminal_has_asked_the_first_signal_ends() -> None:
    stop = StopRequest()
    stop.be_gentle()
    stop.command(None)
    with pytest.raises(EndNow):
        stop.on_signal(signal.SIGINT)


def test_of_several_times_for_the_drain_the_shortest_counts() -> None:
    clock = FakeClock()
    stop = StopRequest(clock)
    long, short = Deadline(clock, 20.0), Deadline(clock, 5.0)
    stop.command(None)
    assert stop.commanded
    for deadline in (long, short, Deadline(clock, 9.0), None):
        stop.command(deadline)
    assert stop.drain_by(30.0) is short


def test_without_a_time_for_the_drain_it_has_its_own_from_when_it_begins_and_may_be_shortened() -> None:
    clock = FakeClock()
    stop = StopRequest(clock)
    stop.command(None)
    clock.advance(3.0)
    own = stop.drain_by(30.0)
    clock.advance(1.0)
    assert (stop.drain_by(30.0), own.remaining()) == (own, 29.0)
    stop.command(Deadline(clock, 100.0))
    assert stop.drain_by(30.0) is own
    sooner = Deadline(clock, 2.0)
    stop.command(sooner)
    assert stop.drain_by(30.0) is sooner


def test_at_the_end_signals_do_nothing() -> None:
    stop = StopRequest()
    stop.ignore()
    stop.on_signal(signal.SIGINT)
    assert stop.asked is None


def test_handlers_and_mask_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with StopRequest() as stop, signals_blocked():
        assert signal.getsignal(signal.SIGINT) == stop.on_signal
        assert {signal.SIGINT, signal.SIGTERM} <= signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.getsignal(signal.SIGINT) == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
