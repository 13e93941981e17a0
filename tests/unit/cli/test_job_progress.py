from __future__ import annotations

import io

from pasps.cli.jobs.job_progress import ProgressLine
from pasps.testing import FakeClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_a_line_comes_now_and_then() -> None:
    clock, out = FakeClock(), io.StringIO()
    line = ProgressLine(out, clock)
    line.look(1, 2)
    line.begin("counting")
    for second in range(25):
        line.look(second, 1000)
        clock.advance(1.0)
    line.begin("writing")
    line.end()
    assert out.getvalue().splitlines() == [
        "counting",
        "counting, 10 of 1,000 tasks, 0:00:10",
        "counting, 20 of 1,000 tasks, 0:00:20",
        "writing",
    ]


def test_a_terminal_has_one_line_that_is_written_over_and_cleared() -> None:
    clock, out = FakeClock(), Terminal()
    line = ProgressLine(out, clock)
    line.begin("counting")
    clock.advance(1.0)
    line.look(0, 0)
    line.end()
    shown = out.getvalue().split("\r")
    assert [text.strip() for text in shown if text] == ["counting", "counting, 0:00:01", ""]
    assert {len(text) for text in shown if text} == {79}


def test_quiet_says_nothing() -> None:
    out = Terminal()
    line = ProgressLine(out, FakeClock(), quiet=True)
    line.begin("counting")
    line.look(1, 2)
    line.end()
    assert out.getvalue() == ""
