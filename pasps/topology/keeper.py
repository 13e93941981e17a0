"""What of a topology outlives its controller: tables, incarnations, how far the spouts are. On one machine nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pasps.activation import ActivationTable


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a topology goes on that ran before: after which table, with how many active replicas, from what the spouts had saved."""

    version: int = 0
    active: Mapping[str, int] = field(default_factory=dict)
    positions: Mapping[int, bytes] = field(default_factory=dict)


class Keeper(Protocol):
    """Given to a `TopologyController`. Nothing here may hold up the flow: what cannot be kept now is kept as soon as it can be."""

    resume: Resume

    async def incarnation(self, worker: str) -> int:
        """The next number of that worker: larger than every one it ever had."""

    async def intend(self, table: ActivationTable, places: Mapping[str, str] | None = None) -> None:
        """That table is about to be published. Back when it is written, or after a moment when it cannot be.

        `places`: the host of each worker, where that is new.
        """

    def acted(self, table: ActivationTable, places: Mapping[str, str]) -> None:
        """That table is published. `places`: the host of each worker."""

    def reached(self, positions: Mapping[int, bytes]) -> None:
        """So far the spout tasks are: what each saved last, packed."""


class NoKeeper:
    """Keeps nothing: the workers end with their controller."""

    def __init__(self) -> None:
        self.resume = Resume()
        self._incarnations: dict[str, int] = {}

    async def incarnation(self, worker: str) -> int:
        """See `Keeper`."""
        self._incarnations[worker] = self._incarnations.get(worker, 0) + 1
        return self._incarnations[worker]

    async def intend(self, table: ActivationTable, places: Mapping[str, str] | None = None) -> None:
        """See `Keeper`."""

    def acted(self, table: ActivationTable, places: Mapping[str, str]) -> None:
        """See `Keeper`."""

    def reached(self, positions: Mapping[int, bytes]) -> None:
        """See `Keeper`."""
