"""One call of user code that does not run on the worker's loop, or is awaited there: what goes in, and what came out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pasps.api.tuples import Tuple
from pasps.runtime.batch import Batch
from pasps.runtime.collector import CallRecords, Raised
from pasps.runtime.results import rows_of
from pasps.runtime.runners import paired, settle_batch
from pasps.runtime.settler import Flags, Settler
from pasps.runtime.task_slot import TaskSlot


class Call:
    """Filled by the thread or coroutine that runs it; settled on the worker's loop."""

    __slots__ = ("batch", "outcome", "records", "seconds", "slot", "tups", "work")

    def __init__(self, slot: TaskSlot, batch: Batch | None, tups: list[Tuple], work: Callable[[], Any]) -> None:
        self.slot = slot
        self.batch = batch
        self.tups = tups
        self.work = work
        self.records = CallRecords()
        self.outcome: Any = None
        self.seconds = 0.0


def work_for(shape: str, slot: TaskSlot, batch: Batch, tups: list[Tuple], batched: bool) -> Callable[[], Any]:
    """What to call for these tuples; one tuple only unless the component takes batches."""
    instance = slot.instance
    if shape == "function":
        return (lambda: instance(list(batch.rows))) if batched else (lambda: instance(*batch.rows[0]))
    if shape == "batch_bolt":
        return lambda: instance.process_batch(tups)
    return lambda: instance.process(tups[0])


def settle_call(settler: Settler, call: Call, shape: str, batched: bool, flags: Flags) -> None:
    """Carry out what a finished call recorded and returned."""
    slot, outcome = call.slot, call.outcome
    if not call.tups:  # a tick
        if isinstance(outcome, Exception):
            call.records.append(Raised(outcome))
        settler.settle(None, call.records, flags, slot)
    elif shape == "batch_bolt" or batched:
        settle_batch(settler, slot, call.tups, call.records, _paired(call, batched), flags)
    else:
        settler.settle(call.tups[0], _records(settler, call, shape), flags, slot)
    settler.flush(slot)


def _paired(call: Call, batched: bool) -> Any:
    if not batched or isinstance(call.outcome, Exception):
        return call.outcome
    try:
        return paired(call.outcome, len(call.tups), call.slot.component)
    except Exception as error:  # noqa: BLE001 - a wrong result of the user's function
        return error


def _records(settler: Settler, call: Call, shape: str) -> list[Any]:
    if isinstance(call.outcome, Exception):
        return [Raised(call.outcome)]
    if shape != "function":
        return call.records
    try:
        return list(rows_of(call.outcome, settler.default))
    except Exception as error:  # noqa: BLE001 - a wrong result, or a generator of the user's that raised
        return [Raised(error)]
