"""One use of a component in a class topology, and the inputs as written there; checked when the topology is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pasps.api.groupings import GroupingSpec
from pasps.api.tuples import DEFAULT_STREAM
from pasps.errors import TopologyError


class ComponentSpec:
    """What `Words.spec(...)` returns: becomes a component by being an attribute of a `Topology`. Compared by identity.

    `spec["stream"]` selects a stream for an input; the spec itself means the stream "default".
    """

    __slots__ = ("config", "inputs", "name", "par", "pool", "subject")

    def __init__(
        self,
        subject: Any,
        inputs: Inputs | None = None,
        *,
        par: int | None = None,
        config: Mapping[str, Any] | None = None,
        name: str | None = None,
        pool: int | None = None,
    ) -> None:
        self.subject = subject
        self.name, self.par, self.pool, self.config = name, par, pool, config
        self.inputs = _as_pairs(inputs, str(self))

    def __getitem__(self, stream: str) -> StreamOf:
        return StreamOf(self, stream)

    def __iter__(self) -> Any:  # without it, `list(spec)` would count through __getitem__ for ever
        raise TypeError(f"{self} cannot be iterated; write inputs=[spec]")

    def __str__(self) -> str:
        return f"{getattr(self.subject, '__name__', None) or type(self.subject).__name__}.spec()"

    __repr__ = __str__


@dataclass(frozen=True)
class StreamOf:
    """One stream of a spec, as the source of an input."""

    spec: ComponentSpec
    stream: str

    def __str__(self) -> str:
        return f"{self.spec}[{self.stream!r}]"

    __repr__ = __str__


InputSource = ComponentSpec | StreamOf | str
"""Where an input comes from; a string is a component's name, its stream "default"."""
Inputs = Sequence[InputSource] | Mapping[Any, GroupingSpec]
"""A list takes the default grouping; a dict (of `InputSource`s) names one for each."""


def stream_of(source: InputSource) -> str:
    """The stream that an input selects."""
    return source.stream if isinstance(source, StreamOf) else DEFAULT_STREAM


def _as_pairs(inputs: object, spec: str) -> tuple[tuple[InputSource, GroupingSpec | None], ...]:
    if inputs is None:
        return ()
    if isinstance(inputs, Mapping):
        pairs = list(inputs.items())
    elif isinstance(inputs, (list, tuple)):
        pairs = [(source, None) for source in inputs]
    else:
        cure = f"write inputs=[{inputs!r}]" if isinstance(inputs, InputSource) else "write inputs=[spec] or inputs={spec: Grouping.SHUFFLE}"
        raise TopologyError(f"{spec}: inputs must be a list or a dict, got {inputs!r}", cure=cure)
    for source, _ in pairs:
        if not isinstance(source, InputSource):
            cure = "give what .spec() returned, spec['stream'], or a component's name"
            raise TopologyError(f"{spec}: {source!r} is no input", cure=cure)
    return tuple(pairs)
