"""Joins pieces of traffic that were brought to the same level, with quiet rows between them that fade from one to the next. Pure."""

from __future__ import annotations

import math

from pasps.data.arrays import Floats, np


def steepest(values: Floats) -> float:
    """The largest change from one row to the next."""
    return float(np.abs(np.diff(values)).max()) if len(values) > 1 else 0.0


def rows_to_level(values: Floats) -> int:
    """Rows that a way from either end of this piece to the level 1 needs, if no step of it is larger than the largest of the piece."""
    away = max(abs(float(values[0]) - 1.0), abs(float(values[-1]) - 1.0))
    most = steepest(values)
    return math.ceil(away / most) if most else 0


def faded(tail: Floats, lead: Floats, rows: int) -> Floats:
    """So many rows that begin as `tail` and end as `lead`, and over all rows that both have go from one to the other."""
    from_tail, from_lead = min(len(tail), rows), min(len(lead), rows)
    both = from_tail + from_lead - rows
    weights = np.arange(1, both + 1) / (both + 1)
    begin, end = rows - from_lead, from_tail
    late = lead[len(lead) - from_lead :]
    middle = tail[begin:end] * (1.0 - weights) + late[:both] * weights
    return np.concatenate((tail[:begin], middle, late[both:]))


def limited(values: Floats, before: float, after: float, most: float) -> Floats:
    """The nearest rows, going from `before` to `after`, with no step larger than `most`; there are enough rows for that."""
    rows = values.tolist()
    last = before
    for place, value in enumerate(rows):
        rows[place] = last = min(max(value, last - most), last + most)
    last = after
    for place in reversed(range(len(rows))):
        rows[place] = last = min(max(rows[place], last - most), last + most)
    return np.array(rows)
