"""One line of the table of behaviours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, in words too; `reached` is None where nothing was aimed at."""

    what: str
    measured: float
    unit: str
    wanted: str = ""
    reached: bool | None = None

    @property
    def verdict(self) -> str:
        """The last column."""
        return "" if self.reached is None else "yes" if self.reached else "NO"


def at_most(what: str, measured: float, limit: float, unit: str) -> Row:
    """A row that is reached at `limit` or below it."""
    return Row(what, measured, unit, f"<= {limit:g} {unit}", measured <= limit)


def at_least(what: str, measured: float, limit: float, unit: str) -> Row:
    """A row that is reached at `limit` or above it."""
    return Row(what, measured, unit, f">= {limit:g} {unit}", measured >= limit)
