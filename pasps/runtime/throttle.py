"""Not every error is told: at most so many of a component in an interval, and then how many were left out. Pure."""

from __future__ import annotations

from collections.abc import Callable


class Throttle:
    """`pass_on` gives the texts to tell now."""

    __slots__ = ("_most", "_seconds", "_seen")

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._seen: dict[str, tuple[float, int]] = {}

    def pass_on(self, component: str, text: Callable[[], str], now: float) -> list[str]:
        """The text itself, which is made only then, or nothing; with a word on those left out before it."""
        start, count = self._seen.get(component, (now, 0))
        told: list[str] = []
        if now - start >= self._seconds:
            if count > self._most:
                told.append(f"{count - self._most} more errors in {now - start:.0f} s were left out")
            start, count = now, 0
        self._seen[component] = (start, count + 1)
        return [*told, text()] if count < self._most else told
