"""The user's own grouping: asks their object for the tasks of every row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from operator import index
from typing import Any

from pasps.api.splitting import Loads, Pick, Row, TargetView
from pasps.clock import Clock
from pasps.errors import GroupingError, shown
from pasps.groupings.load import REPORT_SECONDS, LoadTable


class CustomSplitter:
    """One sender's copy of an object with `choose_tasks(source_task, values)`, which returns task ids of the target.

    `prepare(context, stream, target_tasks)` is called once before, `refresh_load(loads)` at most once a second with the
    seconds of unfinished work by task id; both only when the object has them. A row may go to several tasks, or to none.
    """

    fan: int | None = None

    def __init__(
        self, grouping: Any, source: str, stream: str, first_task: int, source_task: int, clock: Clock, context: Any = None
    ) -> None:
        self._where = f"component {source!r}, stream {stream!r}, custom grouping {type(grouping).__name__}"
        try:
            self._grouping = deepcopy(grouping)
        except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
            raise GroupingError(
                f"{self._where}: cannot be copied for each sender ({error}); "
                "open locks, files and connections in prepare(), or define __deepcopy__"
            ) from error
        self._stream = stream
        self._first = first_task
        self._source_task = source_task
        self._now = clock.now
        self._context = context
        self._tasks = range(0)
        self._prepared = False
        self._loads: Loads = LoadTable(0)
        self._version = 0
        self._told = float("-inf")
        self._refresh_load = getattr(self._grouping, "refresh_load", None)

    def refresh(self, view: TargetView) -> None:
        self._loads = view.loads
        self._tasks = range(self._first, self._first + view.tasks)
        if not self._prepared:
            self._prepare()

    def _prepare(self) -> None:
        prepare = getattr(self._grouping, "prepare", None)
        if prepare is not None:
            prepare(self._context, self._stream, list(self._tasks))
        self._prepared = True

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        if not self._prepared:  # it raised, and may not the next time
            self._prepare()
        if self._refresh_load is not None and self._version != self._loads.version:
            self._tell()
        choose, source_task, first, tasks = self._grouping.choose_tasks, self._source_task, self._first, self._tasks
        picked: defaultdict[int, list[int]] = defaultdict(list)
        for position, row in enumerate(rows):
            chosen = choose(source_task, row)
            if not isinstance(chosen, (list, tuple)):
                raise GroupingError(f"{self._where}: choose_tasks returned {shown(chosen)}, expected a list of task ids")
            for task in chosen:
                number = task if task.__class__ is int else _whole(task)
                if number not in tasks:
                    raise GroupingError(
                        f"{self._where}: choose_tasks returned {shown(chosen)}, in which {shown(task)} is no task of the target; "
                        f"expected ids from {tasks.start} to {tasks.stop - 1}, as given to prepare() in target_tasks"
                    )
                picked[number - first].append(position)
        return list(picked.items())

    def _tell(self) -> None:
        now = self._now()
        if self._refresh_load is None or now - self._told < REPORT_SECONDS:
            return
        self._told, self._version = now, self._loads.version
        self._refresh_load({task: self._loads.waiting(index, now) for index, task in enumerate(self._tasks)})


def _whole(task: Any) -> int:
    """A task id of another integer type, as numpy's; -1, which none has, for what is no integer."""
    try:
        return -1 if isinstance(task, bool) else index(task)
    except TypeError:
        return -1
