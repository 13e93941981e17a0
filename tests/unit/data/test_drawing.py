"""The picture of any trace can be drawn, without a warning; whether it is a good one is for eyes."""

from __future__ import annotations

import struct

import pytest

from pasps.data.arrays import Floats, np
from pasps.data.describe import describe
from pasps.data.drawing import draw
from pasps.data.series import series_of
from tests.unit.data.traces import STEP, spiky


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_spiky_trace() -> None:
    assert size_of(draw(describe(spiky(1, 600)))) == (1728, 1116)


@pytest.mark.parametrize(
    "counts",
    [
        [7.0],
        [0.0] * 3,
        [7.0] * 50,
        [1.0] * 200 + [5000.0] + [0.0] * 100,
        (np.sin(np.arange(300) / 5) * 50 + 60).tolist(),
    ],
)
def test_traces_of_which_there_is_little_to_see(counts: list[float] | Floats) -> None:
    series = series_of("a $name_ with 漢字.csv", [place * STEP for place in range(len(counts))], counts)
    assert size_of(draw(describe(series))) == (1728, 1116)
