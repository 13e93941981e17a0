"""User classes that can be imported, for the tests of this folder."""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass, field
from typing import Any


@dataclass
class Point:
    x: Any
    y: Any = None


@dataclass(frozen=True, slots=True)
class Frozen:
    name: Any


@dataclass
class Derived:
    width: int
    scale: InitVar[int] = 2
    area: int = field(init=False)

    def __post_init__(self, scale: int) -> None:
        self.area = self.width * scale
        self.cached = f"beside the fields {self.area}"


class Slotted:
    __slots__ = ("extra",)
    extra: int


@dataclass(slots=True)
class WithSlot(Slotted):
    value: int

    def __post_init__(self) -> None:
        self.extra = self.value + 1  # type: ignore[misc] # mypy does not look at the base's slots


@dataclass
class Empty:
    pass


@dataclass
class AlsoDict(dict[str, int]):
    size: int = 0


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Plain:
    """No dataclass."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Plain and other.value == self.value

    __hash__ = None  # type: ignore[assignment]


MOODS: dict[str, BaseException] = {}
"""What the classes below raise, by the name of the method; empty: they are well."""


def act(method: str) -> None:
    if method in MOODS:
        raise MOODS[method]


class Moody:
    """For pickling: raises what it is told to, here or at the other end."""

    def __reduce__(self) -> tuple[Any, ...]:
        act("__reduce__")
        return _again, ()

    def __repr__(self) -> str:
        act("__repr__")
        return "Moody()"


def _again() -> Moody:
    act("_again")
    return Moody()


@dataclass(eq=False)
class MoodyKey:
    """Travels without pickling."""

    value: int

    @property
    def fine(self) -> int:
        return self.value

    def __getattribute__(self, name: str) -> Any:
        act("__getattribute__")
        return object.__getattribute__(self, name)

    def __hash__(self) -> int:
        act("__hash__")
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MoodyKey)


class MoodyError(Exception):
    """Neither its text nor its type's name can be had in the ordinary way."""

    def __init__(self, needed: object, too: object) -> None:
        super().__init__("\udce9")

    def __repr__(self) -> str:
        raise KeyboardInterrupt


class Text(str):
    """A subclass of a plain type."""

    __slots__ = ()


class Number(int):
    __slots__ = ()


class Few(tuple[int, ...]):
    __slots__ = ()


class Table(dict[str, int]):
    __slots__ = ()


class MetaError(type):
    def __hash__(cls) -> int:
        raise RuntimeError("no type may be asked for this")

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__qualname__", "__module__"):
            raise RuntimeError("nor for these")
        return type.__getattribute__(cls, name)


class Unnamed(metaclass=MetaError):
    pass
