"""A finite source that loses nothing: what fails is emitted again, and after its worker's death it goes on from its position."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from benchmarks.board import LAST, Board
from pasps import EndOfInput, Spout
from pasps.api import TopologyContext

# columns of the board's row 0, where the driver leaves what all tasks must agree on
_EVENTS, _RATE, _PARTS, _KEYS, _STARTED = range(5)
_BATCH = 500


class ReplayingSpout(Spout):
    """Task p of n emits the ids p, p + n, ... at the given rate over all tasks; its row on the board is 1 + p."""

    outputs = ("id", "key")

    @staticmethod
    def describe(board: Board, *, events: int, rate: float, parts: int, keys: int) -> None:
        """Say what is to be emitted, before the topology is submitted."""
        board.row(0)[_EVENTS], board.row(0)[_RATE], board.row(0)[_PARTS], board.row(0)[_KEYS] = events, rate, parts, keys

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        board = Board.shared()
        self.plan, self.row = board.row(0), board.row(1 + ctx.task_index)
        self.plan[_STARTED] = self.plan[_STARTED] or time.monotonic()
        self.parts = int(self.plan[_PARTS])
        self.next = ctx.task_index if ctx.position is None else int(ctx.position)
        self.pending: set[int] = set()  # the position is the smallest of them
        self.failed: list[int] = []
        self.saved_at = 0.0

    def next_tuple(self) -> float | None:
        now = time.monotonic()
        ids, self.failed = self.failed, []
        due = min(int(self.plan[_EVENTS]), int((now - self.plan[_STARTED]) * self.plan[_RATE]) + 1)
        fresh = range(self.next, due, self.parts)[:_BATCH]
        self.next += len(fresh) * self.parts
        self.pending.update(fresh)
        ids.extend(fresh)
        if ids:
            keys = int(self.plan[_KEYS])
            self.emit_batch([(id, id % keys) for id in ids], ids)
            self.row[LAST] = now
        if now - self.saved_at > 0.2:
            self.saved_at = now
            self.save_position(min(self.pending, default=self.next))
        if self.next >= self.plan[_EVENTS] and not self.pending:
            raise EndOfInput
        return 0.001

    def ack(self, tup_id: int) -> None:
        self.pending.discard(tup_id)

    def fail(self, tup_id: int) -> None:
        if tup_id in self.pending:
            self.failed.append(tup_id)
