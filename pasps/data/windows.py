"""Averages and extremes of every window of a series, in time and memory of the series, whatever the window. Pure."""

from __future__ import annotations

from pasps.data.arrays import Floats, np


def moving_average(values: Floats, rows: int) -> Floats:
    """The average of `rows` values around each one; at the ends, of as many of them as there are."""
    rows = min(rows, len(values))
    if rows <= 1:
        return values
    before, after = (rows - 1) // 2, rows // 2
    # sums about the mean, so that a long series loses no digits
    mean = values.mean()
    sums = np.concatenate(([0.0], np.cumsum(values - mean)))
    inner = (sums[rows:] - sums[:-rows]) / rows
    at_start = sums[after + 1 : rows] / np.arange(after + 1, rows)
    at_end = (sums[-1] - sums[-rows : -before - 1]) / np.arange(rows - 1, before, -1)
    smooth: Floats = np.concatenate((at_start, inner, at_end)) + mean
    np.maximum(smooth, values.min(), out=smooth)
    return smooth


def binned(values: Floats, rows: int) -> Floats:
    """The average of each `rows` values; a rest at the end is left out."""
    if rows == 1:
        return values
    means: Floats = values[: len(values) // rows * rows].reshape(-1, rows).mean(axis=1)
    return means


def highest_before(values: Floats, rows: int) -> Floats:
    """The largest of each value and the `rows` values before it, by van Herk's two passes."""
    width = rows + 1
    padded = np.full(-(-(len(values) + rows) // width) * width, -np.inf)
    padded[rows : rows + len(values)] = values
    blocks = padded.reshape(-1, width)
    forward = np.maximum.accumulate(blocks, axis=1).ravel()
    backward = np.maximum.accumulate(blocks[:, ::-1], axis=1)[:, ::-1].ravel()
    highest: Floats = np.maximum(backward[: len(values)], forward[rows : rows + len(values)])
    return highest


def highest_after(values: Floats, rows: int) -> Floats:
    """The largest of each value and the `rows` values after it."""
    return highest_before(values[::-1], rows)[::-1]
