"""The ways to run a bolt: a function, with state or without, over batches or columns; a class, over batches. Each gives an `Outcome`.

`run` is called on the worker's loop or on a replica's own thread, `wait` is awaited on the loop. Whatever user code raises there
is the outcome of its call; only an `Interrupt` passes through.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import repeat, starmap
from pathlib import Path
from types import MethodType
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan, Edge
from pasps.api.tuples import DONE, SYSTEM_COMPONENT, TICK_STREAM, Source, Tuple, values_type
from pasps.errors import EmitError, Interrupt, InvalidError, shown
from pasps.runtime.batch import Batch, Row
from pasps.runtime.collector import Collector
from pasps.runtime.emitter import Port
from pasps.runtime.inbox import TaskSlot
from pasps.runtime.outcome import Call, Failure, Outcome, Records, Results, is_unfinished
from pasps.runtime.proof import Seen, always_returns_row, seen_of_argument


class Origin:
    """One input edge of a component."""

    __slots__ = ("_sources", "component", "fields", "kind", "stream")

    def __init__(self, blueprint: Blueprint, edge: Edge) -> None:
        self.component = edge.source
        self.stream = edge.stream
        self.fields = tuple(blueprint.components[edge.source].streams[edge.stream].fields)
        self.kind: Any = values_type(self.fields)
        self._sources: dict[int, Source] = {}

    def tuples(self, batch: Batch) -> list[Tuple]:
        """The batch as its bolt sees it."""
        source = self._sources.get(batch.source)
        if source is None:
            source = self._sources[batch.source] = Source(self.component, self.stream, batch.source, self.fields)
        values = map(self.kind, batch.rows)
        if batch.roots is None or batch.edges is None:
            return list(map(Tuple, values, repeat(0), repeat(0), repeat(source)))
        if batch.links is None:
            return list(map(Tuple, values, batch.roots, batch.edges, repeat(source)))
        return list(map(Tuple, values, batch.roots, batch.edges, repeat(source), batch.links))


def tick_tuple(seconds: float) -> Tuple:
    """A tick, as Storm has it: its value is the interval."""
    fields: Sequence[str] = ("seconds",)
    source = Source(SYSTEM_COMPONENT, TICK_STREAM, -1, ("seconds",))
    # nobody waits for a tick: a verdict on it, or an anchor, must count for nothing
    return Tuple(values_type(tuple(fields))((seconds,)), 0, 0, source, state=DONE)


class Way:
    """How user code is called: with a batch, and without an input, by ticks and at the end."""

    def run(self, slot: TaskSlot, batch: Batch) -> Outcome:
        """Process every row of the batch."""
        raise NotImplementedError

    async def wait(self, slot: TaskSlot, batch: Batch, records: Records) -> Outcome:
        """The same for code that is awaited: one row, or a batch where it takes batches. `records` is where it emits to."""
        raise NotImplementedError

    def call(self, slot: TaskSlot, name: str, *args: Any) -> Call:
        """Call something of an instance that may emit, where its user code runs."""
        return run_call(slot.collector, slot.instance, name, *args)

    async def wait_call(self, slot: TaskSlot, records: Records, name: str, *args: Any) -> Call:
        """The same for what may be awaited."""
        return await wait_call(slot.component, records, slot.instance, name, *args)


class FunctionWay(Way):
    """A function bolt: one bare loop over the rows, and no object for each tuple."""

    def __init__(self, results: Results, certain: bool) -> None:
        """`certain`: every result is one row, so that none has to be looked at."""
        self._results = results
        self._certain = certain
        self._row_by_row = False  # once the function has raised StopIteration: the next one is told with its line

    def run(self, slot: TaskSlot, batch: Batch) -> Outcome:
        """Process every row of the batch."""
        results: list[Any] = []
        failures: dict[int, Failure] = {}
        rows = iter(batch.rows)
        while True:
            try:
                self._call_each(slot.instance, rows, results, len(batch.rows))
                break
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the step's door: the tuple fails, the worker goes on
                failures[len(results)] = Failure(error)
                results.append(None)
        if self._certain and not failures:
            return Outcome(results)
        return self._results.outcome(results, failures)

    def _call_each(self, function: Any, rows: Iterator[Row], results: list[Any], count: int) -> None:
        """Add what the function makes of each row; `results` are to be `count` then."""
        if self._row_by_row:
            append = results.append
            for row in rows:
                append(function(*row))
            return
        results.extend(starmap(function, rows))
        if len(results) < count:  # starmap took a StopIteration of the function's for the end of the rows
            self._row_by_row = True
            raise StopIteration(f"raised by {self._results.where}; its line is told when it comes again")

    async def wait(self, slot: TaskSlot, batch: Batch, records: Records) -> Outcome:
        """Process the only row of the batch."""
        try:
            returned = slot.instance(*batch.rows[0])
            result = await returned if isinstance(returned, Awaitable) else returned
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            return Outcome.failed(1, error)
        return self._results.outcome([result], {})


class StatefulFunctionWay(FunctionWay):
    """A stateful function: the same loop. What its other calls return is emitted too."""

    def __init__(self, function: Any, results_of: Callable[[Any], Results], certain: bool) -> None:
        """`function` is the class's `__call__`; `results_of` gives what reads the results of a method."""
        super().__init__(results_of(function), certain)
        self._function = function
        self._results_of = results_of

    def _call_each(self, function: Any, rows: Iterator[Row], results: list[Any], count: int) -> None:
        """The same for an instance."""
        append, listed = results.append, self._results.rows
        # bound once, which Python would do for each call
        call = self._function.__get__(function) if type(self._function) is types.FunctionType else function
        if self._certain:
            for row in rows:
                append(call(*row))
            return
        for row in rows:
            result = call(*row)
            # the next call may change a list, and what a generator sees: those are read at once
            append(result if isinstance(result, _UNCHANGING) else listed(result))

    def call(self, slot: TaskSlot, name: str, *args: Any) -> Call:
        """Call something of an instance; what it returns is emitted."""
        try:
            method = getattr(slot.instance, name)
            return self._results_of(method).rows(method(*args))
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door: reported, the worker goes on
            return Failure(error)

    async def wait_call(self, slot: TaskSlot, records: Records, name: str, *args: Any) -> Call:
        """The same for what may be awaited."""
        try:
            method = getattr(slot.instance, name)
            returned = method(*args)
            return self._results_of(method).rows(await returned if isinstance(returned, Awaitable) else returned)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            return Failure(error)


_UNCHANGING = (tuple, types.NoneType, int, float, str, bytes)


class BatchFunctionWay(Way):
    """A function bolt that takes the list of rows and returns a list as long."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def run(self, slot: TaskSlot, batch: Batch) -> Outcome:
        """Process every row of the batch."""
        try:
            return self._outcome(slot.instance(*self._arguments(batch)), len(batch.rows))
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            return Outcome.failed(len(batch.rows), error)

    async def wait(self, slot: TaskSlot, batch: Batch, records: Records) -> Outcome:
        """Process every row of the batch."""
        try:
            returned = slot.instance(*self._arguments(batch))
            return self._outcome(await returned if isinstance(returned, Awaitable) else returned, len(batch.rows))
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            return Outcome.failed(len(batch.rows), error)

    def _arguments(self, batch: Batch) -> Sequence[Any]:
        return (list(batch.rows),)

    def _outcome(self, returned: Any, count: int) -> Outcome:
        return self._results.outcome(self._results.paired(returned, count), {})


class ColumnFunctionWay(BatchFunctionWay):
    """A function bolt that takes a list or an array of each field's values, and returns one of each output field's."""

    def __init__(self, component: str, results: Results, origins: dict[int, Origin], function: Any, arrays: bool) -> None:
        """`arrays`: what the function has not annotated as a list is one."""
        super().__init__(results)
        self._component = component
        self._origins = origins
        # optional, and loaded only for those who want it
        self._numpy: Any = importlib.import_module("numpy") if arrays else None
        widest = max(len(origin.fields) for origin in origins.values())
        self._listed = [not arrays or _asks_for_list(function, place) for place in range(widest)]

    def _arguments(self, batch: Batch) -> Sequence[Any]:
        origin = self._origins[batch.edge]
        columns = zip(zip(*batch.rows, strict=True), self._listed, origin.fields, strict=False)
        return [list(column) if listed else self._array(column, field, origin) for column, listed, field in columns]

    def _array(self, column: tuple[Any, ...], field: str, origin: Origin) -> Any:
        too_large = False
        try:
            array = self._numpy.array(column)
            # of integers that are too large numpy makes floats, or objects
            too_large = type(column[0]) is int and array.dtype.kind != "i" and set(map(type, column)) == {int}
            if array.ndim == 1 and array.dtype.kind in "biuf" and not too_large:
                return array
        except ValueError:  # lists, of several lengths
            pass
        got = "int of more than 64 bits" if too_large else ", ".join(sorted({type(value).__name__ for value in column}))
        problem = f"field {field!r} of {origin.component!r} makes no array: expected numbers or booleans, got {got}"
        raise InvalidError(f"component {self._component!r}: {problem}; annotate its parameter as a list to get one")

    def _outcome(self, returned: Any, count: int) -> Outcome:
        return self._results.by_column(returned, count)


def _asks_for_list(function: Any, place: int) -> bool:
    """Whether the parameter that takes the argument at `place` is annotated as a list."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions have none
        return False
    # after the last one is `*rest`; the annotation may be text that cannot be evaluated here
    return re.match(r"(<class ')?list\b", str(parameters[min(place, len(parameters) - 1)].annotation)) is not None


class OnlyValues:
    """In place of a tuple for code that is proved to see nothing else of it: one for all tuples of a batch."""

    __slots__ = ("values",)
    values: Any


class ClassWay(Way):
    """`Bolt.process`: the loop is kept bare, and one None after each tuple's records says where the next begin."""

    def __init__(self, component: str, origins: dict[int, Origin], warn: Callable[[int, str], None]) -> None:
        """`warn` tells of what is no failure, by task."""
        self._component = component
        self._origins = origins
        self._warn = warn
        self._warned = False
        self._function: Any = None  # of `process`, and what it sees of its tuples
        self._seen = Seen.TUPLE

    def run(self, slot: TaskSlot, batch: Batch) -> Outcome:
        """Process every row of the batch."""
        collector: Collector = slot.collector
        count, failures = len(batch.rows), dict[int, Failure]()
        out = collector.begin()
        end = out.append
        try:
            process = slot.instance.process
            tups, left, only = self._given(process, batch)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - to look it up may run user code: a property, a __getattribute__
            collector.end()
            return Outcome.failed(count, error)
        while True:
            try:
                if tups is None:
                    for only.values in left:
                        if (returned := process(only)) is not None:
                            self._look_at(returned, slot)
                        end(None)
                else:
                    for tup in left:
                        if (returned := process(tup)) is not None:
                            self._look_at(returned, slot)
                        end(None)
                break
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the step's door: the tuple fails, the worker goes on
                failures[out.count(None)] = Failure(error, _judged_last(out))
                end(None)
        collector.end()
        outcome = self._columns(out, count) if collector.plain and not failures else Outcome.of_calls(_split(out, failures))
        outcome.tups = tups
        return outcome

    def _given(self, process: Any, batch: Batch) -> tuple[list[Tuple] | None, Iterator[Any], OnlyValues]:
        """The tuples and an iterator over them; or, where nobody would see them, None and one over the values alone."""
        function = process.__func__ if type(process) is MethodType else None
        if function is not self._function:
            self._function, self._seen = function, seen_of_argument(function)
        origin = self._origins[batch.edge]
        if self._seen is Seen.TUPLE:
            tups = origin.tuples(batch)
            return tups, iter(tups), OnlyValues()
        return None, iter(batch.rows) if self._seen is Seen.ROW else map(origin.kind, batch.rows), OnlyValues()

    @staticmethod
    def _columns(out: Records, count: int) -> Outcome:
        """Rows of the default stream only, any number for each tuple."""
        if len(out) == 2 * count and out[1::2].count(None) == count:
            return Outcome(out[0::2])
        if len(out) == count:
            return Outcome([], [0] * count)
        ends = [position for position, row in enumerate(out) if row is None]
        counts = [end - start - 1 for start, end in zip([-1, *ends], ends, strict=False)]
        return Outcome([row for row in out if row is not None], counts)

    async def wait(self, slot: TaskSlot, batch: Batch, records: Records) -> Outcome:
        """Process the only row of the batch."""
        tups = self._origins[batch.edge].tuples(batch)
        outcome = Outcome.of_calls([await wait_call(self._component, records, slot.instance, "process", tups[0])])
        outcome.tups = tups
        return outcome

    def _look_at(self, returned: Any, slot: TaskSlot) -> None:
        """What `process` returns is not read; most often somebody thought that it was."""
        refuse_unfinished(returned, self._component, "process")
        if not self._warned:
            self._warned = True
            self._warn(slot.task_id, f"what process returns is not sent, emit it with self.emit(...); it returned {shown(returned)}")


def _judged_last(out: Records) -> list[Tuple]:
    """The tuples that the last call in a chunk's records gave a verdict on."""
    last = Records()
    for record in reversed(out):
        if record is None:
            break
        last.append(record)
    return last.tuples()


def _split(out: Records, failures: dict[int, Failure]) -> list[Call]:
    """The records of each call of a chunk."""
    calls: list[Call] = []
    start = 0
    for position, record in enumerate(out):
        if record is None:
            calls.append(failures.get(len(calls)) or out[start:position])
            start = position + 1
    return calls


class BatchBoltWay(Way):
    """`BatchBolt.process_batch`: a returned list pairs with the inputs; anything else was emitted with anchors."""

    def __init__(self, results: Results, origins: dict[int, Origin]) -> None:
        self._results = results
        self._origins = origins

    def run(self, slot: TaskSlot, batch: Batch) -> Outcome:
        """Process every row of the batch."""
        tups = self._origins[batch.edge].tuples(batch)
        records = slot.collector.begin(needs_anchors=True)
        try:
            # a list of its own: it may be emptied, or sorted, by whoever works it off
            return self._outcome(slot.instance.process_batch(list(tups)), tups, records)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            return self._failed(error, tups, records)
        finally:
            slot.collector.end()

    async def wait(self, slot: TaskSlot, batch: Batch, records: Records) -> Outcome:
        """Process every row of the batch."""
        tups = self._origins[batch.edge].tuples(batch)
        records.needs_anchors = True
        try:
            returned = slot.instance.process_batch(list(tups))
            return self._outcome(await returned if isinstance(returned, Awaitable) else returned, tups, records)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the step's door
            return self._failed(error, tups, records)

    def _outcome(self, returned: Any, tups: list[Tuple], records: Records) -> Outcome:
        count = len(tups)
        outcome = Outcome([], [0] * count) if returned is None else self._results.outcome(self._results.paired(returned, count), {})
        if records:
            outcome = Outcome.of_calls(outcome.as_calls(), records)
        outcome.tups = tups
        return outcome

    @staticmethod
    def _failed(error: BaseException, tups: list[Tuple], records: Records) -> Outcome:
        outcome = Outcome.failed(len(tups), error, records.tuples())
        outcome.tups = tups
        return outcome


# ---- single calls: ticks, hooks that may emit


def run_call(collector: Collector, instance: Any, name: str, *args: Any) -> Call:
    """Call something of an instance that may emit, where its `process` runs."""
    records = collector.begin()
    try:
        refuse_unfinished(getattr(instance, name)(*args), collector.component, name)
    except Interrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the step's door: reported, the worker goes on
        return Failure(error, records.tuples())
    finally:
        collector.end()
    return records


async def wait_call(component: str, records: Records, instance: Any, name: str, *args: Any) -> Call:
    """The same for what may be awaited; `records` is where it emits to."""
    try:
        returned = getattr(instance, name)(*args)
        refuse_unfinished(await returned if isinstance(returned, Awaitable) else returned, component, name)
    except Interrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the step's door
        return Failure(error, records.tuples())
    return records


def refuse_unfinished(returned: Any, component: str, name: str) -> None:
    """Raise EmitError when a call has only been begun: nobody would ever run the rest."""
    if not is_unfinished(returned):
        return
    if isinstance(returned, types.CoroutineType):
        returned.close()  # else Python warns that it was never awaited, wherever it is collected
    waits = isinstance(returned, Awaitable)
    cure = "write `async def process`, and await what it calls" if waits else "emit with self.emit(...), not with yield"
    raise EmitError(component, "default", f"{name} returned {shown(returned)}, which nobody runs; {cure}")


def make_way(plan: ComponentPlan, port: Port | None, origins: dict[int, Origin], warn: Callable[[int, str], None], sample: Any) -> Way:
    """The way for a component; `sample` is its function bolt when it is one."""
    if plan.shape == "function":
        results = Results(plan.id, port, place_of(sample.function))
        if sample.columns:
            return ColumnFunctionWay(plan.id, results, origins, sample.function, sample.columns == "numpy")
        if sample.batch:
            return BatchFunctionWay(results)
        return FunctionWay(results, port is not None and always_returns_row(sample.function, port.width))
    if plan.shape == "stateful_function":
        function = inspect.getattr_static(plan.kind, "__call__")
        certain = port is not None and always_returns_row(function, port.width)
        return StatefulFunctionWay(function, lambda method: Results(plan.id, port, place_of(method)), certain)
    if plan.shape == "batch_bolt":
        return BatchBoltWay(Results(plan.id, port, "process_batch"), origins)
    return ClassWay(plan.id, origins, warn)


def place_of(function: Any) -> str:
    """A function's name, and where it stands."""
    found = inspect.unwrap(function)
    code, name = getattr(found, "__code__", None), getattr(function, "__qualname__", type(function).__name__)
    return str(name) if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"
