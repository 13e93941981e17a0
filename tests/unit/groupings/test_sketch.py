"""The sketches: counts are never too low, seldom far too high, and the same in every process; and when two of them are alike."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.groupings import sketch
from pasps.groupings.keys import encode
from pasps.groupings.sketch import PRIME, Sketch, cells_by, change

EPSILON = DELTA = 0.05
ROWS, COLUMNS = 5, 55
keys = st.lists(st.one_of(st.integers(-5, 400), st.text(max_size=3)), min_size=1, max_size=400)


def filled(values: list[object]) -> Sketch:
    made, of = Sketch.empty(ROWS, COLUMNS), cells_by(ROWS)
    for value in values:
        made.add(of(COLUMNS, encode(value)), 1)
    return made


@given(keys)
@settings(max_examples=100, deadline=None)
def test_no_count_is_too_low_and_each_row_has_all(values: list[object]) -> None:
    made, of = filled(values), cells_by(ROWS)
    for value, count in Counter(map(encode, values)).items():
        assert made.count(of(COLUMNS, value)) >= count
    assert {sum(made.counts[row * COLUMNS : (row + 1) * COLUMNS]) for row in range(ROWS)} == {len(values)}


@given(keys, st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_of_all_hashes_that_may_be_drawn_few_make_a_count_much_too_high(values: list[object], seed: int) -> None:
    """P(count - true > epsilon (m - true)) <= delta, over the draws of the hashes, whatever the stream and the key."""
    random = Random(seed)
    counts = Counter(map(encode, values))
    key = random.choice(sorted(counts))
    others = len(values) - counts[key]
    draws, bad = 300, 0
    with pytest.MonkeyPatch.context() as patched:
        for draw in range(draws):
            patched.setattr(sketch, "_SEED", seed * draws + draw)
            of = cells_by.__wrapped__(ROWS)
            made = Sketch.empty(ROWS, COLUMNS)
            for encoded, count in counts.items():
                for cell in of(COLUMNS, encoded):
                    made.counts[cell] += count
            bad += made.count(of(COLUMNS, key)) - counts[key] > EPSILON * others
    assert bad <= DELTA * draws


def test_the_hash_is_the_same_everywhere() -> None:
    """As written down once: tasks and senders, in other processes and of other versions of Python, must agree."""
    of = cells_by(3)
    assert [of(55, encode(key)) for key in (0, 7, "word", ("a", 1))] == [(41, 99, 124), (49, 105, 123), (4, 63, 142), (45, 79, 137)]
    assert of(55, encode(1)) == of(55, encode(1.0)) == of(55, encode(True))


def test_whole_numbers_are_hashed_as_they_are_by_a_function_for_each_row() -> None:
    """|(a x + b) mod p| mod c, told from its values: what two neighbours differ by, mod p, is a."""
    of = cells_by(4)
    lines = [[of(PRIME, encode(x))[row] - row * PRIME for x in range(50)] for row in range(4)]
    for line in lines:
        assert len({(after - before) % PRIME for before, after in pairwise(line)}) == 1
    factors = [(line[1] - line[0]) % PRIME for line in lines]
    assert len(set(factors)) == 4
    assert of(55, encode(-3)) == tuple(
        row * 55 + (line[0] - 3 * a) % PRIME % 55 for row, (line, a) in enumerate(zip(lines, factors, strict=True))
    )


def test_a_mean_is_read_where_the_fewest_others_are() -> None:
    made = Sketch.empty(2, 4)
    made.add((0, 4), 100)  # the key, and one that shares its cell in the first row
    made.add((0, 5), 900)
    assert made.mean((0, 4)) == 100
    assert made.mean((0, 5)) == 900
    assert made.mean((1, 4)) == 500, "never seen: as of all"
    assert made.mean((1, 6)) == 500
    assert Sketch.empty(2, 4).mean((0, 4)) == 0


def test_the_change_of_means_is_eq_14_with_empty_cells_as_nothing() -> None:
    assert change([2.0, 0.0, 6.0], [1.0, 1.0, 6.0]) == pytest.approx((1 + 1 + 0) / 8)
    assert change([2.0, 6.0], [2.0, 6.0]) == 0
    assert change([0.0, 0.0], [0.0, 0.0]) == math.inf, "nothing was measured, so nothing is stable"
    assert change([0.0, 0.0], [1.0, 0.0]) == math.inf
