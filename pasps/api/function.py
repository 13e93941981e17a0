"""Bolts written as functions: `@bolt(outputs=[...])` for steps without state, `StatefulFunction` for steps with it.

The executor runs them in one loop over a batch, and makes no object for a tuple.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import update_wrapper
from importlib.util import find_spec
from inspect import isasyncgenfunction, iscoroutinefunction, isfunction, isgeneratorfunction
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from pasps.api.bolt import Step
from pasps.api.component import Outputs, declared_streams
from pasps.api.context import TopologyContext
from pasps.api.spec import ComponentSpec, Inputs
from pasps.api.tuples import DEFAULT_STREAM, Tuple
from pasps.errors import TopologyError

P = ParamSpec("P")
R = TypeVar("R")
Columns = bool | Literal["numpy"]
"""What a function gets for each field: a value (False), a list of the values of a batch (True), or an array of them."""


class FunctionBolt(Generic[P, R]):
    """A function with what it takes to be a bolt; calling it calls the function, so that a unit test needs nothing more.

    It pickles as a reference when it can be imported by its name where it is read, else by value (which takes cloudpickle).
    Immutable by convention: all replicas in a worker share it.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        outputs: Outputs,
        batch: bool,
        columns: Columns,
        execution: Literal["inline", "thread"],
        concurrency: int,
        par: int,
        pool: int | None,
        config: Mapping[str, Any] | None,
    ) -> None:
        update_wrapper(self, function, updated=())
        self.function = function
        self.is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
        self.is_generator = isgeneratorfunction(function)
        self.batch, self.columns = batch or bool(columns), columns
        self.execution, self.concurrency = execution, concurrency
        self.par, self.pool, self.config = par, pool, config
        self._refuse_what_cannot_run(outputs)
        self.outputs: tuple[Any, ...] = tuple(outputs)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function bolt {self._name()}>"

    def spec(
        self,
        inputs: Inputs | None = None,
        par: int | None = None,
        config: Mapping[str, Any] | None = None,
        name: str | None = None,
        pool: int | None = None,
    ) -> ComponentSpec:
        """One use of this function in a `Topology`; the arguments are those of `Bolt.spec`."""
        return ComponentSpec(self, inputs, par=par, config=config, name=name, pool=pool)

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = self.__dict__.get("__qualname__")
        if name is not None and self._importable(self.__module__, name):
            return str(name)
        names = ("outputs", "batch", "columns", "execution", "concurrency", "par", "pool", "config")
        return _rebuild, (self.function, {option: getattr(self, option) for option in names})

    def _name(self) -> str:
        return str(self.__dict__.get("__qualname__") or type(self.function).__name__)

    def _importable(self, module: str, name: str) -> bool:
        if module == "__main__" or _travels_by_value(module):
            return False
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is self

    def _refuse_what_cannot_run(self, outputs: object) -> None:
        name = self._name()
        code = self.function.__code__ if isfunction(self.function) else None
        if code is not None and code.co_argcount and code.co_varnames[0] == "self":
            problem = "@bolt stands over a method, and there would be no instance to call it on"
            raise TopologyError(problem, component=name, cure="move the function out of the class, or derive the class from Bolt")
        if isasyncgenfunction(self.function):
            raise TopologyError("an async function bolt cannot yield", component=name, cure="return a list of tuples")
        if self.batch and self.is_generator:
            problem = "a batch function cannot yield, since its results pair with its rows one to one"
            cure = "return a column for each output field" if self.columns else "return a list as long as its rows, None for nothing"
            raise TopologyError(problem, component=name, cure=cure)
        if self.columns not in (False, True, "numpy"):
            problem = f"columns must be True for lists, 'numpy' for arrays, or False, got {self.columns!r}"
            raise TopologyError(problem, component=name, cure="use one of them")
        if self.columns == "numpy" and find_spec("numpy") is None:
            raise TopologyError("columns='numpy' needs numpy, which is not there", component=name, cure="pip install numpy")
        check_function_streams(name, outputs, "function bolt")


class StatefulFunction(Step):
    """A function that keeps state: `__call__` gets a tuple's values as arguments, and returns what comes of them.

    That is what a function bolt returns: the values of one output, None for nothing, a list or a generator of rows for several. It is
    read before the next call begins. The input is acked then, and failed when the call raises. All of it goes to the stream "default".
    It has a bolt's hooks, moves with its task, may be `async def` (but not an async generator), and may run on a thread.
    """

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Handle the values of one tuple, one for each field, in the order of the fields."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__, with an argument for each field of its input")

    def process_tick(self, tup: Tuple) -> Any:
        """Handle a tick, see `Bolt.process_tick`. What it returns is emitted as that of `__call__` is, and anchored to nothing."""
        return None

    def finish(self) -> Any:
        """Say what must still be said, see `Bolt.finish`. What it returns is emitted, and anchored to nothing."""
        return None

    def put_in_place(self, ctx: TopologyContext, methods: Mapping[str, Callable[..., Any]]) -> None:
        """See `Component`; of what a bolt is given it needs nothing."""
        super().put_in_place(ctx, {})


def check_function_streams(name: str, outputs: object, what: str) -> None:
    """Refuse outputs that cannot be returned.

    Raises:
        TopologyError: a stream other than "default", a direct one, or what `declared_streams` refuses.
    """
    for stream in declared_streams(outputs, name).values():
        if stream.name != DEFAULT_STREAM or stream.direct:
            problem = f"a {what} emits to {DEFAULT_STREAM!r} alone, and never directly"
            raise TopologyError(problem, component=name, stream=stream.name, cure="write a class derived from Bolt")


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> FunctionBolt[..., Any]:
    return FunctionBolt(function, **options)


def _travels_by_value(module: str) -> bool:
    # only who has loaded cloudpickle can have registered a module with it; importing it here would make everybody pay for it
    cloudpickle: Any = sys.modules.get("cloudpickle")
    if cloudpickle is None:
        return False
    registered = cloudpickle.list_registry_pickle_by_value()
    parts = module.split(".")
    return any(".".join(parts[: i + 1]) in registered for i in range(len(parts)))


@overload
def bolt(function: Callable[P, R], /) -> FunctionBolt[P, R]: ...


@overload
def bolt(
    *,
    outputs: Outputs = ...,
    batch: bool = ...,
    columns: Columns = ...,
    execution: Literal["inline", "thread"] = ...,
    concurrency: int = ...,
    par: int = ...,
    pool: int | None = ...,
    config: Mapping[str, Any] | None = ...,
) -> Callable[[Callable[P, R]], FunctionBolt[P, R]]: ...


def bolt(
    function: Callable[..., Any] | None = None,
    /,
    *,
    outputs: Outputs = (),
    batch: bool = False,
    columns: Columns = False,
    execution: Literal["inline", "thread"] = "inline",
    concurrency: int = 1,
    par: int = 1,
    pool: int | None = None,
    config: Mapping[str, Any] | None = None,
) -> Any:
    """Make a bolt of a function; bare `@bolt` makes a sink.

    The function gets the input's values as positional arguments, in the order of the fields, and returns the values of one
    output tuple, None for nothing, or a list or generator of tuples for several. With `batch=True` it gets one argument, the
    list of value tuples, and returns a list as long (None for nothing). With `columns` it gets a batch by column, one argument for
    each field, and returns one list or array as long for each output field. It may be `async def`, but not an async generator.
    Inputs are acked when it returns and failed when it raises.

    Args:
        outputs: The fields of what it emits; none for a sink.
        batch: Whether it gets a list of rows instead of one row's values.
        columns: True for a list of values for each field; "numpy" for an array of numbers or booleans, except where the
            parameter is annotated as a list.
        execution: "thread" for code that blocks.
        concurrency: How many tuples an `async def` handles at a time in one replica.
        par: Replicas that are active at the start.
        pool: Most replicas; default `par`.
        config: Configuration keys of this component.

    Raises:
        TopologyError: outputs that a function cannot emit, or an async generator.
    """

    def decorate(decorated: Callable[P, R]) -> FunctionBolt[P, R]:
        if isinstance(decorated, (type, FunctionBolt)) or not callable(decorated):
            cure = "write @bolt(outputs=['field', ...]) over a plain function; a class is a bolt when derived from Bolt or StatefulFunction"
            raise TopologyError(f"@bolt needs a function, got {decorated!r}", component=getattr(decorated, "__name__", None), cure=cure)
        return FunctionBolt(
            decorated,
            outputs=outputs,
            batch=batch,
            columns=columns,
            execution=execution,
            concurrency=concurrency,
            par=par,
            pool=pool,
            config=config,
        )

    return decorate if function is None else decorate(function)
