from __future__ import annotations

import pickle

from topologies.recent import Recent


def test_an_event_that_comes_again_gets_the_answer_of_the_first_time() -> None:
    recent: Recent[str] = Recent(3)
    assert recent.get(7) is None
    assert recent.keep(7, "first") == "first"
    assert recent.get(7) == "first"


def test_only_the_last_are_remembered() -> None:
    recent: Recent[int] = Recent(3)
    for event in (5, 1, 9, 4):
        recent.keep(event, event * 10)
    assert [recent.get(event) for event in (5, 1, 9, 4)] == [None, 10, 90, 40]


def test_it_moves_with_its_task() -> None:
    recent: Recent[int] = Recent(3)
    recent.keep(1, 10)
    moved = pickle.loads(pickle.dumps(recent))
    assert moved.get(1) == 10
