"""A spike as JSON has it, with the words that are used for it everywhere. Pure."""

from __future__ import annotations

from typing import Any

from pasps.data.spikes import Spike


def direction(spike: Spike) -> str:
    """`up` or `down`."""
    return "up" if spike.up else "down"


def spike_object(spike: Spike, step_seconds: float) -> dict[str, Any]:
    """Its characteristics; rows last so many seconds."""
    return {
        "direction": direction(spike),
        "slope": round(spike.slope, 6),
        "magnitude": round(spike.magnitude, 6),
        "duration_rows": spike.rows,
        "duration_seconds": spike.rows * step_seconds,
        "rows_to_peak": spike.peak - spike.onset,
        "before": round(spike.before, 6),
        "extreme": round(spike.extreme, 6),
    }
