"""How often a worker may die, and what is said of one that cannot live."""

from __future__ import annotations

import random

import pytest

from pasps.testing import FakeClock
from pasps.topology.lives import MOST_DEATHS, MOST_KILLS, PATIENCE_SECONDS, WINDOW_SECONDS, CrashLoop, Lives

CAUSE = "its process ended with status 7"
KILLED = "its process was ended by SIGKILL"
START_SECONDS = 0.4


def until_named(lives: Lives, clock: FakeClock, lived_seconds: float, *, by_itself: bool) -> tuple[CrashLoop, float]:
    """A worker that lives for so long each time; what is said of it in the end, and after how long."""
    begin = clock.now()
    while (loop := lives.crash_loop("w0")) is None:
        clock.advance(START_SECONDS + lived_seconds)
        clock.advance(lives.died("w0", KILLED, lived_seconds, by_itself=by_itself))
        assert clock.now() - begin < 10_000, "it is never named"
    return loop, clock.now() - begin


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


@pytest.mark.parametrize("lived_seconds", [2.0, 5.0, 10.0, 20.0, 40.0, 59.0])
@pytest.mark.parametrize("by_itself", [False, True])
def test_one_that_never_lives_for_a_minute_cannot_live_however_seldom_it_dies(lived_seconds: float, by_itself: bool) -> None:
    clock = FakeClock()
    lives = Lives(clock)
    loop, took = until_named(lives, clock, lived_seconds, by_itself=by_itself)
    assert took < max(1.2 * PATIENCE_SECONDS, (MOST_KILLS + 1) * (START_SECONDS + lived_seconds + 1))
    if not by_itself:
        assert took > PATIENCE_SECONDS
        assert loop.deaths >= MOST_KILLS
        text = str(loop)
        assert text.startswith(f"worker w0 cannot live: it died {loop.deaths} times within ")
        assert f" minutes, and lived for a minute at no time, the last time because {KILLED}; " in text


def test_a_minute_of_life_between_kills_makes_it_well() -> None:
    clock = FakeClock()
    lives = Lives(clock)
    for life in range(100):
        lived = WINDOW_SECONDS if life % (MOST_KILLS - 1) == 0 else 30.0
        clock.advance(lived)
        lives.died("w0", KILLED, lived, by_itself=False)
        assert lives.crash_loops({}) == []


def test_few_short_lives_in_a_long_time_are_no_crash_loop() -> None:
    clock = FakeClock()
    lives = Lives(clock)
    for _ in range(MOST_KILLS - 1):  # most of the time there was no room for it
        clock.advance(PATIENCE_SECONDS)
        lives.died("w0", KILLED, 2.0, by_itself=False)
    assert lives.crash_loops({}) == []


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("kills", "seconds"), [(51, 120.0), (60, 3600.0)])
def test_who_kills_workers_on_purpose_makes_no_crash_loop(seed: int, kills: int, seconds: float) -> None:
    clock, draw = FakeClock(), random.Random(seed)
    lives = Lives(clock)
    born = dict.fromkeys(("w0", "w1", "w2"), 0.0)
    for _ in range(kills):
        clock.advance(seconds / kills)
        alive = [worker for worker, at in born.items() if at <= clock.now()]
        if alive:
            victim = draw.choice(alive)
            pause = lives.died(victim, KILLED, clock.now() - born[victim], by_itself=False)
            born[victim] = clock.now() + pause + START_SECONDS
        assert lives.crash_loops({}) == []
