"""How often a worker may die, and what is said of one that cannot live."""

from __future__ import annotations

from pasps.daemons.lives import MOST_DEATHS, MOST_KILLS, WINDOW_SECONDS, Lives
from pasps.testing import FakeClock

CAUSE = "its process ended with status 7"


def test_it_is_waited_for_longer_each_time_that_it_dies_in_a_minute_but_not_without_end() -> None:
    lives = Lives(FakeClock())
    pauses = [lives.died("w0", CAUSE, 1.0, by_itself=True) for _ in range(20)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.1
    assert 5 < pauses[-1] <= 10
    assert lives.died("w1", CAUSE, 1.0, by_itself=True) == pauses[0], "another worker has no part in it"


def test_deaths_of_more_than_a_minute_ago_are_forgotten() -> None:
    clock = FakeClock()
    lives = Lives(clock)
    first = lives.died("w0", CAUSE, 100.0, by_itself=True)
    for _ in range(20):
        clock.advance(WINDOW_SECONDS + 1)
        assert lives.died("w0", CAUSE, WINDOW_SECONDS, by_itself=True) == first
    assert lives.crash_loops({}) == []


def test_one_that_dies_of_its_own_accord_again_and_again_cannot_live() -> None:
    lives = Lives(FakeClock())
    for _ in range(MOST_DEATHS - 1):
        lives.died("w0", CAUSE, 0.5, by_itself=True)
    assert lives.crash_loops({}) == []
    lives.died("w0", CAUSE, 0.5, by_itself=True)
    (loop,) = lives.crash_loops({})
    assert (loop.worker, loop.deaths, loop.cause) == ("w0", MOST_DEATHS, CAUSE)
    assert str(loop).startswith(f"worker w0 cannot live: it died {MOST_DEATHS} times within a minute, the last time because {CAUSE}; ")


def test_one_that_somebody_kills_may_be_killed_more_often() -> None:
    lives = Lives(FakeClock())
    for _ in range(MOST_KILLS - 1):
        lives.died("w0", "SIGKILL", 0.5, by_itself=False)
    assert lives.crash_loops({}) == []
    lives.died("w0", "SIGKILL", 0.5, by_itself=False)
    assert len(lives.crash_loops({})) == 1


def test_one_that_has_lived_for_a_minute_is_well_again() -> None:
    clock = FakeClock()
    lives = Lives(clock)
    for _ in range(MOST_DEATHS):
        lives.died("w0", CAUSE, 0.5, by_itself=True)
    assert lives.crash_loops({"w0": WINDOW_SECONDS - 1})
    assert lives.crash_loops({"w1": 2 * WINDOW_SECONDS})
    assert lives.crash_loops({"w0": WINDOW_SECONDS}) == []
    assert lives.crash_loops({}) == []
