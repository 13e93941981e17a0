"""When to try again what a server did not do, and when to tell of it. Pure."""

from __future__ import annotations

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_TELL_SECONDS = 30.0


class Setback:
    """Pauses double from 0.1 to 5 s; the first failure is told, and then one in 30 s, until something went well."""

    def __init__(self) -> None:
        self._pause = self._until = self._tell_at = 0.0

    def lasts(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return now < self._until

    def over(self) -> None:
        """Something went well."""
        self._pause = self._until = 0.0

    def failed(self, now: float) -> bool:
        """Note a failure, be it one of many that were tried together; True: tell of it."""
        if self.lasts(now):
            return False
        tell = not self._pause or now >= self._tell_at
        if tell:
            self._tell_at = now + _TELL_SECONDS
        self._pause = min(_LONGEST_PAUSE, 2 * self._pause) or _FIRST_PAUSE
        self._until = now + self._pause
        return tell
