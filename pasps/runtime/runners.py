"""The three inline ways to run a bolt over a chunk: a function, a class, a class that takes batches.

A runner does the user's work and gives the outcome to the settler; whole-batch ways first, tuple by tuple where it must.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import Any, Protocol

from pasps.api.blueprint import ComponentPlan
from pasps.api.tuples import Tuple
from pasps.errors import EmitError
from pasps.runtime.batch import Batch, Row
from pasps.runtime.collector import Quiet, Raised
from pasps.runtime.origin import Origin
from pasps.runtime.proof import always_returns_row
from pasps.runtime.results import rows_of, uniform_rows
from pasps.runtime.settler import Flags, Settler
from pasps.runtime.task_slot import TaskSlot

Report = Callable[[BaseException], None]


class Runner(Protocol):
    """Runs one chunk; exceptions of user code end in a failed tuple and a report, never here."""

    def run(self, slot: TaskSlot, batch: Batch) -> None:
        """Process every row of the batch and settle it."""

    def use(self, flags: Flags) -> None:
        """The switches of the instance that runs from now on."""


class FunctionRunner:
    """A function bolt: one C-level loop over the rows, and no object for each tuple."""

    def __init__(self, settler: Settler, origins: dict[int, Origin], report: Report, function: Any) -> None:
        self._settler = settler
        self._report = report
        self._origins = origins
        self._certain = settler.default is not None and always_returns_row(function, settler.default.width)

    def use(self, flags: Flags) -> None:
        """A function has no switches."""

    def run(self, slot: TaskSlot, batch: Batch) -> None:
        """Process every row of the batch and settle it."""
        results: list[Any] = []
        rows = iter(batch.rows)
        certain = self._certain
        while True:
            try:
                results.extend(starmap(slot.instance, rows))
                break
            except Exception as error:  # noqa: BLE001 - the step's door: the tuple fails, the worker goes on
                results.append(Raised(error))
                certain = False
        if certain:
            self._settler.pass_on(batch, results, slot)
        else:
            settle_results(self._settler, slot, batch, results, self._origins, self._report)


class BatchFunctionRunner:
    """A function bolt that takes the list of rows and returns a list as long."""

    def __init__(self, settler: Settler, origins: dict[int, Origin], report: Report) -> None:
        self._settler = settler
        self._report = report
        self._origins = origins

    def use(self, flags: Flags) -> None:
        """A function has no switches."""

    def run(self, slot: TaskSlot, batch: Batch) -> None:
        """Process every row of the batch and settle it."""
        try:
            results = paired(slot.instance(list(batch.rows)), len(batch.rows), slot.component)
        except Exception as error:  # noqa: BLE001 - the step's door
            results = [Raised(error), *([Raised(Quiet())] * (len(batch.rows) - 1))]
        settle_results(self._settler, slot, batch, results, self._origins, self._report)


def paired(returned: Any, count: int, component: str) -> list[Any]:
    """The returned list, or EmitError when it does not pair with the inputs."""
    if not isinstance(returned, list) or len(returned) != count:
        got = f"a list of {len(returned)}" if isinstance(returned, list) else repr(returned)
        raise EmitError(component, "default", f"expected a list of {count} results, one for each tuple (None filters), got {got}")
    return returned


def settle_results(settler: Settler, slot: TaskSlot, batch: Batch, results: list[Any], origins: dict[int, Origin], report: Report) -> None:
    """Settle one result for each row: in one go where all are alike, else by counting each row's outputs."""
    rows = uniform_rows(results, settler.default)
    if rows is not None:
        settler.pass_on(batch, rows, slot)
        return
    if results.count(None) == len(results):
        settler.ack_all(batch, slot)
        return
    listed: list[list[Row] | Exception] = []
    for result in results:
        try:
            listed.append(result.error if isinstance(result, Raised) else rows_of(result, settler.default))
        except Exception as error:  # noqa: BLE001 - a wrong result, or a generator of the user's that raised
            listed.append(error)
    for outcome in listed:
        if isinstance(outcome, Exception) and not isinstance(outcome, Quiet):
            report(outcome)
    if batch.links is not None:
        _settle_linked(settler, slot, origins[batch.edge].tuples(batch), listed)
        return
    counts = [-1 if isinstance(outcome, Exception) else len(outcome) for outcome in listed]
    flat = [row for outcome in listed if not isinstance(outcome, Exception) for row in outcome]
    settler.spread(batch, flat, counts, slot)


def _settle_linked(settler: Settler, slot: TaskSlot, tups: list[Tuple], listed: list[list[Row] | Exception]) -> None:
    flags = Flags()
    for tup, outcome in zip(tups, listed, strict=True):
        if isinstance(outcome, Exception):
            settler.judge(tup, False, slot)
        else:
            settler.settle(tup, list(outcome), flags, slot)
    settler.flush(slot)


class ClassRunner:
    """`Bolt.process`: the loop is kept bare, and one None after each tuple's rows says where the next begin."""

    def __init__(self, settler: Settler, origins: dict[int, Origin], flags: Flags) -> None:
        self._settler = settler
        self._origins = origins
        self._flags = flags
        self._plain = flags.ack and flags.anchor

    def use(self, flags: Flags) -> None:
        """The switches of the instance that runs from now on."""
        self._flags = flags
        self._plain = flags.ack and flags.anchor

    def run(self, slot: TaskSlot, batch: Batch) -> None:
        """Process every row of the batch and settle it."""
        collector = slot.collector
        tups = self._origins[batch.edge].tuples(batch)
        out = collector.begin()
        process, end = slot.instance.process, collector.append
        left = iter(tups)
        while True:
            try:
                for tup in left:
                    process(tup)
                    end(None)
                break
            except Exception as error:  # noqa: BLE001 - the step's door: the tuple fails, the worker goes on
                collector.plain = False
                end(Raised(error))
                end(None)
        if not (self._plain and collector.plain):
            self._settle_each(slot, tups, out)
            return
        count = len(tups)
        if len(out) == 2 * count and out[1::2].count(None) == count:
            self._settler.pass_on(batch, out[0::2], slot)
        elif len(out) == count:
            self._settler.ack_all(batch, slot)
        elif batch.links is None:
            self._spread(slot, batch, out)
        else:
            self._settle_each(slot, tups, out)

    def _spread(self, slot: TaskSlot, batch: Batch, out: list[Any]) -> None:
        """Rows of the default stream only, any number for each tuple."""
        ends = [position for position, row in enumerate(out) if row is None]
        counts = [end - start - 1 for start, end in zip([-1, *ends], ends, strict=False)]
        self._settler.spread(batch, [row for row in out if row is not None], counts, slot)

    def _settle_each(self, slot: TaskSlot, tups: list[Tuple], out: list[Any]) -> None:
        settle, flags, start = self._settler.settle, self._flags, 0
        for tup in tups:
            stop = out.index(None, start)
            settle(tup, out[start:stop], flags, slot)
            start = stop + 1
        self._settler.flush(slot)


class BatchRunner:
    """`BatchBolt.process_batch`: a returned list pairs with the inputs; anything else was emitted with anchors."""

    def __init__(self, settler: Settler, origins: dict[int, Origin], flags: Flags, report: Report) -> None:
        self._settler = settler
        self._origins = origins
        self._flags = flags
        self._report = report

    def use(self, flags: Flags) -> None:
        """The switches of the instance that runs from now on."""
        self._flags = flags

    def run(self, slot: TaskSlot, batch: Batch) -> None:
        """Process every row of the batch and settle it."""
        tups = self._origins[batch.edge].tuples(batch)
        out = slot.collector.begin()
        try:
            returned = slot.instance.process_batch(tups)
        except Exception as error:  # noqa: BLE001 - the step's door
            returned = error
        if not out and self._flags.ack and self._flags.anchor:
            if returned is None:
                self._settler.ack_all(batch, slot)
                return
            if isinstance(returned, list) and len(returned) == len(tups):
                settle_results(self._settler, slot, batch, returned, self._origins, self._report)
                return
        settle_batch(self._settler, slot, tups, out, returned, self._flags)


def settle_batch(settler: Settler, slot: TaskSlot, tups: list[Tuple], out: list[Any], returned: Any, flags: Flags) -> None:
    """The general end of `process_batch`: `returned` is its result, or the exception that it raised."""
    outcome = returned if isinstance(returned, Exception) else _batch_rows(settler, slot, tups, out, returned)
    if isinstance(outcome, Exception):
        for position, tup in enumerate(tups):
            settler.settle(tup, [Raised(Quiet() if position else outcome)], flags, slot)
        return
    settler.settle(None, out, flags, slot)
    for tup, rows in zip(tups, outcome, strict=True):
        settler.settle(tup, list(rows), flags, slot)
    settler.flush(slot)


def _batch_rows(settler: Settler, slot: TaskSlot, tups: list[Tuple], out: list[Any], returned: Any) -> list[list[Row]] | Exception:
    loose = next((record for record in out if record.__class__ is tuple), None)
    if loose is not None:
        return EmitError(slot.component, "default", f"in process_batch, emit needs anchors= (or anchors=[] for none), got {loose!r}")
    try:
        if returned is None:
            return [[] for _ in tups]
        return [rows_of(result, settler.default) for result in paired(returned, len(tups), slot.component)]
    except Exception as error:  # noqa: BLE001 - a wrong result, or a generator of the user's that raised
        return error


def make_runner(plan: ComponentPlan, settler: Settler, origins: dict[int, Origin], flags: Flags, report: Report, sample: Any) -> Runner:
    """The runner for an inline component."""
    if plan.shape == "function":
        if sample.batch:
            return BatchFunctionRunner(settler, origins, report)
        return FunctionRunner(settler, origins, report, sample.function)
    if plan.shape == "batch_bolt":
        return BatchRunner(settler, origins, flags, report)
    return ClassRunner(settler, origins, flags)
