"""What travels: the tuple a bolt receives, its named values, and the stream it came by.

Made by the runtime, read by users; a `Tuple` is a compiled record because one is made for every event.
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

DEFAULT_STREAM = "default"
TICK_STREAM = "__tick"
SYSTEM_COMPONENT = "__system"

PENDING, DONE, FAILED = 0, 1, 2
"""`Tuple.state`: a tuple leaves PENDING once, and later verdicts on it are ignored."""


class Stream(msgspec.Struct, frozen=True):
    """A declared output: its fields in order, its name, and whether its producer picks the receiving task."""

    fields: list[str]
    name: str = DEFAULT_STREAM
    direct: bool = False


class Source(msgspec.Struct, frozen=True, gc=False):
    """Where a tuple came from: shared by all tuples of a batch."""

    component: str
    stream: str
    task: int
    fields: tuple[str, ...]


class Tuple(msgspec.Struct, gc=False, eq=False):
    """One event as a bolt sees it. Keep it as long as you like; treat it as read-only.

    `values` is a tuple whose fields also have names: `tup.values.word`, `tup.values[0]`, `tup["word"]`.
    `root`, `edge`, `links` and `children` belong to the acknowledgement ledger.
    """

    values: Any
    root: int
    edge: int
    source: Source
    links: tuple[tuple[int, int], ...] | None = None
    children: int = 0
    state: int = 0

    @property
    def id(self) -> int:
        """A number that is this tuple's own while it is tracked; 0 when its spout gave no tuple id."""
        return self.edge if self.links is None else self.links[0][1]

    @property
    def component(self) -> str:
        """The component that emitted it."""
        return self.source.component

    @property
    def stream(self) -> str:
        """The stream it was emitted to."""
        return self.source.stream

    @property
    def task(self) -> int:
        """The task that emitted it (Storm's task id)."""
        return self.source.task

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its values, in order."""
        return self.source.fields

    def is_tick(self) -> bool:
        """Whether this is a tick, not an event."""
        return self.source.stream == TICK_STREAM

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            try:
                return self.values[self.source.fields.index(key)]
            except ValueError:
                near = _nearest(key, self.fields)
                raise KeyError(f"no field {key!r} in stream {self.stream!r} of {self.component!r}; {near}") from None
        return self.values[key]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __contains__(self, field: str) -> bool:
        return field in self.source.fields


_made: dict[tuple[str, ...], type[tuple[Any, ...]]] = {}


def values_type(fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The tuple subclass that names `fields`; `kind(row)` makes one from a row, about half the cost of a namedtuple's `_make`.

    A field that is no Python identifier is reached by index or by `tup["the field"]`.
    """
    kind = _made.get(fields)
    if kind is None:
        usable = [
            f if f.isidentifier() and not keyword.iskeyword(f) and not f.startswith("_") else f"field{i}_" for i, f in enumerate(fields)
        ]
        named = namedtuple("values", usable)  # type: ignore[misc] # noqa: PYI024
        body: dict[str, Any] = {name: getattr(named, name) for name in usable}
        body |= {"__slots__": (), "_fields": fields, "__repr__": _repr, "_asdict": _asdict, "__reduce__": _reduce}
        # the name stands in the message when an attribute is missing
        kind = _made[fields] = type(f"values({', '.join(fields)})", (tuple,), body)
    return kind


def name_fields(error: BaseException) -> None:
    """Have an AttributeError for a wrong name of a value, or one from which `error` came, say which names there are.

    Called when it is told: a `__getattr__` of the values would say it too, and cost every right name 5 ns of 14.
    """
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        seen.append(link)
        if isinstance(link, AttributeError) and type(link.obj) in _made.values():
            row: Any = link.obj
            link.args = (f"a tuple's values have no field {link.name!r}; {_nearest(str(link.name), row._fields)}",)
        link = link.__cause__ or link.__context__


def _nearest(name: str, fields: Sequence[str]) -> str:
    near = get_close_matches(name, fields, n=1)
    return (f"did you mean {near[0]!r}? " if near else "") + f"there are {', '.join(map(repr, fields)) or 'none'}"


def _repr(row: Any) -> str:
    return "values(" + ", ".join(f"{name}={value!r}" for name, value in zip(row._fields, row, strict=False)) + ")"


def _asdict(row: Any) -> dict[str, Any]:
    return dict(zip(row._fields, row, strict=False))


def _reduce(row: Any) -> tuple[Any, ...]:
    return _rebuild, (row._fields, tuple(row))


def _rebuild(fields: tuple[str, ...], row: tuple[Any, ...]) -> tuple[Any, ...]:
    return values_type(fields)(row)
