"""What the benchmark of submissions makes of what `pasps submit` says."""

from __future__ import annotations

import pytest

pytest.importorskip("psutil")

from benchmarks.submit import Submitted, steps_of, table


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("  0.1 s  packed words.py and what it needs: 1 file, 1 KB", ["packed"]),
        ("submitted words", ["submitted"]),
        ("starting", ["the driver speaks"]),
        ("  1.1 s  starting: 0 of 2 executors of Spark are there, 0 of 4 workers have come", ["Spark has its application"]),
        (
            " 12.0 s  starting: 2 of 2 executors of Spark are there, 1 of 4 workers have come",
            ["Spark has its application", "its executors are there"],
        ),
        ("  4.0 s  starting: all 4 workers have come, make their components, and connect to each other", ["all workers have come"]),
        ("  4.2 s  words-2 is running; watch it with `pasps top words-2`", ["it runs"]),
        ("waiting: 0 of 2 workers have a place", []),
    ],
)
def test_a_line_says_what_is_done_with_seconds_or_without(line: str, steps: list[str]) -> None:
    assert steps_of(line) == steps


def test_two_trees_stand_beside_each_other_with_what_this_one_takes_of_the_other() -> None:
    done = [Submitted("/old", {"it runs": seconds}, 8.0) for seconds in (9.0, 8.0, 10.0)]
    done += [Submitted("/here", {"packed": 0.2, "it runs": seconds}, 4.0) for seconds in (4.5, 4.0, 5.0)]
    lines = table(done, "/here").splitlines()
    assert lines[0] == "| until | beside it | this tree | of it |"
    assert lines[2] == "| packed | not said | 0.20 s [0.20-0.20] |  |"
    assert lines[-2:] == [
        "| it runs | 9.00 s [8.00-10.00] | 4.50 s [4.00-5.00] | 0.50 |",
        "| processor time | 8.00 s [8.00-8.00] | 4.00 s [4.00-4.00] | 0.50 |",
    ]
