"""What a run leaves, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from benchmarks.elasticity.id_counts import count_ids, read_ids
from benchmarks.elasticity.one_run import Ending
from benchmarks.elasticity.outcomes import (
    RESULT_NAME,
    Numbers,
    Result,
    finished,
    lost_of,
    mean_numbers,
    numbers_of,
    problem_of,
    read_result,
    write_result,
)
from pasps.control import run_log
from pasps.control.run_log import BoltSample, Sample
from pasps.errors import InvalidError
from pasps.metrics import Histogram

NUMBERS = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, 0.1, None, 0, 0, 0, 10, 12, 900.0, 0.4)
RESULT = Result("presps", "presps", {"rows": 600, "options": {"a": "1"}}, {"cores": 2}, "2026-01-01", 600.0, 0, NUMBERS)


def sample(uptime: float, due: int, acked: int) -> Sample:
    latency = Histogram()
    latency.add(0.1, acked)
    bolt = BoltSample(4, 0, 8, 0, acked, acked * 0.02)
    bolts = {"first": bolt, "last": bolt}
    return Sample(uptime, 0.0, True, 1, due, due, 0, acked, 0, due - acked, 0, bolts, latency=latency.buckets, latency_total=latency.total)


def leave_run(directory: Path, samples: list[Sample], ids: list[int]) -> tuple[Path, Path]:
    run, counts = directory / "run", directory / "ids"
    run.mkdir()
    counts.mkdir()
    (run / "metrics.jsonl").write_bytes(b"".join(run_log.written(one) + b"\n" for one in samples))
    (counts / "0-1.ids").write_bytes(b"".join(number.to_bytes(8, "little") for number in ids))
    return run, counts


def test_each_id_counts_once_and_what_comes_again_is_told() -> None:
    counts = count_ids([3, 0, 3, 1, 3, 9, -1], 5)
    assert (counts.seen, counts.again, counts.unknown, counts.missing) == (3, 2, 2, 2)


def test_the_ids_of_all_writers_are_read_and_half_a_number_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "0-1.ids").write_bytes((7).to_bytes(8, "little") + b"\x01\x02")
    (tmp_path / "1-2.ids").write_bytes((8).to_bytes(8, "little"))
    assert sorted(read_ids(tmp_path)) == [7, 8]


def test_lost_is_what_was_acked_and_never_came_but_not_what_is_under_way() -> None:
    assert lost_of(sample(9, due=10, acked=7), count_ids(range(7), 10)) == 0
    assert lost_of(sample(9, due=10, acked=7), count_ids(range(5), 10)) == 2
    assert lost_of(sample(9, due=10, acked=7), count_ids(range(8), 10)) == 0


def test_lost_of_what_nobody_tracks_is_what_was_emitted_and_neither_came_nor_waits() -> None:
    untracked = replace(sample(9, due=10, acked=0), emitted=9)
    assert lost_of(untracked, count_ids(range(7), 10), tracked=False) == 2
    waiting = replace(untracked, bolts={bolt: structs.replace(each, queued=2) for bolt, each in list(untracked.bolts.items())[:1]})
    assert lost_of(waiting, count_ids(range(7), 10), tracked=False) == 0


def test_a_run_that_lost_what_nobody_tracked_is_a_result() -> None:
    assert problem_of(Ending(5, 9, 0.5, 90, ""), "", tracked=False) == ""
    assert problem_of(Ending(1, 9, 0.5, 90, ""), "", tracked=False) == "exit code 1: "


def test_the_numbers_of_a_run_come_from_its_files(tmp_path: Path) -> None:
    samples = [sample(float(second), second * 10, second * 10 - 5) for second in range(1, 11)]
    run, ids = leave_run(tmp_path, samples, [*range(95), 3])
    found = numbers_of(run, ids, events=100, interval_seconds=5.0, cores_used=0.5)
    assert (found.saved, found.processed, found.events, found.lost, found.duplicated) == (0.5, 0.95, 100, 0, 1)
    assert found.mean == pytest.approx(0.1)
    assert found.input_error is None
    assert found.cores_used == 0.5


def test_a_run_without_samples_has_no_numbers(tmp_path: Path) -> None:
    run, ids = leave_run(tmp_path, [], [])
    with pytest.raises(InvalidError, match="no sample"):
        numbers_of(run, ids, 1, 5.0, 0.0)


@pytest.mark.parametrize(
    ("ending", "says"),
    [
        (Ending(0, 9, 0.5, 90, ""), ""),
        (Ending(4, 9, 0.5, 90, ""), ""),
        (Ending(5, 9, 0.5, 90, ""), "exit code 5: b | c | d"),
        (Ending(-9, 9, 0.5, 90, "did not end within 9 s"), "did not end within 9 s: b | c | d"),
    ],
)
def test_a_run_with_tuples_left_is_a_result_and_a_broken_one_is_none(ending: Ending, says: str) -> None:
    assert problem_of(ending, "a\nb\nc\nd\n") == says


def test_a_result_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    write_result(replace(RESULT, minutes=(0.1, 0.25)), tmp_path)
    assert read_result(tmp_path) == replace(RESULT, minutes=(0.1, 0.25))
    assert [path.name for path in tmp_path.iterdir()] == [RESULT_NAME]


def test_only_a_usable_result_of_the_same_parameters_counts(tmp_path: Path) -> None:
    assert finished(tmp_path, RESULT.parameters) is None
    write_result(RESULT, tmp_path)
    assert finished(tmp_path, RESULT.parameters) == RESULT
    assert finished(tmp_path, {**RESULT.parameters, "rows": 60}) is None
    write_result(replace(RESULT, numbers=None, problem="exit code 5"), tmp_path)
    assert finished(tmp_path, RESULT.parameters) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": "other/1"}', '{"schema": "pasps.elastic/1", "name": "x"}'])
def test_a_damaged_result_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / RESULT_NAME).write_text(text)
    assert read_result(tmp_path) is None


def test_the_mean_of_repeats_has_no_number_that_one_of_them_lacks() -> None:
    found = mean_numbers([NUMBERS, replace(NUMBERS, saved=0.6, input_error=None)])
    assert found.saved == pytest.approx(0.55)
    assert found.input_error is None
    assert found.events == 1000
