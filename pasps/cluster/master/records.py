"""What only masters write into the store, and where: their own presence, the starts of drivers, and topologies that are over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from pasps.cluster.store.layout import ENDED, topology
from pasps.cluster.store.submission import NOT_UNDERSTOOD
from pasps.errors import InvalidError

_T = TypeVar("_T")

MEMBERS = "/masters/members"
LAUNCHES = "/launches"


@dataclass(frozen=True, slots=True)
class Member:
    """A master. `packages` is where it keeps packages, empty when in its own home, which no other master can read; `shares_token`:
    its token was given, not made by itself. `process` is `process_identity.started(pid)` on `host`.
    """

    url: str
    host: str
    pid: int
    process: str = ""
    packages: str = ""
    shares_token: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """The newest start of a driver for a name, written before the process is made, so that no epoch is ever used twice.

    Outlives its topology: a driver that was cut off must not meet its own epoch again under the next topology of that name.
    `package` tells which topology it was for, `restart` is what was asked for by then, `refused` that this driver said that its
    topology cannot be started.
    """

    epoch: int
    package: str = ""
    restart: int = 0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """A topology that is over. Times are seconds since the epoch; `summary` is what its driver wrote, None when it could not."""

    name: str
    submitted: float
    ended: float
    summary: Mapping[str, Any] | None = None


def member(name: str) -> str:
    """Ephemeral, of one master."""
    return f"{MEMBERS}/{name}"


def launch(name: str) -> str:
    """The `Launch` of a name."""
    return f"{LAUNCHES}/{name}"


def components(name: str) -> str:
    """What the check of its package said of its components."""
    return f"{topology(name)}/components"


def ended_of(name: str, entries: list[str]) -> list[str]:
    """The paths, among the names below `ENDED`, that this topology's name has."""
    return [f"{ENDED}/{entry}" for entry in entries if entry.rpartition("-")[0] == name]


def encoded(record: Member | Launch | Ended) -> bytes:
    """As the store keeps it."""
    return msgspec.json.encode(record)


def decoded(value: bytes, kind: type[_T], where: str) -> _T:
    """Read a record.

    Raises:
        InvalidError: it is none; begins with `where`.
    """
    try:
        return msgspec.json.decode(value, type=kind)
    except NOT_UNDERSTOOD as error:
        raise InvalidError(f"{where}: expected a {kind.__name__}, got {value[:80]!r}: {error}") from error
