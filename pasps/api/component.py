"""What spouts and bolts have in common: declared outputs, lifecycle hooks, and the methods that the runtime puts in place."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, cast

from pasps.api.context import TopologyContext
from pasps.api.spec import ComponentSpec, Inputs
from pasps.api.tuples import DEFAULT_STREAM, Stream
from pasps.errors import ClosedError, InvalidError, TopologyError

LOGGER = "pasps.component"
"""Above the loggers of all components."""
_LEVELS = {
    **dict.fromkeys(("trace", "debug"), logging.DEBUG),
    "info": logging.INFO,
    **dict.fromkeys(("warn", "warning"), logging.WARNING),
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}

Outputs = Sequence[str] | Sequence[Stream]


class Component:
    """Base of `Spout` and `Bolt`. Make no instance state in `__init__`; make it in `initialize`, where the task runs.

    `outputs` are field names of the stream "default", or a list of `Stream`. `par` replicas are active at the start,
    out of a pool of `pool` (default: `par`). `config` overrides the topology's configuration for this component.
    All hooks run on the thread that runs the component; none is called twice at once for one instance.
    """

    outputs: Outputs = ()
    config: Mapping[str, Any] | None = None
    par: int = 1
    pool: int | None = None
    ctx: TopologyContext
    """Where this instance runs; set by the runtime before `initialize`."""

    path_keys: ClassVar[Mapping[str, str | None]] = MappingProxyType({})
    """Keys of its configuration that name files of the worker's machine, with what they are when nobody says it (None: nothing).

    In a cluster a relative path begins in another directory on each machine, so `pasps submit` refuses one.
    """

    given_by_runtime: ClassVar[frozenset[str]] = frozenset()
    """Names of methods that the runtime shadows on each instance; never overridden, never pickled."""

    @classmethod
    def spec(
        cls,
        inputs: Inputs | None = None,
        par: int | None = None,
        config: Mapping[str, Any] | None = None,
        name: str | None = None,
        pool: int | None = None,
    ) -> ComponentSpec:
        """One use of this class in a `Topology`: what it reads, how many replicas, under which name (default: the attribute's)."""
        return ComponentSpec(cls, inputs, par=par, config=config, name=name, pool=pool)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Called once for each instance before anything else, in the worker that hosts it; again after that worker died."""

    def activate(self) -> None:
        """Called when the topology starts or goes on after `deactivate`."""

    def deactivate(self) -> None:
        """Called when the topology is paused; tuples that are under way still arrive."""

    def close(self) -> None:
        """Called when the topology ends in good order; not guaranteed: a killed worker calls nothing."""

    def on_move_out(self) -> None:
        """Called before this instance is pickled to move to another worker: drop connections and whatever cannot travel."""

    def on_move_in(self, ctx: TopologyContext) -> None:
        """Called instead of `initialize` where a moved instance arrives: open again what `on_move_out` dropped."""

    @cached_property
    def logger(self) -> logging.Logger:
        """Python's logger `pasps.component.<its name in the topology>`; an attribute of yours may take its place.

        What a worker's go to, and from which level on, is said in the documentation's page on running.
        """
        # a Logger pickles as its name, so an instance that moves takes nothing along
        return logging.getLogger(f"{LOGGER}.{self.ctx.component_id if hasattr(self, 'ctx') else type(self).__name__}")

    def log(self, message: Any, level: str | None = None) -> None:
        """Log a message by `logger`; `level` is debug, info (the default), warning, error or critical, or Storm's trace or warn.

        Raises:
            InvalidError: there is no such level.
        """
        number = _LEVELS.get("info" if level is None else str(level).lower())
        if number is None:
            raise InvalidError(f"{type(self).__name__}.log(): expected a level out of {', '.join(_LEVELS)}, got {level!r}")
        self.logger.log(number, "%s", message)

    def put_in_place(self, ctx: TopologyContext, methods: Mapping[str, Callable[..., Any]]) -> None:
        """Called by the runtime alone, before `initialize` or `on_move_in`: what this instance is given where it runs."""
        self.ctx = ctx
        for name, method in methods.items():
            setattr(self, name, method)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if isinstance(state, tuple):  # a subclass with __slots__: (dict or None, slots)
            plain, slots = state
            return (self._without_given(plain), slots)
        return self._without_given(cast("dict[str, Any] | None", state))

    def _without_given(self, state: dict[str, Any] | None) -> dict[str, Any] | None:
        return state and {name: value for name, value in state.items() if name not in self.given_by_runtime}

    def _not_running(self, method: str) -> NoReturn:
        raise ClosedError(
            f"{type(self).__name__}.{method}() works only while the topology runs; "
            f"a unit test can put its own there: component.{method} = ..."
        )


def declared_streams(outputs: object, component: str | None = None) -> dict[str, Stream]:
    """The streams that `outputs` declares, by name: field names mean one stream "default".

    Raises:
        TopologyError: anything but a list or tuple of field names, or of `Stream`s with distinct names and distinct fields.
    """
    if not isinstance(outputs, (list, tuple)):
        cure = f"write outputs = [{outputs!r}]" if isinstance(outputs, (str, Stream)) else "write outputs = ['field', ...]"
        raise TopologyError(f"outputs must be a list of field names or of Streams, got {outputs!r}", component=component, cure=cure)
    if not outputs:
        return {}
    if not any(isinstance(item, Stream) for item in outputs):
        return {DEFAULT_STREAM: _checked(Stream(list(outputs), DEFAULT_STREAM), component)}
    streams: dict[str, Stream] = {}
    for item in outputs:
        if not isinstance(item, Stream):
            problem = f"outputs mixes Streams with {item!r}"
            raise TopologyError(problem, component=component, cure=f"put the fields of one stream into a Stream([...], {DEFAULT_STREAM!r})")
        stream = _checked(item, component)
        if stream.name in streams:
            raise TopologyError("this stream is declared twice", component=component, stream=stream.name, cure="rename one of them")
        streams[stream.name] = stream
    return streams


def _checked(stream: Stream, component: str | None) -> Stream:
    name: object = stream.name
    if not isinstance(name, str) or not name:
        raise TopologyError(f"a stream's name must be a non-empty string, got {name!r}", component=component, cure="name the stream")
    if name.startswith("__"):
        raise TopologyError("names that begin with '__' are reserved", component=component, stream=name, cure="rename the stream")
    fields: object = stream.fields
    if not isinstance(fields, (list, tuple)):
        cure = f"write Stream([{fields!r}], ...)" if isinstance(fields, str) else "write Stream(['field', ...], ...)"
        raise TopologyError(f"fields must be a list of names, got {fields!r}", component=component, stream=name, cure=cure)
    seen: set[str] = set()
    for field in fields:
        if not isinstance(field, str) or not field:
            problem = f"a field's name must be a non-empty string, got {field!r}"
            raise TopologyError(problem, component=component, stream=name, cure="name the field")
        if field in seen:
            raise TopologyError(f"field {field!r} is declared twice", component=component, stream=name, cure="rename one of them")
        seen.add(field)
    return Stream(list(fields), name, bool(stream.direct))
