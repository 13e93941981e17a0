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
