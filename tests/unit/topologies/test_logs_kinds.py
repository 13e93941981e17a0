from __future__ import annotations

import pickle
from datetime import datetime, timedelta

import pytest

from pasps import EndOfInput, Grouping, Spout, Topology
from pasps.testing import complete_topology
from tests.unit.topologies.parts import FailsOnce
from topologies.logs.kinds import Kinds, Rates, session, severity
from topologies.logs.line_formats import Line
from topologies.logs.templates import Template

START = datetime(2024, 2, 29, 23, 50)


def told(rates: Rates, minute: int, count: int, origin: str = "a") -> list[str]:
    return [rates.add(origin, START + timedelta(minutes=minute, seconds=second * 60 / count)) for second in range(count)]


@pytest.mark.parametrize(
    ("level", "message", "expected"),
    [
        ("warn", "an exception", "warning"),
        ("fatal", "all is well", "error"),
        ("notice", "failed", "info"),
        ("trace", "", "debug"),
        ("", "Failed login", "warning"),
        ("", "java.io.IOException: Out of memory", "error"),
        ("", "the password is Wrong", "warning"),
        ("", "unfailing terrors", "info"),
        ("", "", "info"),
        ("odd", "error 5", "error"),
    ],
)
def test_severity_is_of_the_level_or_of_the_words(level: str, message: str, expected: str) -> None:
    assert severity(Line("other", None, level, "", message)) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Deleting blk_-12 on 10.0.0.1", "blk_-12"),
        ("attempt_2024_0017_m_000003_25: done", "attempt_2024_0017_m_000003_25"),
        ("task 1.0 in stage 2.0 (TID 17)", "TID 17"),
        ("left from 10.0.0.1 port 22", "10.0.0.1"),
        ("version 1.2.3.4.5", ""),
        ("", ""),
    ],
)
def test_the_session_is_what_lines_of_one_story_share(message: str, expected: str) -> None:
    assert session(message) == expected


def test_the_first_of_a_template_is_new_and_the_next_usual() -> None:
    rates = Rates()
    assert told(rates, 0, 3) == ["new", "usual", "usual"]
    assert told(rates, 0, 2, "b") == ["new", "usual"]


def test_far_more_lines_than_usual_are_a_burst_until_that_is_usual() -> None:
    rates = Rates()
    for minute in range(6):
        assert "burst" not in told(rates, minute, 20)
    kinds = told(rates, 6, 80)
    assert kinds.index("burst") > 30
    assert set(kinds[kinds.index("burst") :]) == {"burst"}
    assert set(told(rates, 7, 20)) == {"usual"}
    for minute in range(8, 20):
        told(rates, minute, 80)
    assert set(told(rates, 20, 80)) == {"usual"}


def test_after_a_silence_some_lines_are_no_burst_and_many_are() -> None:
    rates = Rates()
    told(rates, 0, 5)
    assert set(told(rates, 500, 8)) == {"usual"}
    assert "burst" in told(rates, 501, 60)


def test_a_little_late_is_counted_where_it_comes_and_much_earlier_is_learned_anew() -> None:
    rates = Rates()
    for minute in range(10):
        told(rates, minute, 20)
    assert rates.add("a", START + timedelta(minutes=7)) == "usual"
    assert set(told(rates, 0, 200)) == {"usual"}
    assert set(told(rates, 1, 200)) == {"usual"}


def test_lines_without_a_time_do_not_end_a_window() -> None:
    rates = Rates()
    assert [rates.add("a", None) for _ in range(50)] == ["new"] + ["usual"] * 49
    assert rates.add("a", START) == "usual"


def test_memory_is_bounded_and_moves() -> None:
    rates = Rates(most=3)
    for number in range(10):
        rates.add(str(number), START)
    assert len(rates) == 3
    moved = pickle.loads(pickle.dumps(rates))
    assert [moved.add(str(number), START) for number in (9, 8, 7, 1)] == ["usual", "usual", "usual", "new"]


class Given(Spout):
    outputs = ["event", "line", "template", "origin"]

    def next_tuple(self) -> float | None:
        raise EndOfInput  # a list takes its place


class Repeated(Topology):
    given = Given.spec()
    event = Kinds.spec(inputs={given: Grouping.fields("origin")}, pool=3)
    fails = FailsOnce.spec(inputs=[event])


def test_a_line_that_comes_again_is_of_the_kind_of_the_first_time_and_not_counted() -> None:
    rows = [
        [n, Line("other", START + timedelta(seconds=20 * n), "", "", "x"), Template("t", "x", f"o{n % 2}"), f"o{n % 2}"] for n in range(80)
    ]
    done = complete_topology(Repeated, {"given": rows}, replays=1)
    kinds: dict[int, set[str]] = {}
    for row in done.rows("event"):
        kinds.setdefault(row[0], set()).add(row[4])
    assert len(done.failed["given"]) == 80
    assert [kinds[event] for event in range(80)] == [{"new"}] * 2 + [{"usual"}] * 78
