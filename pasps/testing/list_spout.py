"""Spouts that emit a list: a `Script` is what outlives the spout's worker, a `ListSpout` reads it; used by `StepRun`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.errors import EndOfInput, InvalidError
from pasps.testing.marks import ABORT, EOF, PAUSE, Item, OnStream, WorkerDies


class Script:
    """The list of one spout task, and how far it was read: a log that a worker's death does not touch.

    A row is pending from its emission until it is acked or failed. A failed row is emitted again at most `replays` times;
    one that fails while a worker is missing (`excusing`) is always emitted again.
    """

    def __init__(self, items: Sequence[tuple[int, Item]], tracked: bool, replays: int) -> None:
        """`items` are pairs of a row's id (meaningless for marks) and the item."""
        self.items = items
        self.tracked = tracked
        self.cursor = 0
        self.again: deque[int] = deque()
        self.pending: dict[int, Item] = {}
        self._replays = replays
        self._tries: Counter[int] = Counter()
        self.excusing = False
        self._rows: dict[int, Item] = {}

    def begin(self) -> None:
        """A new spout reads on: what its forerunner had pending comes first."""
        self.again = deque(sorted({*self.pending, *self.again}))
        self.pending.clear()

    def left(self) -> int:
        """Rows that were not emitted yet, or have to be again."""
        return len(self.again) + sum(1 for _, item in self.items[self.cursor :] if not isinstance(item, PAUSE) and item not in (EOF, ABORT))

    def emitted(self, row_id: int, item: Item) -> None:
        """Row `row_id` was emitted."""
        if self.tracked:
            self.pending[row_id] = item
            self._rows[row_id] = item

    def row(self, row_id: int) -> Item:
        """A row that was emitted before."""
        return self._rows[row_id]

    def acked(self, row_id: int) -> None:
        """The row is done."""
        self.pending.pop(row_id, None)

    def failed(self, row_id: int) -> None:
        """The row failed."""
        self.pending.pop(row_id, None)
        if not self.excusing:
            if self._tries[row_id] >= self._replays:
                return
            self._tries[row_id] += 1
        self.again.append(row_id)


def scripts_for(component: str, items: Sequence[Item], tasks: int, tracked: bool, replays: int) -> list[Script]:
    """Deal a list to the tasks of a spout: rows in turn, PAUSE and EOF to all of them, ABORT to the first.

    Raises:
        InvalidError: something is neither a row nor a mark.
    """
    dealt: list[list[tuple[int, Item]]] = [[] for _ in range(tasks)]
    rows = 0
    for item in items:
        if item is ABORT:
            dealt[0].append((-1, item))
        elif item is EOF or isinstance(item, PAUSE):
            for one in dealt:
                one.append((-1, item))
        elif isinstance(item, (list, tuple, OnStream)):
            dealt[rows % tasks].append((rows, item))
            rows += 1
        else:
            expected = "rows (lists of values), OnStream, EOF, ABORT or PAUSE(seconds)"
            raise InvalidError(f"inputs of {component!r}: expected {expected}, got {item!r}")
    return [Script(one, tracked, replays) for one in dealt]


class ListSpout(Spout):
    """Emits its task's script. Row ids, 0 and up in the order of the list, are its tuple ids when it is tracked."""

    def __init__(self, scripts: list[Script]) -> None:
        self._scripts = scripts
        self._script = scripts[0]
        self._ended = False

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Go on where the task's last spout ended."""
        self._script = self._scripts[ctx.task_index]
        self._script.begin()

    def next_tuple(self) -> float | None:
        """Emit one row, or do what the mark says."""
        script = self._script
        if script.again:
            row_id = script.again.popleft()
            self._emit(row_id, script.row(row_id))
            return None
        if self._ended or script.cursor >= len(script.items):
            raise EndOfInput
        row_id, item = script.items[script.cursor]
        script.cursor += 1
        if item is ABORT:
            raise WorkerDies
        if item is EOF:
            self._ended = True
            raise EndOfInput
        if isinstance(item, PAUSE):
            return item.seconds
        self._emit(row_id, item)
        return None

    def _emit(self, row_id: int, item: Any) -> None:
        self._script.emitted(row_id, item)
        tup_id = row_id if self._script.tracked else None
        if isinstance(item, OnStream):
            self.emit(item.values, tup_id, item.stream, item.direct_task)
        else:
            self.emit(item, tup_id)

    def ack(self, tup_id: Any) -> None:
        """Done."""
        self._script.acked(tup_id)

    def fail(self, tup_id: Any) -> None:
        """Emit it again, if that is wanted."""
        self._script.failed(tup_id)

    def backlog(self) -> int | None:
        """What is left of the list."""
        return self._script.left()
