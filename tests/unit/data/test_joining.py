"""Quiet rows that lead from one piece of traffic to the next."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.data.arrays import Floats, np
from pasps.data.compose import faded, limited
from pasps.data.stretches import rows_to_level, steepest

levels = st.floats(0, 10)
rows_of = st.lists(levels, min_size=1, max_size=30).map(np.array)


@given(rows_of, rows_of, st.data())
def test_a_fade_begins_as_one_and_ends_as_the_other(tail: Floats, lead: Floats, data: st.DataObject) -> None:
    rows = data.draw(st.integers(max(1, min(len(tail), len(lead))), len(tail) + len(lead)))
    found = faded(tail, lead, rows)
    assert len(found) == rows
    alone_before, alone_after = max(0, rows - len(lead)), max(0, rows - len(tail))
    assert found[:alone_before].tolist() == tail[:alone_before].tolist()
    assert found[rows - alone_after :].tolist() == lead[len(lead) - alone_after :].tolist()
    assert found.min() >= min(tail.min(), lead.min()) - 1e-9
    assert found.max() <= max(tail.max(), lead.max()) + 1e-9


def test_a_fade_goes_evenly() -> None:
    assert faded(np.full(3, 4.0), np.full(3, 0.0), 3).tolist() == [3.0, 2.0, 1.0]
    assert faded(np.array([1.0, 2.0, 9.0]), np.array([9.0, 7.0, 8.0]), 5).tolist() == [1.0, 2.0, 9.0, 7.0, 8.0]


@given(rows_of, levels, levels, st.floats(0.5, 5))
def test_no_step_is_larger_than_the_most(values: Floats, before: float, after: float, most: float) -> None:
    if abs(before - after) > most * (len(values) + 1):
        return  # there is no such way
    found = limited(values, before, after, most)
    assert steepest(np.concatenate(([before], found, [after]))) <= most + 1e-9


def test_what_is_smooth_stays_as_it_is() -> None:
    values = np.array([1.0, 1.5, 2.0])
    assert limited(values, 1.0, 2.0, 0.6).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("values", "rows"), [([1.0, 3.0, 1.0], 0), ([1.0, 3.0, 2.0], 1), ([4.0, 2.0, 1.0], 2), ([5.0], 0), ([2.0, 2.0], 0)]
)
def test_how_many_rows_lead_back_to_the_level(values: list[float], rows: int) -> None:
    assert rows_to_level(np.array(values)) == rows
