from __future__ import annotations

from pasps.data.build_totals import Bucket, Majority, densest


def test_one_bucket_is_the_span() -> None:
    assert densest([Bucket(7, 3, 70, 79)], 1) == Majority(70, 79, 3)


def test_what_is_far_from_most_is_left_out() -> None:
    buckets = [Bucket(0, 1, 0, 0), Bucket(100, 5, 1000, 1009), Bucket(101, 4, 1010, 1015), Bucket(900, 2, 9000, 9001)]
    assert densest(buckets, 2) == Majority(1000, 1015, 9)
    assert densest(list(reversed(buckets)), 1) == Majority(1000, 1009, 5)
    assert densest(buckets, 1000) == Majority(0, 9001, 12)


def test_of_several_the_latest_is_taken() -> None:
    assert densest([Bucket(-5, 2, -50, -41), Bucket(5, 2, 50, 59)], 3) == Majority(50, 59, 2)
