"""When what failed is due again."""

from __future__ import annotations

import pytest

from pasps.connectors.tries import Tries
from pasps.testing import FakeClock


def all_due(tries: Tries[str]) -> list[str]:
    found = []
    while (key := tries.due()) is not None:
        tries.take()
        found.append(key)
    return found


def test_the_first_time_is_at_once_and_then_pauses_double_up_to_five_seconds() -> None:
    clock = FakeClock()
    tries = Tries[str](clock, None)
    waits = []
    for _ in range(12):
        began = clock.now()
        assert tries.failed("a")
        while tries.due() is None:
            clock.advance(0.05)
        tries.take()
        waits.append(round(clock.now() - began, 2))
    assert waits == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0, 5.0], abs=0.06)


def test_what_is_due_stays_so_until_it_is_taken_the_oldest_first() -> None:
    tries = Tries[str](FakeClock(), None)
    for key in "abc":
        tries.failed(key)
    assert (tries.due(), tries.due(), len(tries)) == ("a", "a", 3)
    assert all_due(tries) == ["a", "b", "c"]
    assert len(tries) == 0


def test_after_so_many_failures_it_is_given_up_and_forgotten() -> None:
    tries = Tries[str](FakeClock(), 2)
    assert tries.failed("a")
    assert not tries.failed("a")
    assert all_due(tries) == ["a"]
    assert tries.failed("a"), "counted anew"


def test_what_is_done_begins_anew() -> None:
    tries = Tries[str](FakeClock(), 2)
    assert tries.failed("a")
    tries.forget("a")
    tries.forget("never there")
    assert tries.failed("a")
