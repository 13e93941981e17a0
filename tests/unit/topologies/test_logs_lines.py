from __future__ import annotations

import hashlib
from collections import Counter
from datetime import datetime

import pytest

from topologies.logs.line_formats import Line, read_line
from topologies.logs.synthetic_lines import LINES_A_MINUTE, TROUBLE_MINUTE, line

KNOWN = [
    (
        "240229 235959 17 WARN dfs.Replica$Writer: Slow write of blk_-12: 900 ms",
        Line("hdfs", datetime(2024, 2, 29, 23, 59, 59), "warn", "dfs.Replica$Writer", "Slow write of blk_-12: 900 ms"),
    ),
    (
        "24/02/29 00:00:00 INFO executor.Runner: Begin of task 1.0 (TID 7)",
        Line("spark", datetime(2024, 2, 29), "info", "executor.Runner", "Begin of task 1.0 (TID 7)"),
    ),
    (
        "Feb  9 07:31:29 node3 sshd[40123]: Login of ada: by key",
        Line("syslog", datetime(2000, 2, 9, 7, 31, 29), "", "sshd", "Login of ada: by key"),
    ),
    ("Nov 17 07:31:29 node3 CRON: run", Line("syslog", datetime(2000, 11, 17, 7, 31, 29), "", "CRON", "run")),
    (
        "[Tue May 16 21:05:09 2023] [error] [client 10.0.0.1] No such page",
        Line("apache", datetime(2023, 5, 16, 21, 5, 9), "error", "", "[client 10.0.0.1] No such page"),
    ),
    (
        "[Tue May 16 21:05:09.123456 2023] [core:notice] up",
        Line("apache", datetime(2023, 5, 16, 21, 5, 9), "notice", "core", "up"),
    ),
    ("991231 000000 1 INFO a.B: ", Line("hdfs", datetime(1999, 12, 31), "info", "a.B", "")),
]


@pytest.mark.parametrize(("text", "expected"), KNOWN)
def test_a_line_of_a_known_format_is_taken_apart(text: str, expected: Line) -> None:
    assert read_line(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "level"),
    [
        ("", None, ""),
        ("    at shop.Cart.total(Cart.java:12)", None, ""),
        ("2024-02-29T23:59:59Z WARN late", datetime(2024, 2, 29, 23, 59, 59), "warn"),
        ("2024-02-29 23:59:59,123 ERROR [main] no", datetime(2024, 2, 29, 23, 59, 59), "error"),
        ("2023-02-29T23:59:59 no such day", None, ""),
        ("240230 235959 17 WARN dfs.A: no such day", None, "warn"),
        ("Foo  9 07:31:29 node3 sshd[1]: no such month", None, ""),
        ("[Tue May 36 21:05:09 2023] [error] no such day", None, ""),
        ("an error in prose is no level", None, ""),
        ("\ufffd\ufffd caf\ufffd", None, ""),
    ],
)
def test_any_other_line_is_kept_whole(text: str, at: datetime | None, level: str) -> None:
    assert read_line(text) == Line("other", at, level, "", text)


def test_a_very_long_line_is_read() -> None:
    words = "x" * 10_000 + " [" * 10_000
    assert read_line(words).message == words
    assert read_line(f"240229 235959 17 INFO a.B: {words}").message == words


def test_the_year_of_syslog_may_be_said() -> None:
    assert read_line("Feb 28 07:31:29 node3 sshd[1]: x", 2023).at == datetime(2023, 2, 28, 7, 31, 29)
    assert read_line("Feb 29 07:31:29 node3 sshd[1]: x").at == datetime(2000, 2, 29, 7, 31, 29)
    assert read_line("Feb 29 07:31:29 node3 sshd[1]: x", 2023).source == "other"


def test_a_synthetic_line_is_the_same_in_every_process() -> None:
    lines = "\n".join(line(1, number) for number in range(0, 3000, 7))
    assert hashlib.sha256(lines.encode()).hexdigest()[:16] == "cc05ec66d6632b1f"
    assert line(2, 5) != line(1, 5)


def test_synthetic_lines_are_of_all_formats_and_of_none() -> None:
    sources = Counter(read_line(line(1, number)).source for number in range(2000))
    assert min(sources[name] for name in ("hdfs", "spark", "syslog", "apache")) > 350
    assert 10 < sources["other"] < 100


def test_in_a_minute_of_trouble_one_kind_of_line_is_frequent() -> None:
    def wrong_passwords(minute: int) -> int:
        return sum("Wrong password" in line(1, minute * LINES_A_MINUTE + number) for number in range(LINES_A_MINUTE))

    assert wrong_passwords(TROUBLE_MINUTE) > 2 * wrong_passwords(TROUBLE_MINUTE - 1)
