"""What the benchmark of Kafka reads out of its sinks' files, and the line that it makes of runs."""

from __future__ import annotations

import struct
from pathlib import Path

from benchmarks.kafka import _ENTRY, Result, Use, _at, _entries, _line


def test_the_files_of_all_sinks_are_read_in_the_order_of_time_without_a_last_line_that_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "1-4").write_bytes(struct.pack(_ENTRY, 2.0, 500, 0, 7, 0, 0) + b"half a li")
    (tmp_path / "2-5").write_bytes(struct.pack(_ENTRY, 1.0, 300, 9, 0, 0, 0) + struct.pack(_ENTRY, 3.0, 1, 0, 0, 1, 0))
    assert _entries(tmp_path) == [(1.0, 300, 9, 0, 0, 0), (2.0, 500, 0, 7, 0, 0), (3.0, 1, 0, 0, 1, 0)]


def test_what_was_used_by_a_moment_is_the_first_look_at_or_after_it() -> None:
    uses = [Use(at, at, at, round(at)) for at in (1.0, 2.0, 3.0)]
    assert [_at(uses, moment).at for moment in (0.5, 1.5, 2.0, 9.0)] == [1.0, 2.0, 2.0, 3.0]


def test_a_line_has_the_medians_of_its_runs() -> None:
    runs = [Result(seconds, 1000, 4, 0.01, 0.2, workers, 0.1, 900) for seconds, workers in ((4.0, 3.0), (5.0, 4.0), (2.0, 9.0))]
    assert _line("1", runs, 1000) == "| 1 | 250 | 4.00 | 0.10 | 0.20 | 900 | 250 | 0 | 0.01 s |"
