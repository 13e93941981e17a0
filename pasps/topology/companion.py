"""What a controller knows of the elasticity that was attached to it; the thing itself is in `elastic`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pasps.activation import ActivationTable


@dataclass(frozen=True, slots=True)
class ElasticView:
    """What people see of it. Rates are events a second: what became due in the last one, and what is expected in the next."""

    policy: str
    predictor: str | None
    source: str | None
    arrived: float | None
    predicted: float | None
    decision: str
    held: Mapping[str, int]


class Companion(Protocol):
    """Controls a topology beside its controller, on the same loop."""

    async def start(self) -> None:
        """The topology is up."""

    def awake(self) -> None:
        """The spouts begin, or begin again."""

    def set_by_hand(self, component: str, count: int) -> int | None:
        """Somebody sets a bolt's replicas; returns at what it was held before, if it was."""

    def was_set(self, component: str, before: int, table: ActivationTable) -> None:
        """Somebody has set a bolt's replicas, which has them since that table."""

    def hold(self, component: str, count: int | None) -> None:
        """Hold a bolt at that number, or (None) no longer."""

    def release(self, component: str) -> None:
        """Whoever set them takes that back."""

    def pressed(self, component: str) -> None:
        """A worker says that more comes to a bolt than its replicas there take. Never blocks."""

    def view(self) -> ElasticView:
        """What is known now. From any thread; does not block."""

    async def close(self) -> None:
        """The topology ends."""
