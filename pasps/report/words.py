"""Values of a report as text for people. Pure."""

from __future__ import annotations

UNKNOWN = "-"


def share_text(share: float | None) -> str:
    """A share in percent: `47.5%`."""
    return UNKNOWN if share is None else f"{share:.1%}"


def seconds_text(seconds: float | None) -> str:
    """A duration with the unit that fits: `850 µs`, `1.2 ms`, `3.4 s`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:,.1f} s"


def count_text(count: float | None) -> str:
    """How many: `12,345`."""
    return UNKNOWN if count is None else f"{count:,.0f}"


def clock_text(seconds: float) -> str:
    """A time since the start: `1:05`, `2:01:05`."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def length_text(seconds: float) -> str:
    """How long something was: `42 s`, `10 min 3 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole // 60 % 60} min" if whole // 60 % 60 else "")


def of_text(count: int, one: str) -> str:
    """`1 interval`, `2 intervals`."""
    return f"{count:,} {one if count == 1 else one + 's'}"
