"""What makes a class, an instance or a function a component that can run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pasps.api import BatchBolt, Bolt, Spout, StatefulFunction, Stream, Tuple, bolt
from pasps.api.examine import examine
from pasps.errors import TopologyError


class Plain(Bolt):
    def process(self, tup: Tuple) -> None: ...


class Threaded(Plain):
    execution = "thread"


class Async(Bolt):
    concurrency = 4

    async def process(self, tup: Tuple) -> None: ...

    async def process_tick(self, tup: Tuple) -> None: ...


class Batch(BatchBolt):
    def process_batch(self, tuples: list[Tuple]) -> list[Any]:
        return []


class ThreadedBatch(Batch):
    execution = "thread"


class AsyncBatch(BatchBolt):
    async def process_batch(self, tuples: list[Tuple]) -> None: ...


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None: ...


class Stateful(StatefulFunction):
    outputs = ["word"]

    def __call__(self, word: str) -> str:
        return word


class ThreadedStateful(Stateful):
    execution = "thread"

    def __call__(self, word: str) -> Iterator[str]:  # type: ignore[override]
        yield word

    def finish(self) -> Iterator[str]:
        yield "the end"


class AsyncStateful(StatefulFunction):
    concurrency = 4

    async def __call__(self, word: str) -> None: ...

    async def process_tick(self, tup: Tuple) -> None: ...

    def finish(self) -> None: ...


@bolt
def function(a: int) -> None: ...


@bolt(execution="thread")
def threaded(a: int) -> None: ...


@bolt(concurrency=3)
async def awaited(a: int) -> None: ...


@pytest.mark.parametrize(
    ("subject", "shape", "execution", "concurrency"),
    [
        (Words, "spout", "inline", 1),
        (Words(), "spout", "inline", 1),
        (Plain, "bolt", "inline", 1),
        (Plain(), "bolt", "inline", 1),
        (Threaded, "bolt", "thread", 1),
        (Async, "bolt", "async", 4),
        (Async(), "bolt", "async", 4),
        (Batch, "batch_bolt", "inline", 1),
        (ThreadedBatch, "batch_bolt", "thread", 1),
        (AsyncBatch, "batch_bolt", "async", 1),
        (Stateful, "stateful_function", "inline", 1),
        (Stateful(), "stateful_function", "inline", 1),
        (ThreadedStateful, "stateful_function", "thread", 1),
        (AsyncStateful, "stateful_function", "async", 4),
        (function, "function", "inline", 1),
        (threaded, "function", "thread", 1),
        (awaited, "function", "async", 3),
    ],
)
def test_shape_and_execution(subject: Any, shape: str, execution: str, concurrency: int) -> None:
    found = examine("c", subject)
    assert (found.shape, found.execution, found.concurrency) == (shape, execution, concurrency)
    made = found.make()
    assert made is subject if shape == "function" else isinstance(made, subject if isinstance(subject, type) else type(subject))


def test_an_instance_may_set_for_itself_what_its_class_has_otherwise() -> None:
    one = Words()
    one.outputs = ["line", "number"]
    assert examine("c", one).streams["default"].fields == ["line", "number"]


def test_a_mixin_may_have_methods_of_the_same_name() -> None:
    class Mixin:
        def emit(self) -> None: ...

    class Mixed(Plain, Mixin): ...  # type: ignore[misc]

    assert examine("c", Mixed).shape == "bolt"


class NoNext(Spout):
    outputs = ["word"]


class YieldingSpout(Words):
    def next_tuple(self) -> Iterator[int]:  # type: ignore[override]
        yield 1


class AsyncSpout(Words):
    async def next_tuple(self) -> None: ...  # type: ignore[override]


class Silent(Words):
    outputs = []


class NoProcess(Bolt): ...


class BatchByMistake(Bolt):
    def process_batch(self, tuples: list[Tuple]) -> None: ...


class NoBatch(BatchBolt): ...


class OneByMistake(BatchBolt):
    def process(self, tup: Tuple) -> None: ...


class Yielding(Bolt):
    def process(self, tup: Tuple) -> Iterator[int]:  # type: ignore[override]
        yield 1


class AsyncYielding(Bolt):
    async def process(self, tup: Tuple) -> AsyncIterator[int]:  # type: ignore[override]
        yield 1


class AsyncTick(Plain):
    async def process_tick(self, tup: Tuple) -> None: ...


class AsyncThread(Async):
    execution = "thread"


class AsyncBatchThread(AsyncBatch):
    execution = "thread"


class Processes(Plain):
    execution = "process"  # type: ignore[assignment]


class Concurrent(Plain):
    concurrency = 2


class NotConcurrent(Async):
    concurrency = 0


class OwnEmit(Plain):
    def emit(self, *args: Any, **options: Any) -> None: ...


class OwnPosition(Words):
    def save_position(self, value: Any) -> None: ...


class WithArguments(Plain):
    def __init__(self, path: str) -> None:
        self.path = path


class Unfinished(Plain, ABC):
    @abstractmethod
    def score(self) -> float: ...


class Typo(Plain):
    outputs = "word"


class OneArgument(Bolt):
    def process(self) -> None: ...  # type: ignore[override]


class ByKey(BatchBolt):
    def process_batch(self, key: str, tuples: list[Tuple]) -> None: ...  # type: ignore[override]


class AsyncInitialize(Plain):
    async def initialize(self, conf: Any, ctx: Any) -> None: ...  # type: ignore[override]


class YieldingFail(Words):
    def fail(self, tup_id: Any) -> Iterator[int]:  # type: ignore[override]
        yield 1


class NoMethod(Plain):
    close = None  # type: ignore[assignment]


class NotSwitched(Plain):
    auto_ack = 0  # type: ignore[assignment]


class NoCall(StatefulFunction): ...


class YieldsAwaited(StatefulFunction):
    async def __call__(self, a: int) -> AsyncIterator[int]:
        yield a


class FinishYieldsAwaited(AsyncStateful):
    async def finish(self) -> AsyncIterator[int]:  # type: ignore[override]
        yield 1


class AsyncFinish(Stateful):
    async def finish(self) -> None: ...


class AsyncStatefulThread(AsyncStateful):
    concurrency = 1
    execution = "thread"


class Switched(Stateful):
    auto_ack = False


class ToOther(Stateful):
    outputs = [Stream(["word"]), Stream(["word"], "other")]


class StatefulTick(Stateful):
    def process_tick(self) -> None: ...  # type: ignore[override]


def undecorated(a: int) -> None: ...


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (3, "neither a Spout, nor a Bolt, nor a function bolt: 3; derive a class from Spout or Bolt"),
        (dict, "neither a Spout, nor a Bolt, nor a function bolt: <class 'dict'>; derive a class from Spout or Bolt"),
        (undecorated, f"neither a Spout, nor a Bolt, nor a function bolt: {undecorated!r}; decorate it with @bolt(outputs=[...])"),
        (NoNext, "this spout does not define next_tuple(); define it, and emit what is due there"),
        (
            YieldingSpout,
            "next_tuple() must be a plain method, not async and without yield; call self.emit(...), and return seconds to be asked later",
        ),
        (
            AsyncSpout,
            "next_tuple() must be a plain method, not async and without yield; call self.emit(...), and return seconds to be asked later",
        ),
        (Silent, "this spout declares no outputs; set outputs = ['field', ...]"),
        (NoProcess, "this bolt does not define process(tup); define process(self, tup)"),
        (BatchByMistake, "this bolt does not define process(tup); derive from BatchBolt, or from BatchingBolt for batches by key"),
        (NoBatch, "this batch bolt does not define process_batch(tuples); define process_batch(self, tuples)"),
        (OneByMistake, "this batch bolt does not define process_batch(tuples); derive from Bolt"),
        (Yielding, "process() contains yield, so calling it would run nothing; call self.emit(...) instead of yield"),
        (AsyncYielding, "process() contains yield, so calling it would run nothing; call self.emit(...) instead of yield"),
        (
            AsyncTick,
            "process_tick() is async but process() is not, so nothing would await it; "
            "make both async, or neither (process decides how the bolt runs)",
        ),
        (AsyncThread, "async code runs on the event loop, so execution cannot be 'thread'; drop one of async and execution = 'thread'"),
        (
            AsyncBatchThread,
            "async code runs on the event loop, so execution cannot be 'thread'; drop one of async and execution = 'thread'",
        ),
        (Processes, "execution must be 'inline' or 'thread', got 'process'; use one of the two"),
        (bolt(execution="process")(len), "execution must be 'inline' or 'thread', got 'process'; use one of the two"),  # type: ignore[call-overload]
        (Concurrent, "concurrency = 2 means something for async code alone; write `async def`, or raise par and pool"),
        (bolt(concurrency=2)(len), "concurrency = 2 means something for async code alone; write `async def`, or raise par and pool"),
        (NotConcurrent, "concurrency must be an integer of at least 1, got 0; 1 is the default"),
        (OwnEmit, "OwnEmit overrides emit(), which the runtime puts in place on each instance; give your method another name"),
        (
            OwnPosition,
            "OwnPosition overrides save_position(), which the runtime puts in place on each instance; give your method another name",
        ),
        (
            WithArguments,
            "WithArguments(path) is made without arguments: missing a required argument: 'path'; "
            "give TopologyBuilder an instance, or read its arguments from conf in initialize()",
        ),
        (Unfinished, "Unfinished is abstract (score not defined); define what is missing"),
        (OneArgument, "process(self) is called as process(tup): too many positional arguments; define process(self, tup)"),
        (
            ByKey,
            "process_batch(self, key, tuples) is called as process_batch(tuples): missing a required argument: 'tuples'; "
            "define process_batch(self, tuples); for batches by key derive from BatchingBolt",
        ),
        (
            AsyncInitialize,
            "initialize() must be a plain method, not async and without yield: nothing would run it; define initialize(self, conf, ctx)",
        ),
        (YieldingFail, "fail() must be a plain method, not async and without yield: nothing would run it; define fail(self, tup_id)"),
        (NoMethod, "close must be a method, got None; define close(self)"),
        (NotSwitched, "auto_ack must be True or False, got 0; True is the default"),
        (
            Plain.spec(),
            "neither a Spout, nor a Bolt, nor a function bolt: Plain.spec(); "
            "give what .spec() was called on; specs are for topologies that are written as classes",
        ),
        (
            NoCall,
            "this stateful function does not define __call__; define __call__(self, ...), with an argument for each field of its input",
        ),
        (YieldsAwaited, "an async __call__() cannot yield; return a list of tuples"),
        (FinishYieldsAwaited, "an async finish() cannot yield; return a list of tuples"),
        (
            AsyncFinish,
            "finish() is async but __call__() is not, so nothing would await it; make both async, or neither "
            "(__call__ decides how the bolt runs)",
        ),
        (
            AsyncStatefulThread,
            "async code runs on the event loop, so execution cannot be 'thread'; drop one of async and execution = 'thread'",
        ),
        (
            Switched,
            "auto_ack is for a Bolt: what a stateful function is given is acked when its call is over, or fails with it; "
            "drop it, or derive from Bolt",
        ),
        (StatefulTick, "process_tick(self) is called as process_tick(tup): too many positional arguments; define process_tick(self, tup)"),
        (Typo, "outputs must be a list of field names or of Streams, got 'word'; write outputs = ['word']"),
    ],
)
def test_what_cannot_run_is_refused_with_the_cure(subject: Any, expected: str) -> None:
    with pytest.raises(TopologyError) as caught:
        examine("c", subject)
    assert str(caught.value) == f"component 'c': {expected}"


def test_a_stateful_function_has_one_stream_that_is_not_direct() -> None:
    with pytest.raises(TopologyError) as caught:
        examine("c", ToOther)
    problem = "a stateful function emits to 'default' alone, and never directly"
    assert str(caught.value) == f"component 'c', stream 'other': {problem}; write a class derived from Bolt"


def test_an_instance_of_a_class_with_arguments_is_accepted() -> None:
    assert examine("c", WithArguments("/tmp/a")).make().path == "/tmp/a"


def bolt_with(name: str, base: type = Plain) -> type:
    return type("Ported", (base,), {name: lambda self, *given: None})


@pytest.mark.parametrize(
    ("ported", "cure"),
    [
        (bolt_with("getComponentConfiguration"), "set config = {'key': value} on the class"),
        (bolt_with("get_component_configuration"), "set config = {'key': value} on the class"),
        (bolt_with("get_component_configuration", Words), "set config = {'key': value} on the class"),
        (bolt_with("declareOutputFields"), "set outputs = ['field', ...] on the class"),
        (bolt_with("declare_output_fields", Words), "set outputs = ['field', ...] on the class"),
        (bolt_with("prepare"), "define initialize(self, conf, ctx)"),
        (bolt_with("open", Words), "define initialize(self, conf, ctx)"),
        (bolt_with("execute"), "define process(self, tup)"),
        (bolt_with("cleanup"), "define close(self)"),
        (bolt_with("nextTuple", Words), "define next_tuple(self)"),
        (bolt_with("next_tuple"), "derive from Spout, or define process(self, tup)"),
        (bolt_with("process_batch"), "derive from BatchBolt, or from BatchingBolt for batches by key"),
        (bolt_with("process", Batch), "derive from Bolt"),
        (bolt_with("execute", Stateful), "define __call__(self, ...)"),
        (bolt_with("process", Stateful), "derive from Bolt"),
        (bolt_with("process_batch", Stateful), "derive from BatchBolt"),
        (bolt_with("process_tick", Words), "only bolts get ticks: return the seconds to wait from next_tuple()"),
    ],
)
def test_what_only_storm_would_call_is_refused_with_what_to_use(ported: type, cure: str) -> None:
    name = next(name for name in vars(ported) if not name.startswith("__"))
    with pytest.raises(TopologyError) as caught:
        examine("c", ported)
    problem = f"Ported defines {name}(), which Storm or streamparse calls and pasps does not"
    assert str(caught.value) == f"component 'c': {problem}; {cure}; a method of your own needs another name"


def test_a_method_of_such_a_name_that_the_class_itself_uses_is_its_own() -> None:
    class Prepares(Plain):
        def prepare(self, word: str) -> str:
            return word.lower()

        def process(self, tup: Tuple) -> None:
            self.emit([self.prepare(word) for word in tup.values])

    class Helper:
        def execute(self, text: str) -> None: ...

    class Mixed(Plain, Helper): ...

    assert examine("c", Prepares).shape == examine("c", Mixed).shape == "bolt"
