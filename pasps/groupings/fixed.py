"""Groupings that choose nothing: global (index 0), all (every task) and direct (the producer has chosen)."""

from __future__ import annotations

from collections.abc import Sequence

from pasps.errors import GroupingError
from pasps.groupings.base import Pick, Row, TargetView


class GlobalSplitter:
    """Everything goes to index 0, which is never deactivated."""

    fan: int | None = 1

    def refresh(self, view: TargetView) -> None:
        """Nothing can change."""

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return [(0, None)] if rows else []


class AllSplitter:
    """Every task of the pool gets every row; `fan` is the number of tasks, known from the first `refresh` on."""

    fan: int | None = None

    def __init__(self) -> None:
        self._tasks = 0

    def refresh(self, view: TargetView) -> None:
        self.fan = self._tasks = view.tasks

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return [(index, None) for index in range(self._tasks)] if rows else []


class DirectSplitter:
    """Stands for an edge whose producer picks the task; the emitter never asks it."""

    fan: int | None = 1

    def __init__(self, source: str, stream: str, target: str) -> None:
        self._edge = (source, stream, target)

    def refresh(self, view: TargetView) -> None:
        """Nothing depends on it."""

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        source, stream, target = self._edge
        raise GroupingError(
            f"component {source!r}, stream {stream!r}: {target!r} subscribes to it by direct grouping, "
            "but a tuple was emitted without a task; emit with direct_task="
        )
