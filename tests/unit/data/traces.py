"""Traces that several tests compose and describe."""

from __future__ import annotations

from pasps.data.series import Series, series_of
from pasps.spouts.synth import Traffic, rates

STEP = 60 * 1_000_000


def spiky(seed: int, steps: int = 3000, mean: float = 300) -> Series:
    """Synthetic traffic with a spike in each 75 minutes."""
    counts = rates(Traffic("spiky", steps=steps, mean=mean, seed=seed))
    return series_of(f"spiky-{seed}.csv", [place * STEP for place in range(steps)], [float(count) for count in counts])
