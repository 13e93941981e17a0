"""What a declared component is and whether it can run by itself: its shape, streams, methods and way of execution."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from pasps.api.blueprint import Execution, Shape
from pasps.api.bolt import BatchBolt, BatchingBolt, Bolt
from pasps.api.component import Component, declared_streams
from pasps.api.declaration import ClassMaker, CopyMaker, SharedMaker
from pasps.api.function import FunctionBolt, StatefulFunction, check_function_streams
from pasps.api.spec import ComponentSpec
from pasps.api.spout import Spout
from pasps.api.tuples import Stream
from pasps.errors import TopologyError

_HOOKS = {"initialize": "conf, ctx", "activate": "", "deactivate": "", "close": "", "on_move_out": "", "on_move_in": "ctx"}
_CALLED: dict[Shape, dict[str, str]] = {
    "spout": {"next_tuple": "", "ack": "tup_id", "fail": "tup_id", "backlog": "", "due_at": "tup_id", **_HOOKS},
    "bolt": {"process": "tup", "process_tick": "tup", "finish": "", **_HOOKS},
    "batch_bolt": {"process_batch": "tuples", "process_tick": "tup", "finish": "", **_HOOKS},
    "stateful_function": {"process_tick": "tup", "finish": "", **_HOOKS},
}
"""The methods that the runtime calls, with what it gives them."""
_BY_KEY = {**_CALLED["bolt"], "process_batch": "key, tups", "group_key": "tup"}
_AWAITED = frozenset({"process", "process_batch", "process_tick", "finish"})
_BASES: dict[Shape, type[Component]] = {"spout": Spout, "bolt": Bolt, "batch_bolt": BatchBolt, "stateful_function": StatefulFunction}
"""What a class of each shape is derived from, the narrower ones after the wider."""

_NEITHER = {
    "getComponentConfiguration": "set config = {'key': value} on the class",
    "get_component_configuration": "set config = {'key': value} on the class",
    "declareOutputFields": "set outputs = ['field', ...] on the class",
    "declare_output_fields": "set outputs = ['field', ...] on the class",
}
_NO_BOLT = {
    **_NEITHER,
    "execute": "define process(self, tup)",
    "prepare": "define initialize(self, conf, ctx)",
    "cleanup": "define close(self)",
    "next_tuple": "derive from Spout, or define process(self, tup)",
}
_NEVER_CALLED: dict[Shape, dict[str, str]] = {
    "spout": {
        **_NEITHER,
        "open": "define initialize(self, conf, ctx)",
        "nextTuple": "define next_tuple(self)",
        "process": "derive from Bolt, or define next_tuple(self)",
        "process_tick": "only bolts get ticks: return the seconds to wait from next_tuple()",
    },
    "bolt": {**_NO_BOLT, "process_batch": "derive from BatchBolt, or from BatchingBolt for batches by key"},
    "batch_bolt": {**_NO_BOLT, "process": "derive from Bolt"},
    "stateful_function": {
        **_NO_BOLT,
        "execute": "define __call__(self, ...)",
        "process": "derive from Bolt",
        "process_batch": "derive from BatchBolt",
    },
}
"""Names that Storm or streamparse call, and the runtime does not: what a component of each shape has instead."""


@dataclass(frozen=True)
class Examined:
    """What was found."""

    shape: Shape
    make: Callable[[], Any]
    streams: dict[str, Stream]
    execution: Execution
    concurrency: int
    max_batch: int
    finishes: bool


def examine(component: str, subject: Any) -> Examined:
    """Look at a class, an instance or a function bolt; `component` is its id, for the messages.

    Raises:
        TopologyError: it is none of these, or it could not run.
    """
    shape = shape_of(component, subject)
    streams = declared_streams(subject.outputs, component)
    execution: Execution = "inline"
    concurrency = 1
    if shape == "spout":
        _check_spout(component, subject, streams)
    else:
        execution, concurrency = _execution_of(component, subject, shape)
    if shape == "stateful_function":
        check_function_streams(component, subject.outputs, "stateful function")
    if shape != "function":
        _check_methods(component, subject, shape)
    most = _max_batch(component, subject, shape)
    finishes = shape not in ("spout", "function") and _method(subject, "finish") is not _method(_BASES[shape], "finish")
    return Examined(shape, _maker(component, subject, shape), streams, execution, concurrency, most, finishes)


def _max_batch(component: str, subject: Any, shape: Shape) -> int:
    if shape == "function":
        return BatchBolt.max_batch if subject.batch else 1
    if shape != "batch_bolt":
        return 1
    most = subject.max_batch
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        problem = f"max_batch must be an integer of at least 1, got {most!r}"
        raise TopologyError(problem, component=component, cure="set it to the most tuples of one call")
    return most


def shape_of(component: str, subject: Any) -> Shape:
    """Which kind of component `subject` is.

    Raises:
        TopologyError: none of them.
    """
    if isinstance(subject, FunctionBolt):
        return "function"
    kind = subject if isinstance(subject, type) else type(subject)
    for shape, base in reversed(_BASES.items()):
        if issubclass(kind, base):
            return shape
    cure = "derive a class from Spout or Bolt"
    if inspect.isfunction(subject):
        cure = "decorate it with @bolt(outputs=[...])"
    elif isinstance(subject, ComponentSpec):
        cure = "give what .spec() was called on; specs are for topologies that are written as classes"
    raise TopologyError(f"neither a Spout, nor a Bolt, nor a function bolt: {subject!r}", component=component, cure=cure)


def check_arity(component: str, subject: FunctionBolt[..., Any] | StatefulFunction, source: str, stream: Stream) -> None:
    """Refuse a function that cannot be called with the values of an input stream.

    Raises:
        TopologyError: names the function's signature and the stream's fields.
    """
    by_rows = isinstance(subject, FunctionBolt) and subject.batch and not subject.columns
    by_columns = isinstance(subject, FunctionBolt) and subject.columns
    if by_columns and not stream.fields:
        problem = f"it is called by column, but {source!r} emits tuples without fields"
        raise TopologyError(problem, component=component, stream=stream.name, cure="write batch=True in place of columns=")
    name, function = _called(subject)
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have none; calling them will tell
        return
    try:
        signature.bind(*([None] if by_rows else stream.fields))
    except TypeError as error:
        called = f"{name}{_bare(signature)}"
        if by_rows:
            problem, cure = f"{called} is called with one list of rows: {error}", "let it take one positional argument"
        else:
            problem = f"{called} is called {'by column ' if by_columns else ''}with {_listed(stream.fields)} of {source!r}: {error}"
            cure = "let it take one positional argument for each field of every input"
        raise TopologyError(problem, component=component, stream=stream.name, cure=cure) from None


def _called(subject: FunctionBolt[..., Any] | StatefulFunction) -> tuple[str, Callable[..., Any]]:
    """What is called with the values, as it is called, and its name."""
    if isinstance(subject, FunctionBolt):
        return str(subject.__dict__.get("__name__", "the function")), subject.function
    kind = subject if isinstance(subject, type) else type(subject)
    function = inspect.getattr_static(kind, "__call__")
    return f"{kind.__name__}.__call__", function.__get__(object(), kind) if hasattr(function, "__get__") else function


def _bare(signature: inspect.Signature) -> inspect.Signature:
    """Without annotations, which would bury the names."""
    parameters = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _listed(fields: list[str]) -> str:
    return f"the {len(fields)} field{'' if len(fields) == 1 else 's'} ({', '.join(fields)})"


def _check_spout(component: str, subject: Any, streams: dict[str, Stream]) -> None:
    next_tuple = _method(subject, "next_tuple")
    if next_tuple is Spout.next_tuple:
        raise TopologyError("this spout does not define next_tuple()", component=component, cure="define it, and emit what is due there")
    if _is_generator(next_tuple) or inspect.iscoroutinefunction(next_tuple):
        problem = "next_tuple() must be a plain method, not async and without yield"
        raise TopologyError(problem, component=component, cure="call self.emit(...), and return seconds to be asked later")
    if not streams:
        raise TopologyError("this spout declares no outputs", component=component, cure="set outputs = ['field', ...]")


def _execution_of(component: str, subject: Any, shape: Shape) -> tuple[Execution, int]:
    execution, concurrency = subject.execution, subject.concurrency
    if shape == "function":
        is_async = subject.is_async
    else:
        is_async = (_check_call if shape == "stateful_function" else _check_process)(component, subject)
    if execution not in ("inline", "thread"):
        raise TopologyError(f"execution must be 'inline' or 'thread', got {execution!r}", component=component, cure="use one of the two")
    if is_async and execution == "thread":
        problem = "async code runs on the event loop, so execution cannot be 'thread'"
        raise TopologyError(problem, component=component, cure="drop one of async and execution = 'thread'")
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1:
        problem = f"concurrency must be an integer of at least 1, got {concurrency!r}"
        raise TopologyError(problem, component=component, cure="1 is the default")
    if concurrency != 1 and not is_async:
        problem = f"concurrency = {concurrency} means something for async code alone"
        raise TopologyError(problem, component=component, cure="write `async def`, or raise par and pool")
    return "async" if is_async else execution, concurrency


def _check_call(component: str, subject: Any) -> bool:
    """Refuse a stateful function that cannot be called; tell whether it is async."""
    call = _method(subject, "__call__")
    if call is StatefulFunction.__call__:
        cure = "define __call__(self, ...), with an argument for each field of its input"
        raise TopologyError("this stateful function does not define __call__", component=component, cure=cure)
    is_async = inspect.iscoroutinefunction(call)
    for name in ("__call__", "process_tick", "finish"):
        method = _method(subject, name)
        if inspect.isasyncgenfunction(method):
            problem = f"an async {name}() cannot yield"
            raise TopologyError(problem, component=component, cure="return a list of tuples")
        if inspect.iscoroutinefunction(method) and not is_async:
            raise _not_awaited(component, name, "__call__")
    return is_async


def _not_awaited(component: str, method: str, main: str) -> TopologyError:
    problem = f"{method}() is async but {main}() is not, so nothing would await it"
    return TopologyError(problem, component=component, cure=f"make both async, or neither ({main} decides how the bolt runs)")


def _check_process(component: str, subject: Any) -> bool:
    """Refuse a class bolt without the method that runs it; tell whether that one is async."""
    shape = shape_of(component, subject)
    process = _method(subject, "process")
    batch = _method(subject, "process_batch")
    if shape == "bolt" and process is Bolt.process:
        cure = _NEVER_CALLED["bolt"]["process_batch"] if batch is not None else "define process(self, tup)"
        raise TopologyError("this bolt does not define process(tup)", component=component, cure=cure)
    if batch is BatchingBolt.process_batch:
        problem = "this batching bolt does not define process_batch(key, tups)"
        raise TopologyError(problem, component=component, cure="define process_batch(self, key, tups)")
    if shape == "batch_bolt" and batch is BatchBolt.process_batch:
        cure = "derive from Bolt" if process is not Bolt.process else "define process_batch(self, tuples)"
        raise TopologyError("this batch bolt does not define process_batch(tuples)", component=component, cure=cure)
    name, main = ("process", process) if shape == "bolt" else ("process_batch", batch)
    is_async = inspect.iscoroutinefunction(main)
    for method, function in ((name, main), *((hook, _method(subject, hook)) for hook in ("process_tick", "finish"))):
        if _is_generator(function):
            problem = f"{method}() contains yield, so calling it would run nothing"
            raise TopologyError(problem, component=component, cure="call self.emit(...) instead of yield")
        if inspect.iscoroutinefunction(function) and not is_async:
            raise _not_awaited(component, method, name)
    return is_async


def _check_methods(component: str, subject: Any, shape: Shape) -> None:
    """Refuse methods that the runtime could not call as it does, and those that Storm would call and the runtime does not."""
    kind = subject if isinstance(subject, type) else type(subject)
    called, awaited = _CALLED[shape], _AWAITED
    if issubclass(kind, BatchingBolt):
        called, awaited = _BY_KEY, frozenset()
        every = subject.ticks_between_batches
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            problem = f"ticks_between_batches must be an integer of at least 1, got {every!r}"
            raise TopologyError(problem, component=component, cure="1 is the default")
    for name, given in called.items():
        method = inspect.getattr_static(kind, name)
        if not callable(getattr(subject, name)):
            problem = f"{name} must be a method, got {getattr(subject, name)!r}"
            raise TopologyError(problem, component=component, cure=f"define {name}(self{given and ', '}{given})")
        if isinstance(method, FunctionType):
            _check_method(component, name, method, given, name in awaited)
    for name, cure in _NEVER_CALLED[shape].items():
        if name not in called and _defined_for_storm(kind, name):
            problem = f"{kind.__name__} defines {name}(), which Storm or streamparse calls and pasps does not"
            raise TopologyError(problem, component=component, cure=f"{cure}; a method of your own needs another name")
    for switch in () if shape == "spout" else ("auto_anchor", "auto_ack", "auto_fail"):
        value = getattr(subject, switch, None)
        if shape == "stateful_function":
            if value is not None:
                problem = f"{switch} is for a Bolt: what a stateful function is given is acked when its call is over, or fails with it"
                raise TopologyError(problem, component=component, cure="drop it, or derive from Bolt")
        elif not isinstance(value, bool):
            raise TopologyError(f"{switch} must be True or False, got {value!r}", component=component, cure="True is the default")


def _check_method(component: str, name: str, method: FunctionType, given: str, awaited: bool) -> None:
    define = f"define {name}(self{given and ', '}{given})"
    if given == "tuples":
        define += "; for batches by key derive from BatchingBolt"
    if not awaited and (_is_generator(method) or inspect.iscoroutinefunction(method)):
        problem = f"{name}() must be a plain method, not async and without yield: nothing would run it"
        raise TopologyError(problem, component=component, cure=define)
    signature = inspect.signature(method)
    try:
        signature.bind("self", *given.split(", ") if given else ())
    except TypeError as error:
        problem = f"{name}{_bare(signature)} is called as {name}({given}): {error}"
        raise TopologyError(problem, component=component, cure=define) from None


def _defined_for_storm(kind: type, name: str) -> bool:
    """Whether a component class defines this method, and nothing in it uses it as a method of its own."""
    own = [vars(base) for base in kind.__mro__ if issubclass(base, Component) and not base.__module__.startswith("pasps.api.")]
    if not any(isinstance(body.get(name), (FunctionType, staticmethod, classmethod)) for body in own):
        return False
    others = (value for body in own for other, value in body.items() if other != name)
    return not any(_mentions(getattr(value, "__code__", None), name) for value in others)


def _mentions(code: CodeType | None, name: str) -> bool:
    return code is not None and (name in code.co_names or any(_mentions(c, name) for c in code.co_consts if isinstance(c, CodeType)))


def _maker(component: str, subject: Any, shape: Shape) -> Callable[[], Any]:
    if shape == "function":
        return SharedMaker(subject)
    kind: type[Component] = subject if isinstance(subject, type) else type(subject)
    base = _BASES[shape]
    for name in sorted(base.given_by_runtime):
        if getattr(kind, name) is not getattr(base, name):
            problem = f"{kind.__name__} overrides {name}(), which the runtime puts in place on each instance"
            raise TopologyError(problem, component=component, cure="give your method another name")
    if isinstance(subject, type):
        _check_constructor(component, subject)
        return ClassMaker(subject)
    try:
        # copied now, as Storm serializes it: later changes by its user do not leak into what was checked
        return CopyMaker(copy.deepcopy(subject))
    except (TypeError, AttributeError, copy.Error, pickle.PicklingError) as error:
        problem = f"this instance of {kind.__name__} cannot be copied for each task ({error})"
        raise TopologyError(problem, component=component, cure="create what cannot be copied in initialize()") from error


def _check_constructor(component: str, kind: type) -> None:
    if inspect.isabstract(kind):
        missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
        raise TopologyError(f"{kind.__name__} is abstract ({missing} not defined)", component=component, cure="define what is missing")
    try:
        signature = inspect.signature(kind)
    except ValueError:
        return
    try:
        signature.bind()
    except TypeError as error:
        problem = f"{kind.__name__}{_bare(signature)} is made without arguments: {error}"
        cure = "give TopologyBuilder an instance, or read its arguments from conf in initialize()"
        raise TopologyError(problem, component=component, cure=cure) from None


def _method(subject: Any, name: str) -> Any:
    found = getattr(subject, name, None)
    return getattr(found, "__func__", found)


def _is_generator(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
