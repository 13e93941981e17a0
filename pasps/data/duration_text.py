"""Durations for people: two units at most. Pure."""

from __future__ import annotations

_UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))


def duration_text(seconds: float) -> str:
    """`250 ms`, `1.5 s`, `5 min`, `1 h 30 min`, `2 d 7 h`."""
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    for place, (size, unit) in enumerate(_UNITS):
        if seconds >= size * 0.999:
            smaller, name = (*_UNITS, (1.0, "s"))[place + 1]
            rest = round(seconds / smaller)
            whole, part = divmod(rest, round(size / smaller))
            return f"{whole} {unit} {part} {name}" if part else f"{whole} {unit}"
    return f"{seconds:.3g} s"


def short_duration(seconds: float) -> str:
    """In one unit and few digits, for an axis: `20 s`, `1.7 h`, `2.5 d`."""
    for size, unit in _UNITS:
        if seconds >= size * 0.999:
            return f"{seconds / size:.3g} {unit}"
    return duration_text(seconds)
