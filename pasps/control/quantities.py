"""Events and times as decisions are told with them: as many digits as say something. Pure."""

from __future__ import annotations


def count(events: float) -> str:
    """Events, of which forecasts and shares make parts: `412`, `1,234.57`, `0.0042`."""
    if 0 < abs(events) < 1:
        return f"{events:.4g}"
    return f"{events:,.2f}".rstrip("0").rstrip(".")


def seconds_text(seconds: float) -> str:
    """With four digits: `30 s`, `0.185 s`, `1.25 ms`, `4.2 µs`."""
    unit, size = next(((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3)) if seconds >= size / 10), ("µs", 1e-6))
    return f"{seconds / size:.4g} {unit}"
