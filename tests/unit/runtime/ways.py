"""Every way to write a bolt, as makers of a bolt that calls `trip(number, moment)` around what it emits; and every way to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pasps import BatchBolt, Bolt, StatefulFunction, Stream, Tuple, bolt

BEFORE, BETWEEN, AFTER = "before", "between", "after"


class OwnError(Exception):
    """Needs its arguments, so that it does not unpickle."""

    def __init__(self, where: str, *, why: str) -> None:
        super().__init__(where)
        self.why = why


class HoldsALockError(Exception):
    def __init__(self) -> None:
        super().__init__("cannot be pickled")
        self.held = lambda: None


class SaysNothingError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class NoException(BaseException):
    """A BaseException of the user's own."""


def _deep(depth: int = 0) -> int:
    return _deep(depth + 1) + 1


def raising(kind: type[BaseException], *args: Any, **fields: Any) -> Callable[[], object]:
    def fault() -> None:
        raise kind(*args, **fields)

    return fault


RAISED: dict[str, Callable[[], object]] = {
    "ValueError": partial(int, "no number"),
    "not picklable": raising(HoldsALockError),
    "str raises": raising(SaysNothingError),
    "needs arguments": raising(OwnError, "here", why="there"),
    "StopIteration": lambda: next(iter(())),
    "StopAsyncIteration": raising(StopAsyncIteration),
    "GeneratorExit": raising(GeneratorExit),
    "CancelledError": raising(asyncio.CancelledError),
    "SystemExit": raising(SystemExit, 3),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "MemoryError": raising(MemoryError),
    "RecursionError": _deep,
    "own BaseException": raising(NoException, "mine"),
    "surrogate": raising(ValueError, "caf\udce9"),
}
"""What user code raises, by name."""


class CannotTravel:
    """Has no place in a message between workers."""


SPOILT: dict[str, Any] = {"wrong width": (1, 2, 3, 4, 5), "cannot travel": CannotTravel()}
"""What user code gives in place of a row of its values, by name."""


@dataclass
class Trip:
    """Fails the calls of some numbers at one moment, `once` or each time, and knows which those were."""

    fault: str
    moment: str
    numbers: frozenset[int]
    once: bool
    tripped: list[int] = field(default_factory=list)
    calls: list[list[int]] = field(default_factory=list)

    def begin(self, *numbers: int) -> None:
        """A call begins, of these."""
        self.calls.append(list(numbers))

    def __call__(self, number: int, moment: str) -> None:
        if self.fault in RAISED and moment == self.moment and self._is_due(number):
            RAISED[self.fault]()

    def row(self, number: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is emitted for a number."""
        if self.fault in SPOILT and self._is_due(number):
            spoilt = SPOILT[self.fault]
            return spoilt if isinstance(spoilt, tuple) else (spoilt, *row[1:])
        return row

    def _is_due(self, number: int) -> bool:
        if number not in self.numbers or (self.once and number in self.tripped):
            return False
        self.tripped.append(number)
        return True

    def failed(self, whole_calls: bool) -> list[int]:
        """The numbers whose call failed."""
        if not whole_calls:
            return sorted(self.tripped)
        left, failed = list(self.tripped), []
        for numbers in self.calls:
            culprit = next((number for number in numbers if number in left), None)
            if culprit is not None:
                left.remove(culprit)
                failed += numbers
        return sorted(failed)


@dataclass(frozen=True)
class Way:
    """`make(trip, fields)` gives the bolt; for each number it emits `copies` rows, in turn to the `streams`.

    `moments` are those that it can fail at, `batch` whether a call takes several numbers, `whole` whether one row of a wrong width
    costs all of them.
    """

    name: str
    make: Callable[[Trip, list[str]], Any]
    copies: int = 1
    streams: tuple[str, ...] = ("default",)
    moments: tuple[str, ...] = (BEFORE,)
    batch: bool = False
    whole: bool = False

    def wanted(self, number: int, width: int) -> list[tuple[str, tuple[Any, ...]]]:
        """The rows of a number, each with its stream."""
        return [(self.streams[copy % len(self.streams)], values(number, copy, width)) for copy in range(self.copies)]


def values(number: int, copy: int, width: int) -> tuple[Any, ...]:
    return (number, f"{number}/{copy}")[:width]


def names(width: int) -> list[str]:
    return ["number", "text"][:width]


# ---- functions


def fn_value(trip: Trip, fields: list[str]) -> Any:
    @bolt(outputs=fields)
    def work(number: int) -> Any:
        trip.begin(number)
        trip(number, BEFORE)
        row = trip.row(number, values(number, 0, len(fields)))
        return row[0] if len(row) == 1 else row

    return work


def fn_rows(trip: Trip, fields: list[str]) -> Any:
    @bolt(outputs=fields)
    def work(number: int) -> Any:
        trip.begin(number)
        trip(number, BEFORE)
        return [values(number, 0, len(fields)), trip.row(number, values(number, 1, len(fields)))]

    return work


def fn_nothing(trip: Trip, fields: list[str]) -> Any:
    @bolt(outputs=fields)
    def work(number: int) -> None:
        trip.begin(number)
        trip(number, BEFORE)

    return work


def generator(execution: Any) -> Callable[[Trip, list[str]], Any]:
    def make(trip: Trip, fields: list[str]) -> Any:
        @bolt(outputs=fields, execution=execution)
        def work(number: int) -> Iterator[Any]:
            trip.begin(number)
            trip(number, BEFORE)
            yield values(number, 0, len(fields))
            trip(number, BETWEEN)
            yield trip.row(number, values(number, 1, len(fields)))
            trip(number, AFTER)

        return work

    return make


def fn_batch(trip: Trip, fields: list[str]) -> Any:
    @bolt(outputs=fields, batch=True)
    def work(found: list[tuple[int]]) -> list[Any]:
        trip.begin(*(number for (number,) in found))
        for (number,) in found:
            trip(number, BEFORE)
        return [trip.row(number, values(number, 0, len(fields))) for (number,) in found]

    return work


def fn_thread(trip: Trip, fields: list[str]) -> Any:
    @bolt(outputs=fields, execution="thread")
    def work(number: int) -> Any:
        trip.begin(number)
        trip(number, BEFORE)
        return trip.row(number, values(number, 0, len(fields)))

    return work


def fn_async(trip: Trip, fields: list[str]) -> Any:
    @bolt(outputs=fields, concurrency=3)
    async def work(number: int) -> Any:
        trip.begin(number)
        await asyncio.sleep(0.001)
        trip(number, BEFORE)
        return trip.row(number, values(number, 0, len(fields)))

    return work


def fn_columns(columns: Any, how: str = "inline") -> Callable[[Trip, list[str]], Any]:
    def make(trip: Trip, fields: list[str]) -> Any:
        def work(found: Any) -> list[list[Any]]:
            numbers = found if columns is True else found.tolist()
            trip.begin(*numbers)
            rows = []
            for number in numbers:
                trip(number, BEFORE)
                rows.append(trip.row(number, values(number, 0, len(fields))))
                if len(rows[-1]) != len(fields):
                    break
            # a row of a wrong width makes too many columns, and short ones
            return [[row[place] for row in rows if place < len(row)] for place in range(max(map(len, rows)))]

        async def async_work(found: Any) -> list[list[Any]]:
            await asyncio.sleep(0.001)
            return work(found)

        execution: Any = "thread" if how == "thread" else "inline"
        return bolt(outputs=fields, columns=columns, execution=execution)(async_work if how == "async" else work)

    return make


# ---- functions with state


class Stateful(StatefulFunction):
    """Counts its calls; a call that failed is no reason to forget it."""

    def __init__(self, trip: Trip, fields: list[str]) -> None:
        self.trip, self.outputs = trip, fields

    def __deepcopy__(self, memo: Any) -> Any:  # each task has a state of its own, and all of them the trip
        return type(self)(self.trip, list(self.outputs))  # type: ignore[arg-type]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.width, self.count = len(self.outputs), 0

    def begin(self, number: int) -> None:
        self.count += 1
        self.trip.begin(number)
        self.trip(number, BEFORE)


class StatefulRow(Stateful):
    def __call__(self, number: int) -> Any:
        self.begin(number)
        return self.trip.row(number, values(number, 0, self.width))


class StatefulOnThread(StatefulRow):
    execution = "thread"


class StatefulAsync(Stateful):
    concurrency = 3

    async def __call__(self, number: int) -> Any:
        self.begin(number)
        await asyncio.sleep(0.001)
        return self.trip.row(number, values(number, 0, self.width))


class StatefulList(Stateful):
    """Returns the same list each time."""

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        super().initialize(conf, ctx)
        self.found: list[Any] = []

    def __call__(self, number: int) -> Any:
        self.found.clear()
        self.begin(number)
        self.found += [values(number, 0, self.width), self.trip.row(number, values(number, 1, self.width))]
        return self.found


class StatefulYields(Stateful):
    def __call__(self, number: int) -> Iterator[Any]:
        self.begin(number)
        yield values(number, 0, self.width)
        self.trip(number, BETWEEN)
        yield self.trip.row(number, values(number, 1, self.width))
        self.trip(number, AFTER)


class StatefulSilent(Stateful):
    def __call__(self, number: int) -> None:
        self.begin(number)


# ---- classes


def emits(self: Any, trip: Trip, tup: Tuple, stream: str | None = None, **options: Any) -> Iterator[None]:
    """Two emissions with pauses between them, and faults around them."""
    number, width = tup.values[0], len(self.fields)
    trip.begin(number)
    trip(number, BEFORE)
    self.emit(values(number, 0, width), **options)
    yield
    trip(number, BETWEEN)
    self.emit(trip.row(number, values(number, 1, width)), stream=stream, **options)
    yield
    trip(number, AFTER)


def klass(how: str = "inline", *, stream: str | None = None, verdict: str = "", anchored: bool = False) -> Callable[[Trip, list[str]], Any]:
    """A class that emits two rows for each number; `verdict`: with auto_ack off, acks at that moment."""

    def make(trip: Trip, fields: list[str]) -> Any:
        class Work(Bolt):
            outputs = [Stream(fields), Stream(fields, "other")]
            execution = "thread" if how == "thread" else "inline"
            auto_ack = not verdict

            def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
                self.fields = fields

            def process(self, tup: Tuple) -> None:
                for _ in emits(self, trip, tup, stream, **({"anchors": [tup]} if anchored else {})):
                    if verdict == BETWEEN and tup.state == 0:
                        self.ack(tup)
                if verdict == AFTER:
                    self.ack(tup)

        class AsyncWork(Work):
            concurrency = 3

            async def process(self, tup: Tuple) -> None:  # type: ignore[override]
                for _ in emits(self, trip, tup, stream):
                    await asyncio.sleep(0.001)

        return AsyncWork if how == "async" else Work

    return make


def class_one(trip: Trip, fields: list[str]) -> Any:
    class Work(Bolt):
        outputs = fields

        def process(self, tup: Tuple) -> None:
            number = tup.values[0]
            trip.begin(number)
            trip(number, BEFORE)
            self.emit(trip.row(number, values(number, 0, len(fields))))
            trip(number, AFTER)

    return Work


def class_values(trip: Trip, fields: list[str]) -> Any:
    """Sees nothing but the values of its tuples."""

    class Work(Bolt):
        outputs = [Stream(fields), Stream(fields, "other")]

        def process(self, tup: Tuple) -> None:
            given = tup.values
            trip.begin(given.number)
            trip(given.number, BEFORE)
            self.emit(values(given.number, 0, len(fields)))
            trip(given[0], BETWEEN)
            self.emit(trip.row(given.number, values(given.number, 1, len(fields))), stream="other")
            trip(given[0], AFTER)

    return Work


def class_none(trip: Trip, fields: list[str]) -> Any:
    class Work(Bolt):
        outputs = fields

        def process(self, tup: Tuple) -> None:
            trip.begin(tup.values[0])
            trip(tup.values[0], BEFORE)

    return Work


def batch_bolt(how: str, emitted: bool) -> Callable[[Trip, list[str]], Any]:
    def make(trip: Trip, fields: list[str]) -> Any:
        class Work(BatchBolt):
            outputs = fields
            max_batch = 8
            execution = "thread" if how == "thread" else "inline"

            def process_batch(self, tuples: list[Tuple]) -> Any:
                trip.begin(*(tup.values[0] for tup in tuples))
                found = []
                for tup in tuples:
                    number = tup.values[0]
                    trip(number, BEFORE)
                    row = trip.row(number, values(number, 0, len(fields)))
                    if emitted:
                        self.emit(row, anchors=[tup])
                    found.append(row)
                    trip(number, AFTER)
                return None if emitted else found

        class AsyncWork(Work):
            async def process_batch(self, tuples: list[Tuple]) -> Any:
                await asyncio.sleep(0.001)
                return super().process_batch(tuples)

        return AsyncWork if how == "async" else Work

    return make


ALL = (BEFORE, BETWEEN, AFTER)
ENDS = (BEFORE, AFTER)
BOTH = ("default", "other")
WAYS = [
    Way("function, a value", fn_value),
    Way("function, a list of rows", fn_rows, copies=2),
    Way("function, nothing", fn_nothing, copies=0),
    Way("function, a generator", generator("inline"), copies=2, moments=ALL),
    Way("batch function", fn_batch, batch=True),
    Way("function on a thread", fn_thread),
    Way("generator on a thread", generator("thread"), copies=2, moments=ALL),
    Way("async function", fn_async),
    Way("column function", fn_columns(True), batch=True, whole=True),
    Way("column function, arrays", fn_columns("numpy"), batch=True, whole=True),
    Way("column function on a thread", fn_columns("numpy", "thread"), batch=True, whole=True),
    Way("async column function", fn_columns(True, "async"), batch=True, whole=True),
    Way("stateful function, a row", StatefulRow),
    Way("stateful function, a list it keeps", StatefulList, copies=2),
    Way("stateful function, nothing", StatefulSilent, copies=0),
    Way("stateful generator", StatefulYields, copies=2, moments=ALL),
    Way("stateful function on a thread", StatefulOnThread),
    Way("async stateful function", StatefulAsync),
    Way("class, one", class_one, moments=ENDS),
    Way("class, sees the values alone", class_values, copies=2, streams=BOTH, moments=ALL),
    Way("class, none", class_none, copies=0),
    Way("class, several", klass(), copies=2, moments=ALL),
    Way("class, two streams", klass(stream="other"), copies=2, streams=BOTH, moments=ALL),
    Way("class, explicit anchors", klass(anchored=True), copies=2, moments=ALL),
    Way("class, acks at the end", klass(verdict=AFTER), copies=2, moments=ALL),
    Way("class, acks between", klass(verdict=BETWEEN), copies=2, moments=ALL),
    Way("class on a thread", klass("thread", stream="other"), copies=2, streams=BOTH, moments=ALL),
    Way("async class", klass("async", stream="other"), copies=2, streams=BOTH, moments=ALL),
    Way("batch bolt, returns", batch_bolt("inline", False), moments=ENDS, batch=True),
    Way("batch bolt, emits", batch_bolt("inline", True), moments=ENDS, batch=True, whole=True),
    Way("batch bolt on a thread, returns", batch_bolt("thread", False), moments=ENDS, batch=True),
    Way("batch bolt on a thread, emits", batch_bolt("thread", True), moments=ENDS, batch=True, whole=True),
    Way("async batch bolt, returns", batch_bolt("async", False), moments=ENDS, batch=True),
    Way("async batch bolt, emits", batch_bolt("async", True), moments=ENDS, batch=True, whole=True),
]
