"""Numbers and tables as text for people. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime


def seconds_text(seconds: float | None) -> str:
    """A duration with the unit that fits: `850 µs`, `1.2 ms`, `3.4 s`."""
    if seconds is None:
        return "-"
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:.1f} s"


def rate_text(rate: float) -> str:
    """Something per second: `12,345`, below ten with one digit more."""
    return f"{rate:,.1f}" if 0 < rate < 10 else f"{rate:,.0f}"


def share_text(share: float | None) -> str:
    """A share as percents."""
    return "-" if share is None else f"{share:.0%}"


def count_text(count: int | None) -> str:
    """A count; a dash when it is not known."""
    return "-" if count is None else f"{count:,}"


def clock_text(seconds: float) -> str:
    """`0:01:05`."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def moment(seconds: float) -> str:
    """Seconds since the epoch, in the time of this place."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Lines with aligned columns: those numbered in `left` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return [
        "  ".join(text.ljust(w) if i in left else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True)))
        for row in (head, *rows)
    ]
