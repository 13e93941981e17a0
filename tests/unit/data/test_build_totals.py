"""What is said of a trace, from the counts of its records; which span most of them lie in; the files of keys."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.data.arrays import np
from pasps.data.build_request import BuildRequest
from pasps.data.build_totals import (
    Bucket,
    Group,
    KeySummary,
    Majority,
    densest,
    key_files,
    stretch_micros,
    summary,
    too_long,
    totals,
)
from pasps.data.record_formats import Records
from pasps.data.record_source import Kind
from pasps.data.steps import SECOND
from pasps.errors import InvalidError

FIRST = 1_709_164_799_500_000  # 2024-02-28T23:59:59.5Z
PLAIN = BuildRequest(Records(("x",), "hdfs"), "out")
KEYED = BuildRequest(Records(("x",), "hdfs", key="level"), "out", most_steps=1000, most_keys=2)
OTHERS = [Group(Kind.OUTSIDE, None, 3, 0, 9), Group(Kind.BLANK, None, 4, None, None), Group(Kind.UNREADABLE, None, 1, None, None)]


def of_key(key: str, records: int, first: int, last: int) -> Group:
    return Group(Kind.COUNTED, key, records, FIRST + first * SECOND, FIRST + last * SECOND)


def test_a_trace_goes_from_the_step_of_the_first_record_to_that_of_the_last() -> None:
    found = totals([Group(Kind.COUNTED, None, 6, FIRST, FIRST + 2 * SECOND), *OTHERS], PLAIN)
    assert (found.first, found.steps, found.rows, found.keys) == (FIRST - SECOND // 2, 3, 3, None)
    said = summary(found, np.array([2, 0, 4]), np.array([[2, 0, 4]]), PLAIN, "here")
    assert (said.records, said.counted, said.bad, said.outside, said.blank, said.headers) == (10, 6, {"time unreadable": 1}, 3, 4, 0)
    assert (said.first, said.last) == ("2024-02-28T23:59:59.500Z", "2024-02-29T00:00:01.500Z")
    assert (said.steps, said.peak, said.peak_time, said.mean, said.keys) == (3, 4, "2024-02-29T00:00:01Z", 2.0, None)


def test_the_peak_is_that_of_all_keys_together_and_the_first_of_several() -> None:
    found = totals([of_key("b", 4, 0, 2), of_key("a", 5, 1, 3)], KEYED)
    assert (found.keys, found.steps, found.rows) == (["a", "b"], 4, 8)
    counts = np.array([[0, 1, 2, 2], [2, 2, 0, 0]])
    said = summary(found, counts.sum(axis=0), counts, KEYED, "out")
    assert (said.peak, said.peak_time, said.counted) == (3, "2024-02-29T00:00:00Z", 9)
    assert said.keys == {"a": KeySummary("a.csv", 5, 2), "b": KeySummary("b.csv", 4, 2)}
    assert list(said.keys) == ["a", "b"]


@pytest.mark.parametrize(("request_of", "keys"), [(PLAIN, None), (KEYED, {})])
def test_of_nothing_there_is_nothing_to_say(request_of: BuildRequest, keys: object) -> None:
    none = np.zeros((1, 0), np.int64)
    said = summary(totals(OTHERS, request_of), none[0], none, request_of, "out")
    assert (said.records, said.counted, said.steps, said.peak, said.peak_time, said.first, said.mean) == (4, 0, 0, 0, None, None, 0.0)
    assert said.keys == keys


def test_too_many_keys_are_refused_and_too_many_rows_with_what_would_be_kept() -> None:
    with pytest.raises(InvalidError, match=r"key 'level': there are more than 2 keys, such as 'a', 'b', 'c'; give a key with fewer"):
        totals([of_key(key, 1, 0, 0) for key in "cba"], KEYED)
    found = totals([of_key("a", 9, 0, 1), of_key("b", 1, 600, 600)], KEYED)
    assert found.rows == 1202
    assert stretch_micros(found, KEYED) == 5 * SECOND
    near = Bucket(7, 9, FIRST, FIRST + SECOND)
    said = str(too_long(found, [Bucket(707, 1, FIRST + 600 * SECOND, FIRST + 600 * SECOND), near], KEYED))
    assert "make 1,202 steps of 1s for each of 2 keys, more than the 1,000 of --most-steps; 9 of the 10 are kept with" in said
    assert "--from 2024-02-28T23:59:59Z --until 2024-02-29T00:00:01Z;" in said


def test_one_bucket_is_the_span() -> None:
    assert densest([Bucket(7, 3, 70, 79)], 1) == Majority(70, 79, 3)


def test_what_is_far_from_most_is_left_out() -> None:
    buckets = [Bucket(0, 1, 0, 0), Bucket(100, 5, 1000, 1009), Bucket(101, 4, 1010, 1015), Bucket(900, 2, 9000, 9001)]
    assert densest(buckets, 2) == Majority(1000, 1015, 9)
    assert densest(list(reversed(buckets)), 1) == Majority(1000, 1009, 5)
    assert densest(buckets, 1000) == Majority(0, 9001, 12)


def test_of_several_the_latest_is_taken() -> None:
    assert densest([Bucket(-5, 2, -50, -41), Bucket(5, 2, 50, 59)], 3) == Majority(50, 59, 2)


@given(st.sets(st.text(max_size=200)))
def test_each_key_has_a_file_of_its_own_on_every_file_system(keys: set[str]) -> None:
    files = key_files(keys)
    assert set(files) == keys
    assert len({file.casefold() for file in files.values()}) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*\.csv", file) and len(file) < 120 for file in files.values())


def test_a_plain_key_is_its_file() -> None:
    files = key_files(["INFO", "dfs.DataNode", "info", "a/b", ""])
    assert (files["INFO"], files["dfs.DataNode"]) == ("INFO.csv", "dfs.DataNode.csv")
    assert re.fullmatch(r"info-[0-9a-f]{8}\.csv", files["info"])
    assert re.fullmatch(r"a_b-[0-9a-f]{8}\.csv", files["a/b"])
    assert re.fullmatch(r"none-[0-9a-f]{8}\.csv", files[""])
