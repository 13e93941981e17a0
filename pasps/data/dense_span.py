"""Finds the span of time in which most records lie, to say which ones make a trace too long. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Bucket(NamedTuple):
    """Records of one stretch of time, all stretches being of one length: its number, how many, the first and last moment of them."""

    number: int
    records: int
    first: int
    last: int


class Span(NamedTuple):
    """From the first to the last of so many records."""

    first: int
    last: int
    records: int


def densest(buckets: Sequence[Bucket], most: int) -> Span:
    """The most records that lie in `most` stretches that follow each other; of several such, the latest.

    Args:
        buckets: At least one, in any order, none twice.
    """
    ordered = sorted(buckets)
    best, inside, oldest = Span(0, 0, 0), 0, 0
    for newest in ordered:
        inside += newest.records
        while newest.number - ordered[oldest].number >= most:
            inside -= ordered[oldest].records
            oldest += 1
        if inside >= best.records:
            best = Span(ordered[oldest].first, newest.last, inside)
    return best
